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

// childVariable makes this binary a process that begins the checks of a database and never ends
// them.
const childVariable = "SORTIE_TEST_JOBS_CHILD"

// beginForever works checks until it is killed, and says when one has begun.
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

// TestACheckOfAKilledProcessIsBegunAgainInSeconds kills a process in the middle of a check. River
// alone would wait until the check had taken longer than it may, three minutes, which is more than
// the patience of this test.
func TestACheckOfAKilledProcessIsBegunAgainInSeconds(t *testing.T) {
	t.Parallel()
	url := pgDatabase(t)
	b := &bench{T: t, url: url, db: openDatabase(t, url), log: slog.New(slog.DiscardHandler)}
	queue := b.open()
	queue.pace = steady // the times of the service
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
		t.Fatalf("the other process did not begin the check: %v", err)
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
	if got := await(t, checked, "the check that the killed process had begun"); got != "sub_a" {
		t.Errorf("checked %q, want sub_a", got)
	}
}

// TestALongJobOfALivingProcessIsLeftToIt gives a process with a long job a neighbour that looks for
// jobs of the dead.
func TestALongJobOfALivingProcessIsLeftToIt(t *testing.T) {
	t.Parallel()
	url := pgDatabase(t)
	b := &bench{T: t, url: url, db: openDatabase(t, url), log: slog.New(slog.DiscardHandler)}
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
	// Longer ago than a dead process is waited for, and not so long that River itself rescues it.
	b.exec("UPDATE river_job SET attempted_at = now() - interval '40 seconds'")
	neighbour, err := Open(context.Background(), openDatabase(t, url), b.log)
	if err != nil {
		t.Fatal(err)
	}
	neighbour.pace = hurry
	b.run(neighbour, Work{Check: check})
	for range 3 { // each time after the neighbour has looked
		b.exec("UPDATE job_workers SET seen_at = seen_at - interval '1 second'")
		b.awaitRows("SELECT COUNT(*) FROM job_workers WHERE seen_at >= clock_timestamp() - interval '1 second'", 2)
	}
	if n := b.count("state = 'running'"); n != 1 {
		t.Errorf("%d checks are running, want 1", n)
	}
	close(finish)
	b.awaitEmpty()
	if n := begins.Load(); n != 1 {
		t.Errorf("the check was begun %d times, want once", n)
	}
}

// TestAJobThatKillsItsProcessesWaitsBetweenThem abandons a job as often as a job does that kills
// each process that works it.
func TestAJobThatKillsItsProcessesWaitsBetweenThem(t *testing.T) {
	t.Parallel()
	url := pgDatabase(t)
	b := &bench{T: t, url: url, db: openDatabase(t, url), log: slog.New(slog.DiscardHandler)}
	queue := b.open()
	b.check(queue, "sub_a")
	b.killWorkers()
	b.exec(fmt.Sprintf("UPDATE river_job SET attempt = %d", quickTakeovers+1))
	b.run(queue, Work{Reconcile: newRecorder().reconcile})
	b.awaitNone("kind = 'check' AND state = 'running'")
	if n := b.count("kind = 'check' AND scheduled_at > attempted_at + interval '1 minute'"); n != 1 {
		t.Errorf("%d checks wait after many attempts that ended with their process, want 1", n)
	}
}

// awaitRows returns when a query counts so many rows.
func (b *bench) awaitRows(query string, want int) {
	b.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(patienceOfTests)
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
			b.Fatalf("%s: %d after %s, want %d", query, got, patienceOfTests, want)
		}
	}
}
