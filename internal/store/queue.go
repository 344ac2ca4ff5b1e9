package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// QueuePool is where the job queue keeps its own tables: the same database, reached in the way that
// the queue's driver for the engine wants. Exactly one is set. It belongs to the [DB]; stop the
// queue before [DB.Close].
type QueuePool struct {
	Postgres *pgxpool.Pool
	SQLite   *sql.DB // the store's one writing connection: whoever has it keeps everybody else from writing
}

// QueuePool returns the queue's way to the database.
func (db *DB) QueuePool() QueuePool { return db.engine.queuePool() }

// Context is the context for statements that the job queue runs in this transaction.
func (tx *Tx) Context() context.Context { return tx.ctx }

// SQL is the transaction as the job queue needs it, to insert jobs in it. The queue must neither
// commit it nor roll it back, and the function must return the queue's errors: the store does not
// see them.
func (tx *Tx) SQL() *sql.Tx { return tx.session.tx }

// PgxConn lends fn the connection below the transaction, for statements inside it. An error of fn
// fails the transaction. Only on PostgreSQL.
func (tx *Tx) PgxConn(fn func(*pgx.Conn) error) error {
	if tx.session.conn == nil {
		return errors.New("reach the connection below a transaction: this is not PostgreSQL")
	}
	var failure error
	err := tx.session.conn.Raw(func(driverConn any) error {
		below, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("unknown driver connection %T", driverConn)
		}
		failure = fn(below.Conn())
		return nil
	})
	return tx.session.fail(errors.Join(err, failure))
}
