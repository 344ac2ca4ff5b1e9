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

func testBackoff(t *testing.T, b *testDB) {
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
		t.Fatalf("got %d attempts, want 4", len(attempts))
	}
	last := <-attempts
	for wait := testTiming.firstRetry; len(attempts) > 0; wait *= 2 {
		next := <-attempts
		if next.Sub(last) < wait-time.Millisecond { // SQLite stores milliseconds
			t.Errorf("retried after %s, want at least %s", next.Sub(last), wait)
		}
		last = next
	}
	if stats := queue.Stats(); stats != (Stats{Done: 1, Failed: 3}) {
		t.Errorf("Stats: got %+v, want 1 done and 3 failed", stats)
	}
}

func testNeverGivenUp(t *testing.T, b *testDB) {
	queue := b.open()
	queue.timing.firstRetry, queue.timing.lastRetry = time.Millisecond, time.Millisecond
	var attempts atomic.Int64
	b.run(queue, Work{Refund: func(context.Context, string) error {
		if attempts.Add(1) <= int64(testTiming.storedErrors)+3 {
			return errOutage
		}
		return nil
	}})
	b.refund(queue, "draft_a")
	b.awaitEmpty()
	if n := attempts.Load(); n != int64(testTiming.storedErrors)+4 {
		t.Errorf("got %d attempts, want %d", n, testTiming.storedErrors+4)
	}
	if n := b.count(fmt.Sprintf("attempt = %d", testTiming.storedErrors+1)); n != 1 {
		t.Errorf("got %d jobs with a bounded list of failures, want 1", n)
	}
	if stats := queue.Stats(); stats.Failed != int64(testTiming.storedErrors)+3 {
		t.Errorf("Stats: got %d failures, want %d", stats.Failed, testTiming.storedErrors+3)
	}
}

func testPanic(t *testing.T, b *testDB) {
	b.log = slog.New(slog.DiscardHandler) // River logs the panic
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
		t.Errorf("Stats: got %+v, want 1 done and 1 failed", stats)
	}
}

func testCheck(t *testing.T, b *testDB) {
	queue := b.open()
	queue.timing.firstRetry, queue.timing.lastRetry = time.Millisecond, time.Millisecond
	var attempts atomic.Int64
	checked := make(chan string, 8)
	b.run(queue, Work{Check: func(ctx context.Context, submissionID string) error {
		if deadline, set := ctx.Deadline(); !set || time.Until(deadline) < checkTimeout-time.Minute {
			t.Errorf("got a check deadline of %s, want about %s from now", deadline, checkTimeout)
		}
		if attempts.Add(1) <= int64(testTiming.storedErrors)+2 {
			return errOutage
		}
		checked <- submissionID
		return nil
	}})
	b.check(queue, "sub_a")
	b.awaitEmpty()
	if id := await(t, checked, "the check"); id != "sub_a" || len(checked) != 0 {
		t.Errorf("got a check of %q and %d more, want only sub_a", id, len(checked))
	}
	if n := b.count(fmt.Sprintf("kind = 'check' AND attempt = %d", testTiming.storedErrors+1)); n != 1 {
		t.Errorf("got %d jobs with a bounded list of failures, want 1", n)
	}
}

// testRescueOthers checks that a process that cannot run a job of a dead process does not discard
// it.
func testRescueOthers(t *testing.T, b *testDB) {
	queue := b.open()
	queue.timing.jobTimeout, queue.timing.rescueAfter = 10*time.Second, 20*time.Second
	b.refund(queue, "draft_a")
	b.killWorkers()
	work := newRecorder()
	stop := b.run(queue, Work{Reconcile: work.reconcile})
	b.awaitNone("kind = 'refund' AND state = 'running'")
	stop()
	b.run(queue, Work{Refund: work.refund})
	b.awaitNone("kind = 'refund' AND finalized_at IS NULL")
	if done := work.all(); !slices.Contains(done, "draft_a") {
		t.Errorf("got refunds %v, want draft_a: the job was discarded", done)
	}
}

func testRescue(t *testing.T, b *testDB) {
	queue := b.open()
	queue.timing.jobTimeout, queue.timing.rescueAfter = 10*time.Second, 20*time.Second
	b.refund(queue, "draft_a")
	b.killWorkers()
	b.refund(queue, "draft_a") // waits for the job of the dead process
	work := newRecorder()
	b.run(queue, Work{Refund: work.refund})
	b.awaitEmpty()
	if done := work.all(); len(done) != 2 {
		t.Errorf("got %d jobs run, want 2: the job of the dead process and its follower", len(done))
	}
}

func testStopWaits(t *testing.T, b *testDB) {
	queue := b.open()
	begun, finish := make(chan struct{}), make(chan struct{})
	stop := b.run(queue, Work{Refund: func(ctx context.Context, _ string) error {
		close(begun)
		<-finish
		return ctx.Err() // nil: the stop waits
	}})
	b.refund(queue, "draft_a")
	await(t, begun, "the job")
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	close(finish)
	await(t, stopped, "the stop")
	if n := b.count("state = 'completed'"); n != 1 {
		t.Errorf("got %d completed jobs after the stop, want 1", n)
	}
}

func testStopInterrupts(t *testing.T, b *testDB) {
	queue := b.open()
	queue.timing.softStop = time.Millisecond
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
		t.Errorf("got %d jobs to run again with no attempt counted, want 1", n)
	}
	if stats := queue.Stats(); stats.Failed != 0 {
		t.Errorf("Stats: got %d failures after a stop, want 0", stats.Failed)
	}
}
