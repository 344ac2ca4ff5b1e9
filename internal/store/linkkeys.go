package store

import (
	"context"
	"fmt"
	"time"
)

// LinkKey is a key that signs media links.
type LinkKey struct {
	ID        string
	Secret    []byte
	CreatedAt time.Time
	SignsFrom time.Time // when every process has read it
}

// AddLinkKey adds a key that signs from a time on. If the id is taken, it fails with [ErrConflict]
// and changes nothing.
func (tx *Tx) AddLinkKey(id string, secret []byte, signsFrom time.Time) error {
	changed, err := tx.exec(insertLinkKey, id, secret, tx.Now.UnixMicro(), signsFrom.UnixMicro())
	if err == nil && changed == 0 {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("add link key: %w", err)
	}
	return nil
}

// LinkKeys reads the keys that are not retired, the newest first.
func (db *DB) LinkKeys(ctx context.Context) ([]LinkKey, error) {
	return read(ctx, db, func(r reader) ([]LinkKey, error) { return r.LinkKeys() })
}

// LinkKeys is [DB.LinkKeys] inside the transaction.
func (r reader) LinkKeys() (keys []LinkKey, err error) {
	err = r.each(selectLinkKeys, nil, func(row scanner) error {
		var key LinkKey
		var createdAt, signsFrom int64
		err := row.Scan(&key.ID, &key.Secret, &createdAt, &signsFrom)
		key.CreatedAt, key.SignsFrom = microTime(createdAt), microTime(signsFrom)
		keys = append(keys, key)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read link keys: %w", err)
	}
	return keys, nil
}

// RetireLinkKeys retires keys: links that they signed are no longer accepted, and their secrets are
// deleted.
func (tx *Tx) RetireLinkKeys(ids ...string) error {
	for _, id := range ids {
		if _, err := tx.exec(retireLinkKey, id, tx.Now.UnixMicro(), []byte{}); err != nil {
			return fmt.Errorf("retire link key %s: %w", id, err)
		}
	}
	return nil
}

// A retired key keeps its row, so that its id is never used again.
const (
	insertLinkKey = `INSERT INTO link_keys (kid, secret, created_at, signs_from) VALUES ($1, $2, $3, $4) ON CONFLICT (kid) DO NOTHING`

	selectLinkKeys = `SELECT kid, secret, created_at, signs_from FROM link_keys WHERE retired_at IS NULL ORDER BY created_at DESC, kid DESC`
	retireLinkKey  = `UPDATE link_keys SET retired_at = $2, secret = $3 WHERE kid = $1 AND retired_at IS NULL`
)
