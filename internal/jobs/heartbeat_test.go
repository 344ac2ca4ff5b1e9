package jobs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/store"
)

// childVariable makes this test binary a process that starts checks and never completes them.
const childVariable = "SORTIE_TEST_JOBS_CHILD"

// beginForever runs checks until the process is killed, and prints a line when one has started.
func beginForever(url string) error {
	ctx := context.Background()
	db, err := store.Open(ctx, url, store.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	queue, err := Open(ctx, db, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return queue.Run(ctx, Work{Check: func(context.Context, string) error {
		fmt.Println("begun")
		select {}
	}})
}

// TestACheckOfAKilledProcessIsBegunAgainInSeconds kills a process during a check. River itself
// would wait until the check exceeds its timeout of three minutes, which is longer than
// testTimeout.
func TestACheckOfAKilledProcessIsBegunAgainInSeconds(t *testing.T) {
	t.Parallel()
	url := pgDatabase(t)
	b := &testDB{T: t, url: url, db: openDatabase(t, url), log: slog.New(slog.DiscardHandler)}
	queue := b.open()
	queue.timing = defaultTiming // as in production
	b.check(queue, "sub_a")

	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+url)
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(output, make([]byte, len("begun"))); err != nil {
		t.Fatalf("wait for the other process to start the check: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed

	checked := make(chan string, 1)
	b.run(queue, Work{Check: func(_ context.Context, submissionID string) error {
		checked <- submissionID
		return nil
	}})
	if got := await(t, checked, "the check of the killed process"); got != "sub_a" {
		t.Errorf("got a check of %q, want sub_a", got)
	}
}

// TestALongJobOfALivingProcessIsLeftToIt runs a long job while another process searches for jobs of
// dead processes.
func TestALongJobOfALivingProcessIsLeftToIt(t *testing.T) {
	t.Parallel()
	url := pgDatabase(t)
	b := &testDB{T: t, url: url, db: openDatabase(t, url), log: slog.New(slog.DiscardHandler)}
	queue := b.open()
	begun, finish := make(chan struct{}, 2), make(chan struct{})
	var begins atomic.Int64
	check := func(context.Context, string) error {
		begins.Add(1)
		begun <- struct{}{}
		<-finish
		return nil
	}
	b.check(queue, "sub_a")
	b.run(queue, Work{Check: check})
	await(t, begun, "the check")
	// The job is old enough for a takeover, but not for a rescue by River.
	b.exec("UPDATE river_job SET attempted_at = now() - interval '40 seconds'")
	neighbour, err := Open(context.Background(), openDatabase(t, url), b.log)
	if err != nil {
		t.Fatal(err)
	}
	neighbour.timing = testTiming
	b.run(neighbour, Work{Check: check})
	for range 3 { // each time after a heartbeat of both processes
		b.exec("UPDATE job_workers SET seen_at = seen_at - interval '1 second'")
		b.awaitRows("SELECT COUNT(*) FROM job_workers WHERE seen_at >= clock_timestamp() - interval '1 second'", 2)
	}
	if n := b.count("state = 'running'"); n != 1 {
		t.Errorf("got %d running checks, want 1", n)
	}
	close(finish)
	b.awaitEmpty()
	if n := begins.Load(); n != 1 {
		t.Errorf("got %d starts of the check, want 1", n)
	}
}

// TestAJobThatKillsItsProcessesWaitsBetweenThem takes over a job whose attempts all ended with
// their process.
func TestAJobThatKillsItsProcessesWaitsBetweenThem(t *testing.T) {
	t.Parallel()
	url := pgDatabase(t)
	b := &testDB{T: t, url: url, db: openDatabase(t, url), log: slog.New(slog.DiscardHandler)}
	queue := b.open()
	b.check(queue, "sub_a")
	b.killWorkers()
	b.exec(fmt.Sprintf("UPDATE river_job SET attempt = %d", quickTakeovers+1))
	b.run(queue, Work{Reconcile: newRecorder().reconcile})
	b.awaitNone("kind = 'check' AND state = 'running'")
	if n := b.count("kind = 'check' AND scheduled_at > attempted_at + interval '1 minute'"); n != 1 {
		t.Errorf("got %d delayed checks after many takeovers, want 1", n)
	}
}

// awaitRows returns when the count of a query is want.
func (b *testDB) awaitRows(query string, want int) {
	b.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(testTimeout)
	for {
		var got int
		if err := b.db.QueuePool().Postgres.QueryRow(context.Background(), query).Scan(&got); err != nil {
			b.Fatalf("query %s: %v", query, err)
		}
		if got == want {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			b.Fatalf("query %s: got %d after %s, want %d", query, got, testTimeout, want)
		}
	}
}
