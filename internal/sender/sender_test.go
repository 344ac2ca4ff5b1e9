package sender_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/chaintest"
	"github.com/sortie-labs/sortie/internal/leases"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/store"
)

func TestEveryIntentIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	onBothEngines(t, 20, func(t *testing.T, r *testSender) {
		r.want(r.Missions...)
		blocks := r.drain(20)
		r.checkExactlyOnce(r.Missions, 0)
		for _, id := range r.Missions {
			intent := r.intent(id)
			if intent.Status != store.IntentDone || len(intent.Attempts) != 1 || intent.Problem != "" || intent.MinedBlock == 0 {
				t.Errorf("intent %s: got %+v, want it done", id, intent)
			}
		}
		t.Logf("%d blocks", blocks)
	})
}

// A process that was suspended and lost its lease can store neither an attempt nor an outcome.
func TestAnOldHolderWritesNothing(t *testing.T) {
	t.Parallel()
	onBothEngines(t, 3, func(t *testing.T, r *testSender) {
		r.want(r.Missions[:1]...)
		r.step()
		r.mine()
		old, oldLease := r.sender, r.lease
		r.restart() // another process has it now
		if err := old.Step(context.Background(), oldLease); !errors.Is(err, leases.ErrLost) {
			t.Errorf("store an outcome without the lease: got %v, want ErrLost", err)
		}
		if now := r.intent(r.Missions[0]); now.Status != store.IntentSent {
			t.Errorf("intent after a step without the lease: got %+v, want it unchanged", now)
		}
		r.step()
		r.want(r.Missions[1:]...)
		if err := old.Step(context.Background(), oldLease); !errors.Is(err, leases.ErrLost) {
			t.Errorf("store an attempt without the lease: got %v, want ErrLost", err)
		}
		for _, id := range r.Missions[1:] {
			if now := r.intent(id); now.Status != store.IntentQueued || len(now.Attempts) != 0 {
				t.Errorf("intent after a step without the lease: got %+v, want it queued", now)
			}
		}
		if err := old.Run(context.Background(), oldLease); !errors.Is(err, leases.ErrLost) {
			t.Errorf("run without the lease: got %v, want ErrLost", err)
		}
		r.drain(20)
		r.checkExactlyOnce(r.Missions, 0)
	})
}

// The lease is lost while its holder works: nothing is sent twice.
func TestHandOverInTheMiddle(t *testing.T) {
	t.Parallel()
	onBothEngines(t, 16, func(t *testing.T, r *testSender) {
		r.want(r.Missions...)
		lost := atomic.Int64{}
		for round := 0; len(r.intents(store.IntentQueued, store.IntentSent, store.IntentMined)) > 0; round++ {
			if round > 60 {
				t.Fatal("the intents are not done, want them done")
			}
			var group sync.WaitGroup
			work := func(sender *sender.Sender, lease store.Lease) {
				group.Go(func() {
					err := sender.Step(context.Background(), lease)
					if errors.Is(err, leases.ErrLost) {
						lost.Add(1)
					} else if err != nil {
						t.Error(err)
					}
				})
			}
			work(r.sender, r.lease)
			if round%2 == 0 {
				r.restart()
				work(r.sender, r.lease)
			}
			group.Wait()
			r.mine()
		}
		r.checkExactlyOnce(r.Missions, 0)
		t.Logf("%d steps lost the lease", lost.Load())
	})
}

func TestRunWorksUntilItIsStopped(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 2, sqliteDatabase(t))
	looked := make(chan struct{}, 100)
	r.config.Halted = func(context.Context) (bool, error) {
		looked <- struct{}{}
		return false, nil
	}
	r.restart()
	r.sender.LookEvery(time.Hour)
	r.want(r.Missions[:1]...)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.sender.Run(ctx, r.lease) }()
	<-looked
	r.want(r.Missions[1:]...)
	r.sender.Wake()
	chaintest.Await(t, func() bool { return r.intent(r.Missions[1]).Status == store.IntentSent })
	stop()
	if err := <-ended; err != nil {
		t.Errorf("run: got %v, want no error", err)
	}
	r.drain(20)
	r.checkExactlyOnce(r.Missions, 0)
}
