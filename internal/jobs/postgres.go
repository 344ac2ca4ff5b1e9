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
	return newRiverEngine(riverEngine[pgx.Tx]{
		driver: riverpgxv5.New(pool),
		within: func(tx *store.Tx, fn func(pgx.Tx) error) error {
			return tx.PgxConn(func(conn *pgx.Conn) error { return fn(storeTx{conn}) })
		},
		lockMigrations: func(ctx context.Context, migrate func(context.Context) error) error {
			return lockMigrations(ctx, pool, migrate)
		},
		startWorker: func(ctx context.Context, id string, timing timing) (stop func(), err error) {
			return startHeartbeat(ctx, heartbeat{pool: pool, id: id, timing: timing, log: log})
		},
	}, log)
}

// migrationLock takes a lock without a timeout, so that one process migrates at a time.
var migrationLock = []string{
	"SET LOCAL statement_timeout = 0",
	"SET LOCAL lock_timeout = 0",
	"SET LOCAL idle_in_transaction_session_timeout = 0",
	"SELECT pg_advisory_xact_lock(7236834210042)",
}

// lockMigrations holds the lock in a separate transaction while it migrates: some migrations cannot
// run in a transaction.
func lockMigrations(ctx context.Context, pool *pgxpool.Pool, migrate func(context.Context) error) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		for _, statement := range migrationLock {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return fmt.Errorf("lock migrations: %w", err)
			}
		}
		return migrate(ctx)
	})
}

// storeTx is a transaction that the store began through database/sql, as a pgx transaction that
// River can insert with. Only the store ends it.
type storeTx struct{ conn *pgx.Conn }

var errStoreTx = errors.New("the transaction belongs to the store")

func (t storeTx) Commit(context.Context) error   { return errStoreTx }
func (t storeTx) Rollback(context.Context) error { return errStoreTx }

func (t storeTx) Begin(ctx context.Context) (pgx.Tx, error) { return nil, errStoreTx }

func (t storeTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return t.conn.Exec(ctx, sql, args...)
}

func (t storeTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return t.conn.Query(ctx, sql, args...)
}

func (t storeTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.conn.QueryRow(ctx, sql, args...)
}

func (t storeTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return t.conn.CopyFrom(ctx, table, columns, rows)
}

func (t storeTx) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	return t.conn.SendBatch(ctx, batch)
}
func (t storeTx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }
func (t storeTx) Conn() *pgx.Conn                { return t.conn }

func (t storeTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	return t.conn.Prepare(ctx, name, sql)
}
