package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/links"
	"github.com/sortie-labs/sortie/internal/store"
)

const (
	linkKeyTerm = 24 * time.Hour   // for which a key signs
	linkKeyLead = 5 * time.Minute  // before a new key signs, so that every process has read it by then
	linkKeyRest = 10 * time.Minute // after the last link of a key has expired, for clocks that differ
)

// linkRing holds the link keys as this process last read them.
type linkRing struct {
	keys       atomic.Pointer[links.Keys]
	reloadedAt atomic.Int64 // Unix second in which an unknown link last made the process read the keys
}

// link returns the URL of a signed link that expires at exp.
func (c *core) link(build LinkBuilder, id, variant string, exp int64) string {
	return build(id, variant, c.links.keys.Load().Sign(id, variant, exp))
}

// verifyLink checks the token of a link. A token that does not match may be of a key that another
// process has just made, so the keys are read again, at most once a second, before the link is
// refused.
//
// It fails with media_url_invalid and media_url_expired.
func (c *core) verifyLink(ctx context.Context, id, variant, token string) (expiresAt time.Time, err error) {
	now := c.now()
	exp, err := c.links.keys.Load().Verify(id, variant, token, now)
	if err != nil && sortie.ErrorCode(err) == sortie.CodeMediaURLInvalid && c.links.mayReload(now) {
		if err := c.reloadLinkKeys(ctx); err != nil {
			return time.Time{}, storeError(err)
		}
		exp, err = c.links.keys.Load().Verify(id, variant, token, now)
	}
	return time.Unix(exp, 0), err
}

func (r *linkRing) mayReload(now time.Time) bool {
	last := r.reloadedAt.Load()
	return now.Unix() != last && r.reloadedAt.CompareAndSwap(last, now.Unix())
}

// ReloadLinkKeys reads the keys of the database. Every process calls it each minute.
func (a *App) ReloadLinkKeys(ctx context.Context) error { return a.reloadLinkKeys(ctx) }

func (c *core) reloadLinkKeys(ctx context.Context) error {
	stored, err := c.store.LinkKeys(ctx)
	if err == nil {
		err = c.useLinkKeys(stored)
	}
	if err != nil {
		return fmt.Errorf("reload link keys: %w", err)
	}
	return nil
}

// useLinkKeys uses stored keys, the newest first. The newest key that is old enough signs.
func (c *core) useLinkKeys(stored []store.LinkKey) error {
	ring := make([]links.Key, len(stored))
	signing := len(stored) - 1
	for i, key := range stored {
		ring[i] = links.Key{ID: key.ID, Secret: key.Secret}
		if i < signing && !c.now().Before(key.SignsFrom) {
			signing = i
		}
	}
	if len(ring) > 0 {
		ring[0], ring[signing] = ring[signing], ring[0]
	}
	keys, err := links.NewKeys(ring...)
	if err == nil {
		c.links.keys.Store(keys)
	}
	return err
}

// RotateLinkKeys makes the next signing key when the term of the last one is over, and retires keys
// whose links have all expired. Any number of processes may call it at any time.
func (a *App) RotateLinkKeys(ctx context.Context) error { return a.rotateLinkKeys(ctx) }

func (c *core) rotateLinkKeys(ctx context.Context) error {
	err := c.write(ctx, func(tx *writeTx) error {
		stored, err := tx.LinkKeys()
		if err != nil {
			return err
		}
		now := tx.Now
		switch {
		case len(stored) == 0:
			err = tx.addLinkKey(stored, now)
		case !now.Before(stored[0].CreatedAt.Add(linkKeyTerm)):
			err = tx.addLinkKey(stored, now.Add(linkKeyLead))
		}
		if err != nil {
			return err
		}
		return tx.RetireLinkKeys(expiredKeys(stored, now)...)
	})
	if err != nil {
		return fmt.Errorf("rotate link keys: %w", err)
	}
	return c.reloadLinkKeys(ctx)
}

// expiredKeys are the ids of the keys whose links have all expired, because a newer key has signed
// for long enough. The list begins with the newest key.
func expiredKeys(stored []store.LinkKey, now time.Time) []string {
	for i, key := range stored {
		if !now.Before(key.SignsFrom.Add(longestLink + linkKeyRest)) {
			return linkKeyIDs(stored[i+1:])
		}
	}
	return nil
}

func linkKeyIDs(keys []store.LinkKey) (ids []string) {
	for _, key := range keys {
		ids = append(ids, key.ID)
	}
	return ids
}

// addLinkKey makes a key with the number after the newest one, so that only one of two concurrent
// processes succeeds.
func (tx *writeTx) addLinkKey(stored []store.LinkKey, signsFrom time.Time) error {
	number := 0
	if len(stored) > 0 {
		var err error
		if number, err = strconv.Atoi(stored[0].ID); err != nil {
			return fmt.Errorf("link key %s has no number: %w", stored[0].ID, err)
		}
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return tx.AddLinkKey(strconv.Itoa(number+1), secret, signsFrom)
}
