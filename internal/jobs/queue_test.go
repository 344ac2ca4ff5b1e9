package jobs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/sortie-labs/sortie/internal/store"
)

var errRefused = errors.New("refused")

func testBornWithTransaction(t *testing.T, b *testDB) {
	queue := b.open()
	err := b.db.Tx(context.Background(), func(tx *store.Tx) error {
		if err := queue.Refund(tx, "draft_refused"); err != nil {
			return err
		}
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		t.Fatalf("Tx: %v", err)
	}
	if n := b.count("TRUE"); n != 0 {
		t.Fatalf("got %d jobs after a rollback, want 0", n)
	}
	seen := 0
	err = b.db.Tx(context.Background(), func(tx *store.Tx) error {
		if _, err := tx.Setting("with", []byte("the job")); err != nil {
			return err
		}
		return queue.Refund(tx, "draft_kept")
	})
	if err != nil {
		t.Fatalf("Tx: %v", err)
	}
	if seen = b.count("kind = 'refund' AND state = 'available'"); seen != 1 {
		t.Fatalf("got %d jobs after a commit, want 1", seen)
	}
	work := newRecorder()
	b.run(queue, Work{Refund: work.refund})
	b.awaitEmpty()
	if done := work.all(); !slices.Equal(done, []string{"draft_kept"}) {
		t.Errorf("got jobs %v, want only the job of the committed transaction", done)
	}
}

func testOnce(t *testing.T, b *testDB) {
	const jobs, askers = 100, 8
	queue := b.open()
	work := newRecorder()
	b.run(queue, Work{Refund: work.refund})
	if b.db.Stats().Engine == "postgres" { // another process
		other, err := Open(context.Background(), openDatabase(t, b.url), b.log)
		if err != nil {
			t.Fatal(err)
		}
		other.timing = testTiming
		b.run(other, Work{Refund: work.refund})
	}
	var group sync.WaitGroup
	for asker := range askers {
		group.Go(func() {
			for i := asker; i < jobs; i += askers {
				if err := b.db.Tx(context.Background(), func(tx *store.Tx) error { return queue.Refund(tx, draftID(i)) }); err != nil {
					t.Errorf("Refund: %v", err)
				}
			}
		})
	}
	group.Wait()
	b.awaitEmpty()
	done := work.all()
	slices.Sort(done)
	if len(done) != jobs || len(slices.Compact(done)) != jobs {
		t.Errorf("got %d runs of jobs, want %d", len(work.all()), jobs)
	}
}

func testOneWaits(t *testing.T, b *testDB) {
	queue := b.open()
	for range 3 {
		b.refund(queue, "draft_same")
	}
	b.refund(queue, "draft_other")
	err := b.db.Tx(context.Background(), func(tx *store.Tx) error {
		return errors.Join(queue.Refund(tx, "draft_twice"), queue.Refund(tx, "draft_twice"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := b.count("TRUE"); n != 3 {
		t.Errorf("got %d waiting jobs, want 3, one per draft", n)
	}
}

func testAfter(t *testing.T, b *testDB) {
	queue := b.open()
	begun, finished := make(chan struct{}, 8), make(chan struct{})
	finish := sync.OnceFunc(func() { close(finished) })
	b.run(queue, Work{Refund: func(context.Context, string) error {
		begun <- struct{}{}
		<-finished
		return nil
	}})
	t.Cleanup(finish) // before the stop, which waits for jobs
	b.refund(queue, "draft_same")
	await(t, begun, "the first job")
	err := b.db.Tx(context.Background(), func(tx *store.Tx) error {
		return errors.Join(queue.Refund(tx, "draft_same"), queue.Refund(tx, "draft_same"), queue.Refund(tx, "draft_same"))
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, begun, "the second job")
	b.refund(queue, "draft_same") // two are running now
	await(t, begun, "the third job")
	finish()
	b.awaitEmpty()
	if n := b.count("TRUE"); n != 3 || len(begun) != 0 {
		t.Errorf("got %d jobs, want 3: requests during a job are served by one job after it", n)
	}
}

func testAgain(t *testing.T, b *testDB) {
	queue := b.open()
	work := newRecorder()
	b.run(queue, Work{Refund: work.refund})
	for range 2 {
		b.refund(queue, "draft_same")
		await(t, work.more, "a refund")
		b.awaitEmpty()
	}
	if n := len(work.all()); n != 2 {
		t.Errorf("got %d runs, want 2", n)
	}
}

func testReconcile(t *testing.T, b *testDB) {
	queue := b.open()
	work := newRecorder()
	stop := b.run(queue, Work{Reconcile: work.reconcile})
	await(t, work.more, "the reconcile at the start")
	b.awaitEmpty()
	b.reconcile(queue)
	await(t, work.more, "the reconcile on demand")
	b.awaitEmpty()
	stop()

	// Both jobs are inserted together at the start: when this refund has run, a second reconcile
	// would be there too.
	config := b.open().config(Work{Reconcile: work.reconcile, Refund: work.refund})
	config.PeriodicJobs = append(config.PeriodicJobs, river.NewPeriodicJob(river.PeriodicInterval(time.Hour),
		func() (river.JobArgs, *river.InsertOpts) { return refundArgs{DraftID: "draft_a"}, nil }, &river.PeriodicJobOpts{RunOnStart: true}))
	b.start(func(ctx context.Context) error { return queue.engine.work(ctx, config, queue.timing) })
	await(t, work.more, "the refund at the start")
	b.awaitEmpty()
	if done := work.all(); !slices.Equal(done, []string{"reconcile", "reconcile", "draft_a"}) {
		t.Errorf("got jobs %v, want one reconcile for the period, one on demand, and the refund", done)
	}
}

func testOthersJobs(t *testing.T, b *testDB) {
	queue := b.open()
	b.refund(queue, "draft_a")
	work := newRecorder()
	stop := b.run(queue, Work{Reconcile: work.reconcile})
	await(t, work.more, "the reconcile at the start")
	stop()
	b.run(queue, Work{})()
	if n := b.count("kind = 'refund' AND state = 'available' AND attempt = 0"); n != 1 {
		t.Errorf("got %d waiting refunds without an attempt, want 1", n)
	}
}

func testReopen(t *testing.T, b *testDB) {
	b.refund(b.open(), "draft_a")
	queue := b.open()
	work := newRecorder()
	b.run(queue, Work{Refund: work.refund})
	b.awaitEmpty()
	if stats := queue.Stats(); stats.Done != 1 || stats.Failed != 0 {
		t.Errorf("Stats: got %+v, want one job done", stats)
	}
}

func TestOpenTogether(t *testing.T) {
	t.Parallel()
	url := pgDatabase(t)
	const processes = 4
	errs := make(chan error, processes)
	for range processes {
		db := openDatabase(t, url)
		go func() {
			_, err := Open(context.Background(), db, nil)
			errs <- err
		}()
	}
	for range processes {
		if err := <-errs; err != nil {
			t.Errorf("Open: %v", err)
		}
	}
}

func TestWaitsGrow(t *testing.T) {
	t.Parallel()
	want := defaultTiming.firstRetry
	for failures := range 70 {
		before := time.Now()
		next := defaultTiming.NextRetry(failed(failures))
		shortest, longest := time.Until(next), next.Sub(before)
		if longest < want || shortest > want*11/10 {
			t.Errorf("delay after %d failures: got %s, want %s and up to a tenth more", failures+1, longest, want)
		}
		want = min(2*want, defaultTiming.lastRetry)
	}
}
