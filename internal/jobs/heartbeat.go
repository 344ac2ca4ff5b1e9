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

// heartbeat stores in PostgreSQL when this process was last alive, and takes over the jobs of
// processes whose heartbeat has stopped. River itself waits until a job exceeds its timeout, which
// is minutes for a check.
//
// All times are the server's, so the clocks of processes need not agree. A process that was only
// suspended may find its job taken over: jobs are idempotent.
type heartbeat struct {
	pool   *pgxpool.Pool
	id     string // the name of this process in River's attempted_by
	timing timing
	log    *slog.Logger
}

// newWorkerID returns a unique name for this process.
func newWorkerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // the rest of the name is unique
	}
	return fmt.Sprintf("%.40s:%d:%s", host, os.Getpid(), rand.Text())
}

// startHeartbeat stores a heartbeat, and then one at each interval until stop is called. The
// heartbeat before the first job prevents other processes from taking over that job.
func startHeartbeat(ctx context.Context, h heartbeat) (stop func(), err error) {
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

func (h heartbeat) run(ctx context.Context) {
	again := time.NewTicker(h.timing.heartbeat)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		if err := h.beat(ctx); err != nil && ctx.Err() == nil {
			h.log.WarnContext(ctx, "could not store the heartbeat; other processes may take over the jobs of this one", "error", err)
		}
	}
}

// beat stores a heartbeat and then takes over jobs. A process that cannot store its heartbeat takes
// over nothing: after an outage of the database all heartbeats are old.
func (h heartbeat) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.timing.deadAfter)
	defer cancel()
	if _, err := h.pool.Exec(ctx, storeHeartbeat, h.id); err != nil {
		return fmt.Errorf("store the heartbeat: %w", err)
	}
	dead := h.timing.deadAfter.Seconds()
	taken, err := h.pool.Exec(ctx, takeOverJobs, dead, quickTakeovers, h.timing.lastRetry.Seconds())
	if err != nil {
		return fmt.Errorf("take over the jobs of dead processes: %w", err)
	}
	if count := taken.RowsAffected(); count > 0 {
		h.log.WarnContext(ctx, "job taken over from a dead process", "jobs", count)
	}
	if _, err := h.pool.Exec(ctx, deleteOldHeartbeats, heartbeatKept.Seconds()); err != nil {
		return fmt.Errorf("delete old heartbeats: %w", err)
	}
	return nil
}

// end deletes the heartbeat, so that other processes need not wait until it is old.
func (h heartbeat) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, h.timing.heartbeat)
	defer cancel()
	_, _ = h.pool.Exec(ctx, `DELETE FROM job_workers WHERE id = $1`, h.id) // a failure only makes others wait
}

const (
	// quickTakeovers is how many times a job is taken over at once. After that the job waits
	// between attempts, because it may be what kills the processes.
	quickTakeovers = 3
	heartbeatKept  = time.Hour
)

const (
	storeHeartbeat = `INSERT INTO job_workers (id, seen_at) VALUES ($1, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`

	// The condition on attempted_at spares a job that a process started just now: this statement
	// may not see the heartbeat of that process yet.
	takeOverJobs = `UPDATE river_job SET
	state = CASE WHEN attempt <= $2 THEN 'available'::river_job_state ELSE 'retryable'::river_job_state END,
	scheduled_at = CASE WHEN attempt <= $2 THEN scheduled_at ELSE clock_timestamp() + make_interval(secs => $3) END
WHERE state = 'running' AND attempted_at < clock_timestamp() - make_interval(secs => $1)
AND NOT EXISTS (SELECT FROM job_workers
	WHERE id = attempted_by[array_upper(attempted_by, 1)] AND seen_at >= clock_timestamp() - make_interval(secs => $1))`

	deleteOldHeartbeats = `DELETE FROM job_workers WHERE seen_at < clock_timestamp() - make_interval(secs => $1)`
)
