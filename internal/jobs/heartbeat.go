package jobs

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// heart shows other processes on a PostgreSQL database that this one lives, and takes back the jobs
// of processes that no longer do. River alone waits until a job has taken longer than it may, which
// is minutes for a check.
//
// All times are the server's, so that the clocks of processes need not agree. A process that was
// only suspended may find that another took its job: jobs do no harm when done twice.
type heart struct {
	pool *pgxpool.Pool
	id   string // as River names this process in attempted_by
	pace pace
	log  *slog.Logger
}

// newWorkerID names a process for as long as it lives.
func newWorkerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // the rest is enough to tell processes apart
	}
	return fmt.Sprintf("%.40s:%d:%s", host, os.Getpid(), rand.Text())
}

// startHeart beats once, and then until stop is called. A beat before the first job keeps others
// from taking that job back.
func startHeart(ctx context.Context, h heart) (stop func(), err error) {
	if err := h.beat(ctx); err != nil {
		return nil, err
	}
	beating, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.run(beating)
	}()
	return func() {
		cancel()
		<-ended
		h.end(context.WithoutCancel(ctx))
	}, nil
}

func (h heart) run(ctx context.Context) {
	again := time.NewTicker(h.pace.heartbeat)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		if err := h.beat(ctx); err != nil && ctx.Err() == nil {
			h.log.WarnContext(ctx, "other processes may take the jobs of this one: its sign of life cannot be stored", "error", err)
		}
	}
}

// beat stores a sign of life. Only a process that could do so takes jobs of others: after an outage
// of the database all signs of life are old.
func (h heart) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.pace.deadAfter)
	defer cancel()
	if _, err := h.pool.Exec(ctx, storeSignOfLife, h.id); err != nil {
		return fmt.Errorf("store a sign of life: %w", err)
	}
	dead := h.pace.deadAfter.Seconds()
	taken, err := h.pool.Exec(ctx, takeJobsOfTheDead, dead, quickTakeovers, h.pace.lastRetry.Seconds())
	if err != nil {
		return fmt.Errorf("take back the jobs of a process that died: %w", err)
	}
	if count := taken.RowsAffected(); count > 0 {
		h.log.WarnContext(ctx, "job taken over from a process that died", "jobs", count)
	}
	if _, err := h.pool.Exec(ctx, forgetTheDead, deadKept.Seconds()); err != nil {
		return fmt.Errorf("forget processes that died: %w", err)
	}
	return nil
}

// end lets other processes know at once.
func (h heart) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, h.pace.heartbeat)
	defer cancel()
	_, _ = h.pool.Exec(ctx, `DELETE FROM job_workers WHERE id = $1`, h.id) // if not, it ends by itself
}

const (
	// quickTakeovers is how many attempts of a job may end with their process before the job waits
	// between attempts: it may be the job that kills.
	quickTakeovers = 3
	deadKept       = time.Hour
)

const (
	storeSignOfLife = `INSERT INTO job_workers (id, seen_at) VALUES ($1, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`

	// A job that was begun a moment ago may belong to a process whose sign of life this statement
	// does not see yet.
	takeJobsOfTheDead = `UPDATE river_job SET
	state = CASE WHEN attempt <= $2 THEN 'available'::river_job_state ELSE 'retryable'::river_job_state END,
	scheduled_at = CASE WHEN attempt <= $2 THEN scheduled_at ELSE clock_timestamp() + make_interval(secs => $3) END
WHERE state = 'running' AND attempted_at < clock_timestamp() - make_interval(secs => $1)
AND NOT EXISTS (SELECT FROM job_workers
	WHERE id = attempted_by[array_upper(attempted_by, 1)] AND seen_at >= clock_timestamp() - make_interval(secs => $1))`

	forgetTheDead = `DELETE FROM job_workers WHERE seen_at < clock_timestamp() - make_interval(secs => $1)`
)
