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

func testBornWithTransaction(t *testing.T, b *bench) {
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
		t.Fatalf("%d jobs are left of a transaction that was rolled back", n)
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
		t.Fatalf("%d jobs after a transaction with one", seen)
	}
	work := newRecorder()
	b.run(queue, Work{Refund: work.refund})
	b.awaitEmpty()
	if done := work.all(); !slices.Equal(done, []string{"draft_kept"}) {
		t.Errorf("worked %v, want only the job of the committed transaction", done)
	}
}

func testOnce(t *testing.T, b *bench) {
	const jobs, askers = 100, 8
	queue := b.open()
	work := newRecorder()
	b.run(queue, Work{Refund: work.refund})
	if b.db.Stats().Engine == "postgres" { // another process
		other, err := Open(context.Background(), openDatabase(t, b.url), b.log)
		if err != nil {
			t.Fatal(err)
		}
		other.pace = hurry
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
		t.Errorf("%d jobs were worked %d times", jobs, len(work.all()))
	}
}

func testOneWaits(t *testing.T, b *bench) {
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
		t.Errorf("%d jobs wait, want one per draft: 3", n)
	}
}

func testAfter(t *testing.T, b *bench) {
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
	b.refund(queue, "draft_same") // two are being worked now
	await(t, begun, "the third job")
	finish()
	b.awaitEmpty()
	if n := b.count("TRUE"); n != 3 || len(begun) != 0 {
		t.Errorf("%d jobs, want 3: what is asked for during a job is done once after it", n)
	}
}

func testAgain(t *testing.T, b *bench) {
	queue := b.open()
	work := newRecorder()
	b.run(queue, Work{Refund: work.refund})
	for range 2 {
		b.refund(queue, "draft_same")
		await(t, work.more, "a refund")
		b.awaitEmpty()
	}
	if n := len(work.all()); n != 2 {
		t.Errorf("worked %d times, want 2", n)
	}
}

func testReconcile(t *testing.T, b *bench) {
	queue := b.open()
	work := newRecorder()
	stop := b.run(queue, Work{Reconcile: work.reconcile})
	await(t, work.more, "the reconcile of the start")
	b.awaitEmpty()
	b.reconcile(queue)
	await(t, work.more, "the reconcile on demand")
	b.awaitEmpty()
	stop()

	// The jobs of a start are inserted together: once this refund was worked, a reconcile would be
	// there too.
	config := b.open().config(Work{Reconcile: work.reconcile, Refund: work.refund})
	config.PeriodicJobs = append(config.PeriodicJobs, river.NewPeriodicJob(river.PeriodicInterval(time.Hour),
		func() (river.JobArgs, *river.InsertOpts) { return refundArgs{DraftID: "draft_a"}, nil }, &river.PeriodicJobOpts{RunOnStart: true}))
	b.start(func(ctx context.Context) error { return queue.engine.work(ctx, config, queue.pace) })
	await(t, work.more, "the refund of the start")
	b.awaitEmpty()
	if done := work.all(); !slices.Equal(done, []string{"reconcile", "reconcile", "draft_a"}) {
		t.Errorf("worked %v, want one reconcile for the period, however often processes start, and one that was asked for", done)
	}
}

func testOthersJobs(t *testing.T, b *bench) {
	queue := b.open()
	b.refund(queue, "draft_a")
	work := newRecorder()
	stop := b.run(queue, Work{Reconcile: work.reconcile})
	await(t, work.more, "the reconcile of the start")
	stop()
	b.run(queue, Work{})()
	if n := b.count("kind = 'refund' AND state = 'available' AND attempt = 0"); n != 1 {
		t.Errorf("%d refunds wait untouched, want 1", n)
	}
}

func testReopen(t *testing.T, b *bench) {
	b.refund(b.open(), "draft_a")
	queue := b.open()
	work := newRecorder()
	b.run(queue, Work{Refund: work.refund})
	b.awaitEmpty()
	if stats := queue.Stats(); stats.Done != 1 || stats.Failed != 0 {
		t.Errorf("Stats: %+v, want one job done", stats)
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
	want := steady.firstRetry
	for failures := range 70 {
		before := time.Now()
		next := steady.NextRetry(failed(failures))
		shortest, longest := time.Until(next), next.Sub(before)
		if longest < want || shortest > want*11/10 {
			t.Errorf("wait after %d failures: %s, want %s and up to a tenth more", failures+1, longest, want)
		}
		want = min(2*want, steady.lastRetry)
	}
}
