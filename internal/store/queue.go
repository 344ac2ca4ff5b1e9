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

// QueuePool is the database of the job queue's tables, in the form that the queue's driver for the
// engine needs. Exactly one field is set. It belongs to the [DB]; stop the queue before [DB.Close].
type QueuePool struct {
	Postgres *pgxpool.Pool
	SQLite   *sql.DB // the store's only writing connection: using it blocks all other writes
}

// QueuePool returns the queue's access to the database.
func (db *DB) QueuePool() QueuePool { return db.engine.queuePool() }

// Context returns the context for statements that the job queue runs in this transaction.
func (tx *Tx) Context() context.Context { return tx.ctx }

// SQL returns the transaction for the job queue, to insert jobs in it. The queue must neither
// commit it nor roll it back, and the function must return the queue's errors: the store does not
// see them.
func (tx *Tx) SQL() *sql.Tx { return tx.session.tx }

// PgxConn calls fn with the connection of the transaction, for statements inside it. An error of fn
// fails the transaction. Only on PostgreSQL.
func (tx *Tx) PgxConn(fn func(*pgx.Conn) error) error {
	if tx.session.conn == nil {
		return errors.New("get the connection of a transaction: this is not PostgreSQL")
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
