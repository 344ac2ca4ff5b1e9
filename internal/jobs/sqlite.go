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

// openSQLite runs River on the store's write connection. The connection pool serves requests in
// order, so neither River nor the store gets a "database is locked" error, and neither starves the
// other.
func openSQLite(writer *sql.DB, log *slog.Logger) (engine, error) {
	return newRiverEngine(riverEngine[*sql.Tx]{
		driver:         singleDriver{riversqlite.New(writer)},
		within:         func(tx *store.Tx, fn func(*sql.Tx) error) error { return fn(tx.SQL()) },
		lockMigrations: func(ctx context.Context, migrate func(context.Context) error) error { return migrate(ctx) },
		startWorker: func(ctx context.Context, _ string, _ timing) (stop func(), err error) {
			return func() {}, takeOverAll(ctx, writer)
		},
	}, log)
}

// takeOverAll makes running jobs available again: the process that started them is dead. River
// would wait until their timeout.
func takeOverAll(ctx context.Context, writer *sql.DB) error {
	_, err := writer.ExecContext(ctx, "UPDATE river_job SET state = 'available', attempt = max(attempt - 1, 0) WHERE state = 'running'")
	if err != nil {
		return fmt.Errorf("take over the jobs of dead processes: %w", err)
	}
	return nil
}

// singleDriver is River's driver for a database with one process. Processes elect a leader by
// writing to the database every few seconds. Each write would flush the disk, and a process
// restarted after a kill would wait for its former election to expire. A single process is always
// the leader, and no other process needs notifications.
type singleDriver struct{ *riversqlite.Driver }

func (d singleDriver) GetExecutor() riverdriver.Executor {
	return singleExecutor{d.Driver.GetExecutor()}
}
func (singleDriver) SupportsListener() bool     { return false }
func (singleDriver) SupportsListenNotify() bool { return false }

func (d singleDriver) UnwrapTx(tx riverdriver.ExecutorTx) *sql.Tx {
	if sole, ok := tx.(singleTx); ok {
		tx = sole.ExecutorTx
	}
	return d.Driver.UnwrapTx(tx)
}

type singleExecutor struct{ riverdriver.Executor }

func (e singleExecutor) Begin(ctx context.Context) (riverdriver.ExecutorTx, error) {
	tx, err := e.Executor.Begin(ctx)
	return singleTx{tx}, err
}

func (singleExecutor) LeaderAttemptReelect(_ context.Context, params *riverdriver.LeaderReelectParams) (*riverdriver.Leader, error) {
	return &riverdriver.Leader{LeaderID: params.LeaderID, ElectedAt: params.ElectedAt, ExpiresAt: time.Now().Add(params.TTL)}, nil
}

func (singleExecutor) LeaderResign(context.Context, *riverdriver.LeaderResignParams) (bool, error) {
	return true, nil
}

type singleTx struct{ riverdriver.ExecutorTx }

func (singleTx) LeaderDeleteExpired(context.Context, *riverdriver.LeaderDeleteExpiredParams) (int, error) {
	return 0, nil
}

func (singleTx) LeaderAttemptElect(_ context.Context, params *riverdriver.LeaderElectParams) (*riverdriver.Leader, error) {
	now := time.Now()
	return &riverdriver.Leader{LeaderID: params.LeaderID, ElectedAt: now, ExpiresAt: now.Add(params.TTL)}, nil
}
