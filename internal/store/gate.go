package store

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// gate lets the two writers of an SQLite database in one after the other, in the order in which they came: the batcher, and
// the connection of the job queue. SQLite's own lock would keep them apart too, but who finds it taken sleeps and asks again,
// and seldom meets the short gap between two batches.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

func (g gate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the other writer: %w", ctx.Err())
	}
}

func (g gate) leave() { <-g }

// gatedConnector makes connections that pass the gate for every transaction, and for every statement outside of one: any may
// write. Prepared statements are not known to it; they have SQLite's lock.
type gatedConnector struct {
	sqliteConnector
	gate gate
}

func (c gatedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.sqliteConnector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &gatedConn{sqliteConn: conn.(sqliteConn), gate: c.gate}, nil
}

// sqliteConn is what the driver's connections can do.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type gatedConn struct {
	sqliteConn
	gate   gate
	inside bool // in a transaction, which passed the gate
	broken bool // in a transaction that could not be ended: not to be used again
}

func (c *gatedConn) IsValid() bool { return !c.broken && c.sqliteConn.IsValid() }

func (c *gatedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if !c.inside {
		if err := c.gate.enter(ctx); err != nil {
			return nil, err
		}
		defer c.gate.leave()
	}
	return c.sqliteConn.ExecContext(ctx, query, args)
}

func (c *gatedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.inside {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	if err := c.gate.enter(ctx); err != nil {
		return nil, err
	}
	rows, err := c.sqliteConn.QueryContext(ctx, query, args)
	if err != nil {
		c.gate.leave()
		return nil, err
	}
	return &gatedRows{Rows: rows, gate: c.gate}, nil
}

func (c *gatedConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if err := c.gate.enter(ctx); err != nil {
		return nil, err
	}
	tx, err := c.sqliteConn.BeginTx(ctx, options)
	if err != nil {
		c.gate.leave()
		return nil, err
	}
	c.inside = true
	return gatedTx{conn: c, tx: tx}, nil
}

// gatedRows holds the gate until they are closed: a statement that writes and returns rows ends only then.
type gatedRows struct {
	driver.Rows
	gate   gate
	closed bool
}

func (r *gatedRows) Close() error {
	err := r.Rows.Close()
	if !r.closed {
		r.closed = true
		r.gate.leave()
	}
	return err
}

type gatedTx struct {
	conn *gatedConn
	tx   driver.Tx
}

func (t gatedTx) Commit() error {
	err := t.tx.Commit()
	if err != nil { // it may be open still
		_ = t.tx.Rollback()
		t.conn.broken = true
	}
	t.leave()
	return err
}

func (t gatedTx) Rollback() error {
	err := t.tx.Rollback()
	t.conn.broken = err != nil
	t.leave()
	return err
}

func (t gatedTx) leave() {
	t.conn.inside = false
	t.conn.gate.leave()
}
