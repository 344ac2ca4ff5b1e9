package store

import (
	"context"
	"time"
)

// LinkKey is a key that signs media links.
type LinkKey struct {
	ID        string
	Secret    []byte
	CreatedAt time.Time
	SignsFrom time.Time  // when every process has learnt of it
	RetiredAt *time.Time // links that it signed are no longer accepted from then on
}

// AddLinkKey adds a key that signs from a time on. When the id is taken, it fails with [ErrConflict].
func (tx *Tx) AddLinkKey(id string, secret []byte, signsFrom time.Time) error { return errUnwritten }

// LinkKeys reads the keys that are not retired, the newest first.
func (db *DB) LinkKeys(ctx context.Context) ([]LinkKey, error) { return nil, errUnwritten }

// LinkKeys is [DB.LinkKeys] inside the transaction.
func (tx *Tx) LinkKeys() ([]LinkKey, error) { return nil, errUnwritten }

// RetireLinkKeys retires the keys that were created before a time, now, and tells how many.
func (tx *Tx) RetireLinkKeys(createdBefore time.Time) (retired int, err error) {
	return 0, errUnwritten
}
