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

func (a *testApp) intents() []store.Intent {
	a.t.Helper()
	intents, err := a.db.Intents(context.Background(), testChain, gasPayer, store.IntentQueued, store.IntentSent, store.IntentMined, store.IntentDone, store.IntentVoid)
	a.must(err)
	return intents
}

// rejected is a draft whose refund is due.
func (a *testApp) rejected(key string) store.Draft {
	a.t.Helper()
	draft := a.fund(alice, key, mission.DepthConfirmed)
	_, err := a.operators.Reject(context.Background(), reviewer, draft.ID, "No.")
	a.must(err)
	return a.read(draft.ID)
}

func TestARefundIsIntendedOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		draft := a.rejected("k")
		for range 3 {
			a.must(a.ledger.StartRefund(context.Background(), draft.ID))
		}
		intents := a.intents()
		if len(intents) != 1 || intents[0].Kind != IntentClose || intents[0].Subject != draft.ID || intents[0].Status != store.IntentQueued {
			t.Fatalf("the intents are %+v", intents)
		}
		call, needed, err := a.ledger.CloseCall(context.Background(), draft.ID)
		want := CloseCall{Domain: sortie.Domain{ChainID: testChain, Factory: factory}, MissionKey: sortie.MissionKey(draft.MissionID), Token: usdc, Refund: call.Refund}
		whole := new(big.Int).Mul(draft.Reward, big.NewInt(int64(draft.TargetCount)))
		if err != nil || !needed || call != want || call.Refund.Cmp(whole) != 0 {
			t.Errorf("the close is %+v, needed: %t, %v; want %+v that sends %s back", call, needed, err, want, whole)
		}
	})
}

// A refund may be unnecessary when its job runs.
func TestARefundThatIsNotDue(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(*testApp, store.Draft){
		"funding gone": func(a *testApp, _ store.Draft) { a.advance(a.step(testStart, nil)) },
		"closed":       func(a *testApp, draft store.Draft) { a.extend([]onchain.Event{closingOf(draft, 1)}) },
		"refunded": func(a *testApp, draft store.Draft) {
			a.extend([]onchain.Event{closingOf(draft, 1)})
			a.finalize(a.position.Tip.Number)
			a.settle()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
			draft := a.rejected("k")
			meanwhile(a, draft)
			a.must(a.ledger.StartRefund(context.Background(), draft.ID))
			if intents := a.intents(); len(intents) != 0 {
				t.Errorf("the intents are %+v, want 0", intents)
			}
			if _, needed, err := a.ledger.CloseCall(context.Background(), draft.ID); needed || err != nil {
				t.Errorf("needed is %t, %v", needed, err)
			}
		})
	}
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{autoApprove: true})
	published := a.fund(alice, "published", mission.DepthLocked)
	a.must(a.ledger.StartRefund(context.Background(), published.ID))
	if _, needed, err := a.ledger.CloseCall(context.Background(), published.ID); needed || err != nil || len(a.intents()) != 0 {
		t.Errorf("a published mission: needed is %t, %v, intents %v", needed, err, a.intents())
	}
	if err := a.ledger.StartRefund(context.Background(), "draft_00000000000000000000000000"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown draft: %v", err)
	}
}

// A refund is due again when a reorganization removes its closing, unless the new chain has the
// closing, too.
func TestARefundThatVanishesIsDueAgain(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.rejected("k")
	a.extend([]onchain.Event{closingOf(draft, 1)})
	before := a.position.Tip.Number - 1
	a.advance(a.step(before, nil, []onchain.Event{closingOf(draft, 1)}))
	if jobs := a.refundJobs(draft); jobs != 1 {
		t.Errorf("%d jobs after the close moved to another block, want 1", jobs)
	}
	a.advance(a.step(before, nil))
	if jobs := a.refundJobs(draft); jobs != 2 {
		t.Errorf("%d jobs after the close vanished, want 2", jobs)
	}
}

func TestLostRefundsAreRetried(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		ctx := context.Background()
		a.fund(alice, "in review", mission.DepthConfirmed)
		lost, underWay, void := a.rejected("lost"), a.rejected("under way"), a.rejected("void")
		for _, draft := range []store.Draft{underWay, void} {
			a.must(a.ledger.StartRefund(ctx, draft.ID))
		}
		intent, err := a.db.IntentOf(ctx, IntentClose, void.ID)
		a.must(err)
		gone := intent
		gone.Status = store.IntentVoid
		a.must(a.db.Tx(ctx, func(tx *store.Tx) error { return tx.MoveIntent(intent, gone) }))
		queued, err := a.ledger.RetryRefunds(ctx)
		if err != nil || queued != 2 {
			t.Errorf("%d queued, %v, want 2", queued, err)
		}
		for draft, want := range map[*store.Draft]int{&lost: 2, &underWay: 1, &void: 2} {
			if jobs := a.refundJobs(*draft); jobs != want {
				t.Errorf("%s: %d jobs, want %d", draft.IdempotencyKey, jobs, want)
			}
		}
	})
}
