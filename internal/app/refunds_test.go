package app

import (
	"context"
	"errors"
	"math/big"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

func (w *world) intents() []store.Intent {
	w.t.Helper()
	intents, err := w.db.Intents(context.Background(), testChain, gasPayer, store.IntentQueued, store.IntentSent, store.IntentMined, store.IntentDone, store.IntentVoid)
	w.must(err)
	return intents
}

// rejected is a draft whose refund is due.
func (w *world) rejected(key string) store.Draft {
	w.t.Helper()
	draft := w.fund(alice, key, mission.DepthConfirmed)
	_, err := w.operators.Reject(context.Background(), reviewer, draft.ID, "No.")
	w.must(err)
	return w.read(draft.ID)
}

func TestARefundIsIntendedOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openWorld(t, database, worldOptions{})
		draft := w.rejected("k")
		for range 3 {
			w.must(w.ledger.StartRefund(context.Background(), draft.ID))
		}
		intents := w.intents()
		if len(intents) != 1 || intents[0].Kind != IntentClose || intents[0].Subject != draft.ID || intents[0].Status != store.IntentQueued {
			t.Fatalf("the intents are %+v", intents)
		}
		call, needed, err := w.ledger.CloseCall(context.Background(), draft.ID)
		want := CloseCall{Domain: sortie.Domain{ChainID: testChain, Factory: factory}, MissionKey: sortie.MissionKey(draft.MissionID), Token: usdc, Refund: call.Refund}
		whole := new(big.Int).Mul(draft.Reward, big.NewInt(int64(draft.TargetCount)))
		if err != nil || !needed || call != want || call.Refund.Cmp(whole) != 0 {
			t.Errorf("the close is %+v, needed: %t, %v; want %+v that sends %s back", call, needed, err, want, whole)
		}
	})
}

// By the time its job runs, a refund may have become unnecessary.
func TestARefundThatIsNotDue(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(*world, store.Draft){
		"funding gone": func(w *world, _ store.Draft) { w.advance(w.step(testStart, nil)) },
		"closed":       func(w *world, draft store.Draft) { w.extend([]onchain.Event{closingOf(draft, 1)}) },
		"refunded": func(w *world, draft store.Draft) {
			w.extend([]onchain.Event{closingOf(draft, 1)})
			w.finalize(w.position.Tip.Number)
			w.settle()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := openWorld(t, sqliteDatabase(t), worldOptions{})
			draft := w.rejected("k")
			meanwhile(w, draft)
			w.must(w.ledger.StartRefund(context.Background(), draft.ID))
			if intents := w.intents(); len(intents) != 0 {
				t.Errorf("the intents are %+v", intents)
			}
			if _, needed, err := w.ledger.CloseCall(context.Background(), draft.ID); needed || err != nil {
				t.Errorf("needed is %t, %v", needed, err)
			}
		})
	}
	w := openWorld(t, sqliteDatabase(t), worldOptions{autoApprove: true})
	published := w.fund(alice, "published", mission.DepthLocked)
	w.must(w.ledger.StartRefund(context.Background(), published.ID))
	if _, needed, err := w.ledger.CloseCall(context.Background(), published.ID); needed || err != nil || len(w.intents()) != 0 {
		t.Errorf("a published mission: needed is %t, %v, intents %v", needed, err, w.intents())
	}
	if err := w.ledger.StartRefund(context.Background(), "draft_00000000000000000000000000"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown draft: %v", err)
	}
}

// A close that vanishes in a reorganization is due again; one that is in the new chain, too, is
// not.
func TestARefundThatVanishesIsDueAgain(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	draft := w.rejected("k")
	w.extend([]onchain.Event{closingOf(draft, 1)})
	before := w.position.Tip.Number - 1
	w.advance(w.step(before, nil, []onchain.Event{closingOf(draft, 1)}))
	if jobs := w.refundJobs(draft); jobs != 1 {
		t.Errorf("%d jobs after the close moved to another block", jobs)
	}
	w.advance(w.step(before, nil))
	if jobs := w.refundJobs(draft); jobs != 2 {
		t.Errorf("%d jobs after the close vanished", jobs)
	}
}

func TestLostRefundsAreRetried(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openWorld(t, database, worldOptions{})
		ctx := context.Background()
		w.fund(alice, "in review", mission.DepthConfirmed)
		lost, underWay, void := w.rejected("lost"), w.rejected("under way"), w.rejected("void")
		for _, draft := range []store.Draft{underWay, void} {
			w.must(w.ledger.StartRefund(ctx, draft.ID))
		}
		intent, err := w.db.IntentOf(ctx, IntentClose, void.ID)
		w.must(err)
		gone := intent
		gone.Status = store.IntentVoid
		w.must(w.db.Tx(ctx, func(tx *store.Tx) error { return tx.MoveIntent(intent, gone) }))
		queued, err := w.ledger.RetryRefunds(ctx)
		if err != nil || queued != 2 {
			t.Errorf("%d queued, %v", queued, err)
		}
		for draft, want := range map[*store.Draft]int{&lost: 2, &underWay: 1, &void: 2} {
			if jobs := w.refundJobs(*draft); jobs != want {
				t.Errorf("%s: %d jobs, want %d", draft.IdempotencyKey, jobs, want)
			}
		}
	})
}
