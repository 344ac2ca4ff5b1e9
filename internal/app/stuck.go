package app

import (
	"context"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

// stuckLife is how long a process caches whether the follower, which may run in another process, is
// stuck.
const stuckLife = time.Second

// stuckCache caches whether the follower is stuck, so that not every quote reads the database.
type stuckCache struct {
	mutex   sync.Mutex
	stuck   bool
	until   time.Time
	changes int // of the value, by this process
}

// forget drops the cached value: this process has changed it.
func (c *stuckCache) forget() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.until = time.Time{}
	c.changes++
}

func (c *stuckCache) get() (stuck, known bool, changes int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.stuck, time.Now().Before(c.until), c.changes
}

// keep caches a value of the database, unless this process changed it since it was read.
func (c *stuckCache) keep(stuck bool, changes int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.changes == changes {
		c.stuck, c.until = stuck, time.Now().Add(stuckLife)
	}
}

// FollowerStuck reports whether the follower cannot follow an advancing chain, as an open incident
// records. Unreachable nodes do not make the follower stuck.
func (l *Ledger) FollowerStuck(ctx context.Context) (bool, error) { return l.followerStuck(ctx) }

func (c *core) followerStuck(ctx context.Context) (bool, error) {
	stuck, known, changes := c.stuck.get()
	if known {
		return stuck, nil
	}
	stuck, err := c.store.FollowerStuck(ctx)
	if err == nil {
		c.stuck.keep(stuck, changes)
	}
	return stuck, err
}

// refuseWhileStuck refuses quotes while the service would not see a funding.
func (a *App) refuseWhileStuck(ctx context.Context) error {
	stuck, err := a.followerStuck(ctx)
	if err != nil {
		return storeError(err)
	}
	if stuck {
		return sortie.NewError(sortie.CodeFundingQuoteUnavailable,
			"the service cannot follow the chain now, so it would not notice a funding; send no funding transaction and try again later")
	}
	return nil
}
