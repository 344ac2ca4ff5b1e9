package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"github.com/sortie-labs/sortie/internal/store"
)

// openSQLite puts River on the store's own writing connection. The pool hands it out in order, so
// that neither River nor the store finds a locked database, and neither starves the other.
func openSQLite(writer *sql.DB, log *slog.Logger) (engine, error) {
	return newOnRiver(onRiver[*sql.Tx]{
		driver:   soleDriver{riversqlite.New(writer)},
		within:   func(tx *store.Tx, fn func(*sql.Tx) error) error { return fn(tx.SQL()) },
		takeTurn: func(ctx context.Context, migrate func(context.Context) error) error { return migrate(ctx) },
		tend: func(ctx context.Context, _ string, _ pace) (stop func(), err error) {
			return func() {}, reclaim(ctx, writer)
		},
	}, log)
}

// reclaim makes jobs that are being worked wait again: the process that
// began them is dead. River would wait until their timeout.
func reclaim(ctx context.Context, writer *sql.DB) error {
	_, err := writer.ExecContext(ctx, "UPDATE river_job SET state = 'available', attempt = max(attempt - 1, 0) WHERE state = 'running'")
	if err != nil {
		return fmt.Errorf("take back the jobs of a process that died: %w", err)
	}
	return nil
}

// soleDriver is River's driver for a database that belongs to one process. River's processes agree
// on a leader by writing to the database every few seconds; each write would be a flush of the
// disk, and a process that comes back after a kill would wait for its own election to expire. Here
// there is one process: it is the leader, and no other needs notifications.
type soleDriver struct{ *riversqlite.Driver }

func (d soleDriver) GetExecutor() riverdriver.Executor { return soleExecutor{d.Driver.GetExecutor()} }
func (soleDriver) SupportsListener() bool              { return false }
func (soleDriver) SupportsListenNotify() bool          { return false }

func (d soleDriver) UnwrapTx(tx riverdriver.ExecutorTx) *sql.Tx {
	if sole, ok := tx.(soleTx); ok {
		tx = sole.ExecutorTx
	}
	return d.Driver.UnwrapTx(tx)
}

type soleExecutor struct{ riverdriver.Executor }

func (e soleExecutor) Begin(ctx context.Context) (riverdriver.ExecutorTx, error) {
	tx, err := e.Executor.Begin(ctx)
	return soleTx{tx}, err
}

func (soleExecutor) LeaderAttemptReelect(_ context.Context, params *riverdriver.LeaderReelectParams) (*riverdriver.Leader, error) {
	return &riverdriver.Leader{LeaderID: params.LeaderID, ElectedAt: params.ElectedAt, ExpiresAt: time.Now().Add(params.TTL)}, nil
}

func (soleExecutor) LeaderResign(context.Context, *riverdriver.LeaderResignParams) (bool, error) {
	return true, nil
}

type soleTx struct{ riverdriver.ExecutorTx }

func (soleTx) LeaderDeleteExpired(context.Context, *riverdriver.LeaderDeleteExpiredParams) (int, error) {
	return 0, nil
}

func (soleTx) LeaderAttemptElect(_ context.Context, params *riverdriver.LeaderElectParams) (*riverdriver.Leader, error) {
	now := time.Now()
	return &riverdriver.Leader{LeaderID: params.LeaderID, ElectedAt: now, ExpiresAt: now.Add(params.TTL)}, nil
}
