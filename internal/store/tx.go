package store

import (
	"context"
	"time"
)

// Tx is a transaction. It is valid inside the function it was handed to, on that function's
// goroutine.
type Tx struct {
	Now time.Time // when the transaction began, in UTC and whole microseconds: what the columns hold

	reader
}

// Tx runs fn in a transaction. When it returns nil, everything fn wrote, or read, is durable. When
// fn returns an error, or panics, nothing it wrote remains; the error is returned as it is. fn may
// be run more than once, after a rollback, and must then do the same again: no effects outside the
// transaction, and no reads on db, which would see the time before it.
//
// A statement that failed fails the whole transaction, even when fn swallows its error. On SQLite
// one fn runs at a time: do what is slow, such as signing, outside of it.
//
// The context counts until the transaction begins; from then on it runs to its end. Besides fn's
// own errors Tx returns the context's error, [ErrOverloaded] or [ErrClosed], when nothing was done
// at all; and [ErrUnavailable], after which the outcome is unknown: a write under an idempotency
// key is safe to repeat.
func (db *DB) Tx(ctx context.Context, fn func(*Tx) error) error {
	db.lifetime.RLock()
	defer db.lifetime.RUnlock()
	if db.closed {
		return ErrClosed
	}
	return db.engine.write(ctx, func(ctx context.Context, session *session) error {
		tx := &Tx{Now: db.clock().UTC().Truncate(time.Microsecond), reader: reader{ctx, session}}
		defer func() { tx.session = nil }() // a transaction that got away must not write into somebody else's
		if err := fn(tx); err != nil {
			return err
		}
		return session.failure
	})
}

// AwaitDurable returns when all that a read sees now is durable. An answer that says "this was done
// before" needs it: on PostgreSQL a row can be visible although no synchronous standby has it. It
// fails like [DB.Tx].
func (db *DB) AwaitDurable(ctx context.Context) error {
	if _, shared := db.engine.(*postgresEngine); !shared {
		return nil // a row of SQLite is on the disk before it is visible
	}
	return db.Tx(ctx, func(*Tx) error { return nil })
}

// exec runs a statement that returns no rows and returns how many rows it changed.
func (tx *Tx) exec(statement string, args ...any) (changed int64, err error) {
	return tx.session.exec(tx.ctx, statement, args...)
}

// insert runs a statement that adds one row. See [session.insert].
func (tx *Tx) insert(statement string, args ...any) (seq int64, err error) {
	return tx.session.insert(tx.ctx, statement, args...)
}
