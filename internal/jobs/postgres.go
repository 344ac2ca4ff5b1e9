package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/sortie-labs/sortie/internal/store"
)

func openPostgres(pool *pgxpool.Pool, log *slog.Logger) (engine, error) {
	return newOnRiver(onRiver[pgx.Tx]{
		driver: riverpgxv5.New(pool),
		within: func(tx *store.Tx, fn func(pgx.Tx) error) error {
			return tx.PgxConn(func(conn *pgx.Conn) error { return fn(begunTx{conn}) })
		},
		takeTurn: func(ctx context.Context, migrate func(context.Context) error) error {
			return takeTurn(ctx, pool, migrate)
		},
		tend: func(ctx context.Context, id string, pace pace) (stop func(), err error) {
			return startHeart(ctx, heart{pool: pool, id: id, pace: pace, log: log})
		},
	}, log)
}

// migrationTurn keeps other processes out while one migrates, however long it takes.
var migrationTurn = []string{
	"SET LOCAL statement_timeout = 0",
	"SET LOCAL lock_timeout = 0",
	"SET LOCAL idle_in_transaction_session_timeout = 0",
	"SELECT pg_advisory_xact_lock(7236834210042)",
}

// takeTurn holds a lock in a transaction of its own while it migrates: some migrations cannot run
// in one.
func takeTurn(ctx context.Context, pool *pgxpool.Pool, migrate func(context.Context) error) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		for _, statement := range migrationTurn {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return fmt.Errorf("wait for a turn to migrate: %w", err)
			}
		}
		return migrate(ctx)
	})
}

// begunTx makes a transaction of the store, which database/sql began on a connection, one that
// River can insert in. It ends with the store's function, never from here.
type begunTx struct{ conn *pgx.Conn }

var errNotOurs = errors.New("the transaction belongs to the store")

func (t begunTx) Commit(context.Context) error   { return errNotOurs }
func (t begunTx) Rollback(context.Context) error { return errNotOurs }

func (t begunTx) Begin(ctx context.Context) (pgx.Tx, error) { return nil, errNotOurs }

func (t begunTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return t.conn.Exec(ctx, sql, args...)
}

func (t begunTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return t.conn.Query(ctx, sql, args...)
}

func (t begunTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.conn.QueryRow(ctx, sql, args...)
}

func (t begunTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return t.conn.CopyFrom(ctx, table, columns, rows)
}

func (t begunTx) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	return t.conn.SendBatch(ctx, batch)
}
func (t begunTx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }
func (t begunTx) Conn() *pgx.Conn                { return t.conn }

func (t begunTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	return t.conn.Prepare(ctx, name, sql)
}
