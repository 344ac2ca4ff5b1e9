package store

import (
	"context"
	"time"
)

// Tx is a transaction. It is valid inside the function that it is passed to, on that function's
// goroutine.
type Tx struct {
	Now time.Time // when the transaction began, in UTC and whole microseconds, as in the columns

	reader
}

// Tx runs fn in a transaction. When it returns nil, everything that fn wrote or read is durable.
// When fn returns an error or panics, its writes are rolled back; the error is returned unchanged.
// fn may run more than once, after a rollback: it must have no effects outside the transaction, and
// must not read on db, which does not see the transaction's writes.
//
// A failed statement fails the whole transaction, even if fn ignores its error. On SQLite one fn
// runs at a time: do slow work, such as signing, outside of it.
//
// The context applies until the transaction begins; then it runs to its end. Besides fn's own
// errors Tx returns the context's error, [ErrOverloaded] or [ErrClosed], if it did nothing; and
// [ErrUnavailable], after which the outcome is unknown: a write under an idempotency key is safe to
// repeat.
func (db *DB) Tx(ctx context.Context, fn func(*Tx) error) error {
	db.lifetime.RLock()
	defer db.lifetime.RUnlock()
	if db.closed {
		return ErrClosed
	}
	return db.engine.write(ctx, func(ctx context.Context, session *session) error {
		tx := &Tx{Now: db.clock().UTC().Truncate(time.Microsecond), reader: reader{ctx, session}}
		defer func() { tx.session = nil }() // a Tx that is used after its end must not write into another transaction
		if err := fn(tx); err != nil {
			return err
		}
		return session.failure
	})
}

// AwaitDurable returns when everything that a read sees now is durable. Call it before answering
// that a request was already done: on PostgreSQL a row can be visible although no synchronous
// standby has it. It fails like [DB.Tx].
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
