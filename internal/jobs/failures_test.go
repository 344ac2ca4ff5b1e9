package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river/rivertype"

	"github.com/sortie-labs/sortie/internal/pgtest"
)

var errOutage = errors.New("the node is down")

func pgDatabase(t testing.TB) string { return pgtest.Database(t) }

func failed(times int) *rivertype.JobRow {
	return &rivertype.JobRow{Errors: make([]rivertype.AttemptError, times)}
}

func testBackoff(t *testing.T, b *bench) {
	queue := b.open()
	attempts := make(chan time.Time, 8)
	b.run(queue, Work{Refund: func(context.Context, string) error {
		attempts <- time.Now()
		if len(attempts) < 4 {
			return errOutage
		}
		return nil
	}})
	b.refund(queue, "draft_a")
	b.awaitEmpty()
	if len(attempts) != 4 {
		t.Fatalf("%d attempts, want 4", len(attempts))
	}
	last := <-attempts
	for wait := hurry.firstRetry; len(attempts) > 0; wait *= 2 {
		next := <-attempts
		if next.Sub(last) < wait-time.Millisecond { // SQLite keeps milliseconds
			t.Errorf("tried again after %s, want at least %s", next.Sub(last), wait)
		}
		last = next
	}
	if stats := queue.Stats(); stats != (Stats{Done: 1, Failed: 3}) {
		t.Errorf("Stats: %+v, want 1 done and 3 failed", stats)
	}
}

func testNeverGivenUp(t *testing.T, b *bench) {
	queue := b.open()
	queue.pace.firstRetry, queue.pace.lastRetry = time.Millisecond, time.Millisecond
	var attempts atomic.Int64
	b.run(queue, Work{Refund: func(context.Context, string) error {
		if attempts.Add(1) <= int64(hurry.patience)+3 {
			return errOutage
		}
		return nil
	}})
	b.refund(queue, "draft_a")
	b.awaitEmpty()
	if n := attempts.Load(); n != int64(hurry.patience)+4 {
		t.Errorf("%d attempts, want %d", n, hurry.patience+4)
	}
	if n := b.count(fmt.Sprintf("attempt = %d", hurry.patience+1)); n != 1 {
		t.Errorf("the list of its failures went on growing")
	}
	if stats := queue.Stats(); stats.Failed != int64(hurry.patience)+3 {
		t.Errorf("%d failures are counted, want %d", stats.Failed, hurry.patience+3)
	}
}

func testPanic(t *testing.T, b *bench) {
	b.log = slog.New(slog.DiscardHandler) // River complains of it, and rightly
	queue := b.open()
	var attempts atomic.Int64
	b.run(queue, Work{Refund: func(context.Context, string) error {
		if attempts.Add(1) == 1 {
			panic("a bug")
		}
		return nil
	}})
	b.refund(queue, "draft_a")
	b.awaitEmpty()
	if stats := queue.Stats(); stats != (Stats{Done: 1, Failed: 1}) {
		t.Errorf("Stats: %+v, want 1 done and 1 failed", stats)
	}
}

func testCheck(t *testing.T, b *bench) {
	queue := b.open()
	queue.pace.firstRetry, queue.pace.lastRetry = time.Millisecond, time.Millisecond
	var attempts atomic.Int64
	checked := make(chan string, 8)
	b.run(queue, Work{Check: func(ctx context.Context, submissionID string) error {
		if deadline, set := ctx.Deadline(); !set || time.Until(deadline) < checkTimeout-time.Minute {
			t.Errorf("the check must end at %s: too early for a large file", deadline)
		}
		if attempts.Add(1) <= int64(hurry.patience)+2 {
			return errOutage
		}
		checked <- submissionID
		return nil
	}})
	b.check(queue, "sub_a")
	b.awaitEmpty()
	if id := await(t, checked, "the check"); id != "sub_a" || len(checked) != 0 {
		t.Errorf("checked %q and %d more, want sub_a alone", id, len(checked))
	}
	if n := b.count(fmt.Sprintf("kind = 'check' AND attempt = %d", hurry.patience+1)); n != 1 {
		t.Errorf("the list of its failures went on growing")
	}
}

// testRescueOthers has the one process that looks after dead ones' jobs be one that cannot do them.
func testRescueOthers(t *testing.T, b *bench) {
	queue := b.open()
	queue.pace.jobTimeout, queue.pace.rescueAfter = 10*time.Second, 20*time.Second
	b.refund(queue, "draft_a")
	b.killWorkers()
	work := newRecorder()
	stop := b.run(queue, Work{Reconcile: work.reconcile})
	b.awaitNone("kind = 'refund' AND state = 'running'")
	stop()
	b.run(queue, Work{Refund: work.refund})
	b.awaitNone("kind = 'refund' AND finalized_at IS NULL")
	if done := work.all(); !slices.Contains(done, "draft_a") {
		t.Errorf("worked %v: the refund was thrown away", done)
	}
}

func testRescue(t *testing.T, b *bench) {
	queue := b.open()
	queue.pace.jobTimeout, queue.pace.rescueAfter = 10*time.Second, 20*time.Second
	b.refund(queue, "draft_a")
	b.killWorkers()
	b.refund(queue, "draft_a") // waits for the dead one
	work := newRecorder()
	b.run(queue, Work{Refund: work.refund})
	b.awaitEmpty()
	if done := work.all(); len(done) != 2 {
		t.Errorf("worked %d jobs, want the dead one's and the one after it", len(done))
	}
}

func testStopWaits(t *testing.T, b *bench) {
	queue := b.open()
	begun, finish := make(chan struct{}), make(chan struct{})
	stop := b.run(queue, Work{Refund: func(ctx context.Context, _ string) error {
		close(begun)
		<-finish
		return ctx.Err() // not cancelled: there was time
	}})
	b.refund(queue, "draft_a")
	await(t, begun, "the job")
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	close(finish)
	await(t, stopped, "the stop")
	if n := b.count("state = 'completed'"); n != 1 {
		t.Errorf("%d jobs are completed after the stop, want 1", n)
	}
}

func testStopInterrupts(t *testing.T, b *bench) {
	queue := b.open()
	queue.pace.softStop = time.Millisecond
	begun := make(chan struct{})
	stop := b.run(queue, Work{Refund: func(ctx context.Context, _ string) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}})
	b.refund(queue, "draft_a")
	await(t, begun, "the job")
	stop()
	if n := b.count("state = 'available' AND attempt = 0"); n != 1 {
		t.Errorf("%d jobs start over as if nothing had happened, want 1", n)
	}
	if stats := queue.Stats(); stats.Failed != 0 {
		t.Errorf("%d failures are counted; a stop is none", stats.Failed)
	}
}
