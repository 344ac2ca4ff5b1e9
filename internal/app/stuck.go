package app

import (
	"context"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

// stuckLife is how long a process relies on what it read about the follower, which may run in
// another one.
const stuckLife = time.Second

// stuckCache remembers whether the follower is stuck, so that not every quote asks the database.
type stuckCache struct {
	mutex   sync.Mutex
	stuck   bool
	until   time.Time
	changes int // of the answer, by this process
}

// forget makes the next question one for the database: this process has changed the answer.
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

// keep stores what the database said, unless the answer was changed while it was asked.
func (c *stuckCache) keep(stuck bool, changes int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.changes == changes {
		c.stuck, c.until = stuck, time.Now().Add(stuckLife)
	}
}

// FollowerStuck reports whether the chain advances and cannot be followed, as an open incident
// says. That nodes are away does not make the follower stuck.
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

// refuseWhileStuck refuses to hand out what funds a mission while the funding would not be noticed.
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
