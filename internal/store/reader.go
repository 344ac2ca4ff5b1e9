package store

import (
	"context"
	"errors"
	"fmt"
)

// reader runs queries. [Tx] embeds it, and every read on [DB] makes one, so that a query exists
// once for both.
type reader struct {
	ctx     context.Context
	session *session
}

// each calls scan for every row. See [session.each].
func (r reader) each(query string, args []any, scan func(scanner) error) error {
	return r.session.each(r.ctx, query, args, scan)
}

// one calls scan for the first row. Without a row it fails with [ErrNotFound].
func (r reader) one(query string, args []any, scan func(scanner) error) error {
	return r.session.one(r.ctx, query, args, scan)
}

// exists reports whether a query has a row, which is one number.
func (r reader) exists(doing, query string, args ...any) (bool, error) {
	err := r.one(query, args, func(row scanner) error { return row.Scan(new(int64)) })
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", doing, err)
	}
	return true, nil
}

// read runs one reading function outside of transactions. It fails with [ErrClosed] once the
// database is closed.
func read[T any](ctx context.Context, db *DB, fn func(reader) (T, error)) (value T, err error) {
	db.lifetime.RLock()
	defer db.lifetime.RUnlock()
	if db.closed {
		return value, ErrClosed
	}
	err = db.engine.read(ctx, func(ctx context.Context, session *session) error {
		value, err = fn(reader{ctx, session})
		return err
	})
	return value, err
}

// exists is [reader.exists] outside of transactions.
func (db *DB) exists(ctx context.Context, doing, query string, args ...any) (bool, error) {
	return read(ctx, db, func(r reader) (bool, error) { return r.exists(doing, query, args...) })
}
