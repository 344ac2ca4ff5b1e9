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
func (a *testApp) ending(key string, after time.Duration) store.Draft {
	a.t.Helper()
	return a.createAs(alice, key, `{"title":"Photo of the main entrance","reward":{"token":"USDC","amount":2.5},"targetCount":4,"endsAt":"`+
		sortie.FormatTime(a.clock().Add(after))+`"}`)
}

func (a *testApp) dueByTime() {
	a.t.Helper()
	a.must(a.ledger.DueByTime(context.Background()))
}

func (a *testApp) approved(draft store.Draft) {
	a.t.Helper()
	_, err := a.operators.Approve(context.Background(), reviewer, draft.ID, "")
	a.must(err)
}

var (
	rejectedConfirmed = mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionRejected}
	rejectedLocked    = mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionRejected}
)

// An approved mission whose funding becomes final after its end lapses, and its money is refunded.
func TestAnApprovalThatPublishesTooLateLapses(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		draft := a.ending("k", 2*time.Hour)
		a.extend([]onchain.Event{fundingOf(draft)})
		a.bury(draft, mission.DepthConfirmed)
		a.approved(draft)
		a.pass(2 * time.Hour)
		a.extend(nil)
		a.finalize(a.position.Tip.Number)
		a.settle()
		a.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionApproved})
		for range 3 {
			a.dueByTime()
		}
		a.wantState(draft, rejectedConfirmed)
		if jobs := a.refundJobs(draft); jobs != 1 {
			t.Errorf("%d refund jobs, want 1", jobs)
		}
		a.wantTypes(draft, sortie.EventDraftCreated, sortie.EventFundingDetected, sortie.EventFundingConfirmed,
			sortie.EventMissionApproved, sortie.EventMissionRejected)
		review, err := a.db.ReviewOf(context.Background(), draft.ID)
		if err != nil || review.Decision != mission.DecisionRejected || review.Operator != "expiry" {
			t.Errorf("the review is %+v, %v; want a rejection by expiry", review, err)
		}
		a.settle()
		a.wantState(draft, rejectedLocked)
		_, needed, err := a.ledger.CloseCall(context.Background(), draft.ID)
		if err != nil || !needed {
			t.Errorf("the close is needed: %t, %v; want true", needed, err)
		}
	})
}

// Automatic approval does not approve after the end of a mission.
func TestNothingIsApprovedByItselfAfterTheEnd(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{autoApprove: true})
	draft := a.ending("k", 2*time.Hour)
	a.extend([]onchain.Event{fundingOf(draft)})
	a.pass(2 * time.Hour)
	a.bury(draft, mission.DepthLocked)
	a.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionNone})
	a.dueByTime()
	a.wantState(draft, rejectedLocked)
}

// A funding that is not confirmed at the end is refunded when it is.
func TestAFundingThatIsOnlySeenAtTheEndIsRefunded(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.ending("k", 2*time.Hour)
	a.extend([]onchain.Event{fundingOf(draft)})
	a.pass(2 * time.Hour)
	a.extend(nil)
	a.dueByTime()
	a.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionRejected})
	if jobs := a.refundJobs(draft); jobs != 0 {
		t.Errorf("%d refund jobs before the funding is confirmed, want 0", jobs)
	}
	a.bury(draft, mission.DepthConfirmed)
	if jobs := a.refundJobs(draft); jobs != 1 {
		t.Errorf("%d refund jobs, want 1", jobs)
	}
}

// Nothing lapses while the clock is in doubt.
func TestNothingLapsesWhileTheServiceIsHalted(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.ending("k", 2*time.Hour)
	a.extend([]onchain.Event{fundingOf(draft)})
	a.bury(draft, mission.DepthConfirmed)
	a.pass(2 * time.Hour)
	a.extend(nil)
	a.must(a.ledger.ReportIncident(context.Background(), "test", "Stop.", true))
	a.dueByTime()
	a.must(a.app.write(context.Background(), func(tx *writeTx) error { return tx.lapse(draft.ID) })) // listed before the halt
	a.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone})
	a.clearIncidents()
	a.dueByTime()
	a.wantState(draft, rejectedConfirmed)
}

// A mission that is published, or was before a reorganization removed its funding, owes its
// contributors and never lapses.
func TestAMissionThatWasPublishedNeverLapses(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		draft := a.ending("k", 2*time.Hour)
		a.extend([]onchain.Event{fundingOf(draft)})
		a.bury(draft, mission.DepthLocked)
		a.approved(draft)
		published := mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionApproved}
		elsewhere := a.step(testStart, []onchain.Event{fundingOf(draft)}) // the funding is in another block now
		elsewhere.Final, elsewhere.Head = testStart, testStart+1
		a.advance(elsewhere)
		a.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionApproved})
		a.pass(2 * time.Hour)
		a.extend(nil)
		a.clearIncidents()
		a.dueByTime()
		a.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionApproved})
		a.bury(draft, mission.DepthLocked)
		a.wantState(draft, published)
		a.dueByTime()
		if got := a.read(draft.ID).State; got != published {
			t.Errorf("after its end the mission is %+v, want %+v", got, published)
		}
	})
}

// A service clock that jumps ahead rejects nothing, because a refund cannot be undone.
func TestNothingLapsesByAClockThatJumpsAhead(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		draft := a.ending("k", 2*time.Hour)
		a.extend([]onchain.Event{fundingOf(draft)})
		a.bury(draft, mission.DepthConfirmed)
		inReview := mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone}
		a.pass(24 * time.Hour) // by the service's clock alone
		a.dueByTime()
		a.must(a.app.write(context.Background(), func(tx *writeTx) error { return tx.lapse(draft.ID) }))
		a.wantState(draft, inReview)
		if jobs := a.refundJobs(draft); jobs != 0 {
			t.Errorf("%d refund jobs by the service's clock alone, want 0", jobs)
		}
		a.extend(nil) // the chain agrees
		a.dueByTime()
		a.wantState(draft, rejectedConfirmed)
	})
}

// Nothing lapses while other clocks contradict the service's.
func TestNothingLapsesWhileTheClockIsInDoubt(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.ending("k", 2*time.Hour)
	a.extend([]onchain.Event{fundingOf(draft)})
	a.bury(draft, mission.DepthConfirmed)
	a.pass(2 * time.Hour)
	a.extend(nil)
	for i := range 2 * minSources {
		a.app.ObserveRequest(netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, byte(i), 1}), 32), a.clock().Add(-time.Hour))
	}
	if state := a.app.Clock(); !state.InDoubt {
		t.Fatalf("the clock is %+v, want it in doubt", state)
	}
	a.dueByTime()
	a.must(a.app.write(context.Background(), func(tx *writeTx) error { return tx.lapse(draft.ID) })) // listed before the doubt
	a.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone})
	a.pass(requestLife + time.Second) // what was said of the clock is too old
	a.dueByTime()
	a.wantState(draft, rejectedConfirmed)
}
