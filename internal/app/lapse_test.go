package app

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// ending makes a draft of a mission that ends after a while.
func (w *world) ending(key string, after time.Duration) store.Draft {
	w.t.Helper()
	return w.createAs(alice, key, `{"title":"Photo of the main entrance","reward":{"token":"USDC","amount":2.5},"targetCount":4,"endsAt":"`+
		sortie.FormatTime(w.clock().Add(after))+`"}`)
}

func (w *world) dueByTime() {
	w.t.Helper()
	w.must(w.ledger.DueByTime(context.Background()))
}

func (w *world) approved(draft store.Draft) {
	w.t.Helper()
	_, err := w.operators.Approve(context.Background(), reviewer, draft.ID, "")
	w.must(err)
}

var (
	rejectedConfirmed = mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionRejected}
	rejectedLocked    = mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionRejected}
)

// An approval publishes nothing when its funding becomes final after the mission's end. It lapses,
// and the money goes back.
func TestAnApprovalThatPublishesTooLateLapses(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openWorld(t, database, worldOptions{})
		draft := w.ending("k", 2*time.Hour)
		w.extend([]onchain.Event{fundingOf(draft)})
		w.bury(draft, mission.DepthConfirmed)
		w.approved(draft)
		w.pass(2 * time.Hour)
		w.extend(nil)
		w.finalize(w.position.Tip.Number)
		w.settle()
		w.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionApproved})
		for range 3 {
			w.dueByTime()
		}
		w.wantState(draft, rejectedConfirmed)
		if jobs := w.refundJobs(draft); jobs != 1 {
			t.Errorf("%d refund jobs, want 1", jobs)
		}
		w.wantTypes(draft, sortie.EventDraftCreated, sortie.EventFundingDetected, sortie.EventFundingConfirmed,
			sortie.EventMissionApproved, sortie.EventMissionRejected)
		review, err := w.db.ReviewOf(context.Background(), draft.ID)
		if err != nil || review.Decision != mission.DecisionRejected || review.Operator != "expiry" {
			t.Errorf("the review is %+v, %v; want a rejection by expiry", review, err)
		}
		w.settle()
		w.wantState(draft, rejectedLocked)
		_, needed, err := w.ledger.CloseCall(context.Background(), draft.ID)
		if err != nil || !needed {
			t.Errorf("the close is needed: %t, %v; want true", needed, err)
		}
	})
}

// What is approved as soon as it is confirmed is not approved after its end either.
func TestNothingIsApprovedByItselfAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{autoApprove: true})
	draft := w.ending("k", 2*time.Hour)
	w.extend([]onchain.Event{fundingOf(draft)})
	w.pass(2 * time.Hour)
	w.bury(draft, mission.DepthLocked)
	w.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionNone})
	w.dueByTime()
	w.wantState(draft, rejectedLocked)
}

// A funding that is not confirmed at the end is refunded when it is.
func TestAFundingThatIsOnlySeenAtTheEndIsRefunded(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	draft := w.ending("k", 2*time.Hour)
	w.extend([]onchain.Event{fundingOf(draft)})
	w.pass(2 * time.Hour)
	w.extend(nil)
	w.dueByTime()
	w.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionRejected})
	if jobs := w.refundJobs(draft); jobs != 0 {
		t.Errorf("%d refund jobs before the funding is confirmed, want 0", jobs)
	}
	w.bury(draft, mission.DepthConfirmed)
	if jobs := w.refundJobs(draft); jobs != 1 {
		t.Errorf("%d refund jobs, want 1", jobs)
	}
}

// While an incident halts the service nothing lapses. Afterwards it does.
func TestNothingLapsesWhileTheServiceIsHalted(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	draft := w.ending("k", 2*time.Hour)
	w.extend([]onchain.Event{fundingOf(draft)})
	w.bury(draft, mission.DepthConfirmed)
	w.pass(2 * time.Hour)
	w.extend(nil)
	w.must(w.ledger.ReportIncident(context.Background(), "test", "Stop.", true))
	w.dueByTime()
	w.must(w.app.write(context.Background(), func(books *books) error { return books.lapse(draft.ID) })) // listed before the halt
	w.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone})
	w.clearIncidents()
	w.dueByTime()
	w.wantState(draft, rejectedConfirmed)
}

// A mission that is published, or was before a reorganization took its funding, owes its
// contributors and never lapses.
func TestAMissionThatWasPublishedNeverLapses(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openWorld(t, database, worldOptions{})
		draft := w.ending("k", 2*time.Hour)
		w.extend([]onchain.Event{fundingOf(draft)})
		w.bury(draft, mission.DepthLocked)
		w.approved(draft)
		published := mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionApproved}
		elsewhere := w.step(testStart, []onchain.Event{fundingOf(draft)}) // the funding is in another block now
		elsewhere.Final, elsewhere.Head = testStart, testStart+1
		w.advance(elsewhere)
		w.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionApproved})
		w.pass(2 * time.Hour)
		w.extend(nil)
		w.clearIncidents()
		w.dueByTime()
		w.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionApproved})
		w.bury(draft, mission.DepthLocked)
		w.wantState(draft, published)
		w.dueByTime()
		if got := w.read(draft.ID).State; got != published {
			t.Errorf("after its end the mission is %+v, want %+v", got, published)
		}
	})
}

// A service clock that jumps ahead rejects nothing: a rejection sends the money back, and no
// correction of the clock undoes that.
func TestNothingLapsesByAClockThatJumpsAhead(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openWorld(t, database, worldOptions{})
		draft := w.ending("k", 2*time.Hour)
		w.extend([]onchain.Event{fundingOf(draft)})
		w.bury(draft, mission.DepthConfirmed)
		inReview := mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone}
		w.pass(24 * time.Hour) // by the service's clock alone
		w.dueByTime()
		w.must(w.app.write(context.Background(), func(books *books) error { return books.lapse(draft.ID) }))
		w.wantState(draft, inReview)
		if jobs := w.refundJobs(draft); jobs != 0 {
			t.Errorf("%d refund jobs by the service's clock alone, want 0", jobs)
		}
		w.extend(nil) // the chain agrees
		w.dueByTime()
		w.wantState(draft, rejectedConfirmed)
	})
}

// Nothing lapses while other clocks contradict the service's.
func TestNothingLapsesWhileTheClockIsInDoubt(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	draft := w.ending("k", 2*time.Hour)
	w.extend([]onchain.Event{fundingOf(draft)})
	w.bury(draft, mission.DepthConfirmed)
	w.pass(2 * time.Hour)
	w.extend(nil)
	for i := range 2 * minSources {
		w.app.ObserveRequest(netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, byte(i), 1}), 32), w.clock().Add(-time.Hour))
	}
	if state := w.app.Clock(); !state.InDoubt {
		t.Fatalf("the clock is %+v, want it in doubt", state)
	}
	w.dueByTime()
	w.must(w.app.write(context.Background(), func(books *books) error { return books.lapse(draft.ID) })) // listed before the doubt
	w.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone})
	w.pass(requestLife + time.Second) // what was said of the clock is too old
	w.dueByTime()
	w.wantState(draft, rejectedConfirmed)
}
