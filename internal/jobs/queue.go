package jobs

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/sortie-labs/sortie/internal/store"
)

// Queue enqueues jobs and runs them. It is safe for concurrent use.
type Queue struct {
	engine   engine
	timing   timing
	outcomes outcomes
}

// engine is River on one of the two databases.
type engine interface {
	migrate(ctx context.Context, log *slog.Logger) error
	insert(tx *store.Tx, args river.JobArgs) (*rivertype.JobInsertResult, error)
	// work runs jobs until ctx ends, and returns when the running jobs have ended.
	work(ctx context.Context, config *river.Config, timing timing) error
}

// Open migrates the tables of the queue. It starts no jobs: [Queue.Run] does. The queue must not be
// used after the database is closed.
func Open(ctx context.Context, db *store.DB, logger *slog.Logger) (*Queue, error) {
	if logger == nil {
		logger = slog.Default()
	}
	q := &Queue{timing: defaultTiming, outcomes: outcomes{log: logger}}
	quiet := slog.New(warningsOnly{logger.Handler()})
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

// Refund enqueues the refund of a draft's mission. It runs after the transaction is committed. If a
// refund of the draft already waits, Refund does nothing.
func (q *Queue) Refund(tx *store.Tx, draftID string) error {
	err := q.enqueue(tx, func(after int64) river.JobArgs { return refundArgs{DraftID: draftID, After: after} })
	if err != nil {
		return fmt.Errorf("enqueue refund of %s: %w", draftID, err)
	}
	return nil
}

// Check enqueues the check of a submission. It runs after the transaction is committed. If a check
// of the submission already waits, Check does nothing.
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

// enqueue inserts a job unless an equal job already waits. If the equal job is running, enqueue
// inserts a job to run after it, because the running one may have read data that this transaction
// changes.
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

// Stats counts the jobs of this process since its start.
type Stats struct {
	Done   int64 // jobs that succeeded
	Failed int64 // attempts that failed
}

// Stats returns the counters for metrics.
func (q *Queue) Stats() Stats {
	return Stats{Done: q.outcomes.done.Load(), Failed: q.outcomes.failed.Load()}
}
