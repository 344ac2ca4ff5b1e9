package leases_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/leases"
	"github.com/sortie-labs/sortie/internal/pgtest"
	"github.com/sortie-labs/sortie/internal/store"
)

// leaseTTL is measured with the test's clock. The store has a third of it in real time.
const leaseTTL = 24 * time.Hour

// holders share a database and the test's clock. The clock moves only while a holder waits.
type holders struct {
	t     *testing.T
	clock *clock
	db    *store.DB
}

func leasesOnBothEngines(t *testing.T, test func(t *testing.T, h *holders)) {
	t.Helper()
	for name, database := range map[string]func(testing.TB) string{"SQLite": sqliteDatabase, "PostgreSQL": pgtest.Database} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &holders{t: t, clock: &clock{time: time.Now()}}
			var err error
			if h.db, err = store.Open(t.Context(), database(t), store.Options{Clock: h.clock.now, Logger: quiet}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = h.db.Close() })
			test(t, h)
		})
	}
}

// process is a holder with work that runs until it is stopped.
type process struct {
	holder leases.Holder
	timer  chan chan time.Time // one for each wait
	begun  chan store.Lease
	stop   context.CancelFunc
	ended  chan error
	cause  chan error // why work had to end
}

func (h *holders) start(id string, leaseStore leases.Store) *process {
	p := &process{timer: make(chan chan time.Time, 100), begun: make(chan store.Lease, 10), ended: make(chan error, 1), cause: make(chan error, 10)}
	after := func(time.Duration) <-chan time.Time {
		fire := make(chan time.Time, 1)
		p.timer <- fire
		return fire
	}
	p.holder = leases.Holder{Leases: leaseStore, Name: "work", ID: id, TTL: leaseTTL, Logger: quiet}.WithTime(h.clock.now, after)
	ctx, stop := context.WithCancel(h.t.Context())
	p.stop = stop
	go func() {
		p.ended <- p.holder.Run(ctx, func(ctx context.Context, lease store.Lease) error {
			p.begun <- lease
			<-ctx.Done()
			p.cause <- context.Cause(ctx)
			return ctx.Err()
		})
	}()
	h.t.Cleanup(func() {
		stop()
		<-p.ended
	})
	return p
}

// tick ends the process's next wait, a third of the TTL later.
func (h *holders) tick(p *process) {
	fire := <-p.timer
	h.clock.advance(leaseTTL / 3)
	fire <- h.clock.now()
}

// waits returns when the process waits again, after the work of the last tick.
func (p *process) waits() {
	fire := <-p.timer
	p.timer <- fire
}

func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop()
	if err := <-p.ended; err != nil {
		t.Errorf("run of a stopped holder: got %v, want no error", err)
	}
	p.ended <- nil // for the clean-up
}

func TestALeaseIsHeldAndHandedOver(t *testing.T) {
	t.Parallel()
	leasesOnBothEngines(t, func(t *testing.T, h *holders) {
		first := h.start("first", h.db)
		lease := <-first.begun
		second := h.start("second", h.db)
		for range 10 { // more than three lifetimes
			h.tick(first)
			first.waits()
			h.tick(second)
			second.waits()
		}
		if len(second.begun) > 0 {
			t.Fatal("two processes hold the lease, want one")
		}
		first.end(t)
		h.tick(second) // no need to wait for the end of the lease
		if next := <-second.begun; next.Epoch <= lease.Epoch {
			t.Errorf("got epoch %d after %d, want a higher one", next.Epoch, lease.Epoch)
		}
	})
}

// flaky is a store whose renewals fail while it is down.
type flaky struct {
	*store.DB
	down atomic.Bool
}

func (f *flaky) RenewLease(ctx context.Context, lease store.Lease, ttl time.Duration) (store.Lease, error) {
	if f.down.Load() {
		return store.Lease{}, store.ErrUnavailable
	}
	return f.DB.RenewLease(ctx, lease, ttl)
}

func (f *flaky) ReleaseLease(ctx context.Context, lease store.Lease) error {
	if f.down.Load() {
		return store.ErrUnavailable
	}
	return f.DB.ReleaseLease(ctx, lease)
}

func TestWorkEndsBeforeALeaseThatCannotBeRenewed(t *testing.T) {
	t.Parallel()
	leasesOnBothEngines(t, func(t *testing.T, h *holders) {
		flakyLeases := &flaky{DB: h.db}
		first := h.start("first", flakyLeases)
		lease := <-first.begun
		h.tick(first)
		first.waits()
		flakyLeases.down.Store(true)
		renewed := h.clock.now()
		h.tick(first) // a single failure ends nothing
		first.waits()
		if len(first.cause) > 0 {
			t.Fatal("work ended after one failed renewal, want it to continue")
		}
		h.tick(first)
		if cause := <-first.cause; !errors.Is(cause, leases.ErrLost) {
			t.Errorf("cause of the end of work: got %v, want ErrLost", cause)
		}
		if passed := h.clock.now().Sub(renewed); passed >= leaseTTL {
			t.Errorf("work ended %s after the last renewal, want it before the TTL of %s", passed, leaseTTL)
		}
		first.waits() // it could not release the lease
		flakyLeases.down.Store(false)
		h.tick(first)
		if again := <-first.begun; again.Epoch != lease.Epoch {
			t.Errorf("acquire again after the store was down: got epoch %d, want %d", again.Epoch, lease.Epoch)
		}
	})
}

// The clock of the other process may run ahead: here the lease is not over yet.
func TestALeaseTakenTooEarlyEndsTheWork(t *testing.T) {
	t.Parallel()
	leasesOnBothEngines(t, func(t *testing.T, h *holders) {
		first := h.start("first", h.db)
		old := <-first.begun
		first.waits()
		if err := h.db.ReleaseLease(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		if _, err := h.db.AcquireLease(t.Context(), old.Name, "second", leaseTTL); err != nil {
			t.Fatal(err)
		}
		h.tick(first)
		if cause := <-first.cause; !errors.Is(cause, leases.ErrLost) {
			t.Errorf("cause of the end of work: got %v, want ErrLost", cause)
		}
	})
}

func TestALeaseThatWasTakenEndsTheWork(t *testing.T) {
	t.Parallel()
	leasesOnBothEngines(t, func(t *testing.T, h *holders) {
		first := h.start("first", h.db)
		old := <-first.begun
		first.waits()
		h.clock.advance(2 * leaseTTL) // the process was suspended
		second := h.start("second", h.db)
		<-second.begun
		err := h.db.Tx(t.Context(), func(tx *store.Tx) error { return tx.CheckLease(old) })
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("write of the old holder: got %v, want ErrConflict", err)
		}
		h.tick(first)
		if cause := <-first.cause; !errors.Is(cause, leases.ErrLost) {
			t.Errorf("cause of the end of work: got %v, want ErrLost", cause)
		}
		if len(second.cause) > 0 {
			t.Error("the old holder released the new one's lease, want it held")
		}
	})
}

func TestWorkThatFailsGivesTheLeaseBack(t *testing.T) {
	t.Parallel()
	leasesOnBothEngines(t, func(t *testing.T, h *holders) {
		broken := errors.New("broken")
		err := leases.Run(t.Context(), h.db, "work", "first", leaseTTL, func(context.Context, store.Lease) error { return broken })
		if !errors.Is(err, broken) {
			t.Errorf("run: got %v, want no error", err)
		}
		if _, err := h.db.AcquireLease(t.Context(), "work", "second", leaseTTL); err != nil {
			t.Errorf("acquire after the release: got %v, want no error", err)
		}
	})
}

// At most one of many holders works at a time.
func TestOneWorksAtATime(t *testing.T) {
	t.Parallel()
	leasesOnBothEngines(t, func(t *testing.T, h *holders) {
		const processes, turns = 4, 5
		var working, worked atomic.Int64
		var group sync.WaitGroup
		for i := range processes {
			group.Go(func() {
				for range turns {
					holder := leases.Holder{Leases: h.db, Name: "work", ID: string(rune('a' + i)), TTL: leaseTTL, Logger: quiet}.
						WithTime(h.clock.now, func(time.Duration) <-chan time.Time { return time.After(time.Millisecond) })
					err := holder.Run(t.Context(), func(context.Context, store.Lease) error {
						if working.Add(1) != 1 {
							t.Error("two processes work at once, want one")
						}
						worked.Add(1)
						working.Add(-1)
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if worked.Load() != processes*turns {
			t.Errorf("%d turns, want %d", worked.Load(), processes*turns)
		}
	})
}

var quiet = slog.New(slog.DiscardHandler)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func sqliteDatabase(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "sortie.db") }

// clock is the test's clock.
type clock struct {
	mutex sync.Mutex
	time  time.Time
}

func (c *clock) now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.time
}

func (c *clock) advance(by time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.time = c.time.Add(by)
}
