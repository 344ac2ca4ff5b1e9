package jobs

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/sortie-labs/sortie/internal/store"
)

// Queue takes jobs, and works them where it is told to. It is safe for concurrent use.
type Queue struct {
	engine   engine
	pace     pace
	outcomes outcomes
}

// engine is River on one of the databases.
type engine interface {
	migrate(ctx context.Context, log *slog.Logger) error
	insert(tx *store.Tx, args river.JobArgs) (*rivertype.JobInsertResult, error)
	// work runs jobs until ctx ends, and then until those under way have ended.
	work(ctx context.Context, config *river.Config, pace pace) error
}

// Open brings the queue's own tables up to date. It starts nothing: jobs are worked by [Queue.Run].
// The queue must not be used once the database is closed.
func Open(ctx context.Context, db *store.DB, logger *slog.Logger) (*Queue, error) {
	if logger == nil {
		logger = slog.Default()
	}
	q := &Queue{pace: steady, outcomes: outcomes{log: logger}}
	quiet := slog.New(warnings{logger.Handler()})
	var err error
	if pool := db.QueuePool(); pool.Postgres != nil {
		q.engine, err = openPostgres(pool.Postgres, quiet)
	} else {
		q.engine, err = openSQLite(pool.SQLite, quiet)
	}
	if err == nil {
		err = q.engine.migrate(ctx, quiet)
	}
	if err != nil {
		return nil, fmt.Errorf("open job queue: %w", err)
	}
	return q, nil
}

// Refund has the money of a draft's mission sent back, once the transaction is committed. A refund
// of the same draft that still waits serves for both.
func (q *Queue) Refund(tx *store.Tx, draftID string) error {
	err := q.enqueue(tx, func(after int64) river.JobArgs { return refundArgs{DraftID: draftID, After: after} })
	if err != nil {
		return fmt.Errorf("enqueue refund of %s: %w", draftID, err)
	}
	return nil
}

// Check has a submission looked at, once the transaction is committed. A check of the same
// submission that still waits serves for both.
func (q *Queue) Check(tx *store.Tx, submissionID string) error {
	err := q.enqueue(tx, func(after int64) river.JobArgs { return checkArgs{SubmissionID: submissionID, After: after} })
	if err != nil {
		return fmt.Errorf("enqueue check of %s: %w", submissionID, err)
	}
	return nil
}

// Reconcile enqueues a comparison of the missions with the chain, in addition to the periodic ones.
func (q *Queue) Reconcile(tx *store.Tx) error {
	if err := q.enqueue(tx, func(after int64) river.JobArgs { return reconcileArgs{After: after} }); err != nil {
		return fmt.Errorf("enqueue reconcile: %w", err)
	}
	return nil
}

// enqueue inserts a job unless one like it waits already. One that is being worked does not count,
// because it may have read what this transaction is about to change: the new job then waits for
// it.
func (q *Queue) enqueue(tx *store.Tx, args func(after int64) river.JobArgs) error {
	after := int64(0)
	for {
		result, err := q.engine.insert(tx, args(after))
		if err != nil {
			return err
		}
		if !result.UniqueSkippedAsDuplicate || result.Job.State != rivertype.JobStateRunning {
			return nil
		}
		after = result.Job.ID
	}
}

// Stats describe the work of this process since it started.
type Stats struct {
	Done   int64 // jobs that succeeded
	Failed int64 // attempts that failed
}

// Stats returns the counters for metrics.
func (q *Queue) Stats() Stats {
	return Stats{Done: q.outcomes.done.Load(), Failed: q.outcomes.failed.Load()}
}
