package store

import (
	"context"
	"fmt"
)

// Setting returns the value of a setting. If it is not set, it stores the initial value, so that
// all processes on this database use the same.
func (tx *Tx) Setting(name string, initial []byte) (value []byte, err error) {
	if _, err := tx.exec(insertSetting, name, initial, tx.Now.UnixMicro()); err != nil {
		return nil, fmt.Errorf("write setting %s: %w", name, err)
	}
	err = tx.one(selectSetting, []any{name}, func(row scanner) error { return row.Scan(&value) })
	if err != nil {
		return nil, fmt.Errorf("read setting %s: %w", name, err)
	}
	return value, nil
}

// PutSetting stores the value of a setting.
func (tx *Tx) PutSetting(name string, value []byte) error {
	if _, err := tx.exec(writeSetting, name, value, tx.Now.UnixMicro()); err != nil {
		return fmt.Errorf("write setting %s: %w", name, err)
	}
	return nil
}

// LastSetting reads the value of a setting, or fails with [ErrNotFound].
func (db *DB) LastSetting(ctx context.Context, name string) ([]byte, error) {
	return read(ctx, db, func(r reader) (value []byte, err error) {
		err = r.one(selectSetting, []any{name}, func(row scanner) error { return row.Scan(&value) })
		if err != nil {
			return nil, fmt.Errorf("read setting %s: %w", name, err)
		}
		return value, nil
	})
}

// Heartbeat makes a durable write. A database whose last write failed is unavailable until one
// succeeds; if a load balancer sends no more requests, this finds out that it works again.
func (db *DB) Heartbeat(ctx context.Context) error {
	return db.Tx(ctx, func(tx *Tx) error {
		if _, err := tx.exec(writeHeartbeat, tx.Now.UnixMicro()); err != nil {
			return fmt.Errorf("write heartbeat: %w", err)
		}
		return nil
	})
}

const (
	writeHeartbeat = `INSERT INTO settings (name, value, created_at) VALUES ('heartbeat', '', $1)
ON CONFLICT (name) DO UPDATE SET created_at = excluded.created_at`
	writeSetting = `INSERT INTO settings (name, value, created_at) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, created_at = excluded.created_at`
	insertSetting = `INSERT INTO settings (name, value, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING`
	selectSetting = `SELECT value FROM settings WHERE name = $1`
)
