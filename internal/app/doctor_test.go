package app

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

func (a *testApp) doctor(draft store.Draft) sortie.Doctor {
	a.t.Helper()
	answer, err := a.app.Doctor(context.Background(), draft.Wallet, draft.ID)
	a.must(err)
	return answer
}

func (a *testApp) reject(draft store.Draft) {
	a.t.Helper()
	_, err := a.operators.Reject(context.Background(), reviewer, draft.ID, "The place is private.")
	a.must(err)
}

func (a *testApp) approve(draft store.Draft) {
	a.t.Helper()
	_, err := a.operators.Approve(context.Background(), reviewer, draft.ID, "")
	a.must(err)
}

func (a *testApp) halt() {
	a.must(a.ledger.ReportIncident(context.Background(), "test", "Stop.", true))
}

// endedLongAgo lets 40 days pass: a mission without an end takes submissions for 30. The chain
// continues.
func (a *testApp) endedLongAgo() {
	a.pass(40 * 24 * time.Hour)
	a.extend(nil)
}

// Each row of the protocol's table of states, and what can happen to a mission in it.
func TestTheDoctorKnowsEveryState(t *testing.T) {
	t.Parallel()
	const (
		ready, waiting, blocked, rejected = sortie.HealthReady, sortie.HealthWaiting, sortie.HealthBlocked, sortie.HealthRejected
		none, seen, confirmed, locked     = mission.DepthNone, mission.DepthSeen, mission.DepthConfirmed, mission.DepthLocked
	)
	type blockers = []sortie.BlockerCode
	for name, c := range map[string]struct {
		depth     mission.Depth
		then      func(*testApp, store.Draft)
		health    sortie.Health
		waitingOn sortie.Party
		blockers  blockers
		says      string
	}{
		"created": {none, nil, waiting, sortie.PartyCreator, blockers{sortie.BlockerFundingMissing}, "10 USDC"},
		"created, the newest block is old": {none, func(a *testApp, _ store.Draft) { a.pass(time.Hour) }, waiting, sortie.PartyCreator,
			blockers{sortie.BlockerFundingMissing, sortie.BlockerChainBehind}, "newest block"},
		"created while halted": {none, func(a *testApp, _ store.Draft) { a.halt() }, waiting, sortie.PartyCreator, blockers{sortie.BlockerFundingMissing}, ""},
		"seen":                 {seen, nil, waiting, sortie.PartyChain, blockers{sortie.BlockerFundingUnconfirmed}, "1 of 3 confirmations"},
		"seen, the newest block is old": {seen, func(a *testApp, _ store.Draft) { a.pass(time.Hour) }, waiting, sortie.PartyChain,
			blockers{sortie.BlockerFundingUnconfirmed, sortie.BlockerChainBehind}, ""},
		"seen, a while ago": {seen, func(a *testApp, _ store.Draft) { a.pass(staleAfter) }, waiting, sortie.PartyChain, blockers{sortie.BlockerFundingUnconfirmed}, ""},
		"in review":         {confirmed, nil, waiting, sortie.PartyOperator, blockers{sortie.BlockerReviewPending}, "waits for review"},
		"in review, locked": {locked, nil, waiting, sortie.PartyOperator, blockers{sortie.BlockerReviewPending}, ""},
		"in review, halted": {confirmed, func(a *testApp, _ store.Draft) { a.halt() }, blocked, sortie.PartyOperator,
			blockers{sortie.BlockerServiceHalted, sortie.BlockerReviewPending}, "incident"},
		"in review, reclaimed": {locked, func(a *testApp, draft store.Draft) { a.extend([]onchain.Event{closingOf(draft, 2)}) }, blocked, sortie.PartyChain,
			blockers{sortie.BlockerMissionClosed}, "took the money back"},
		"approved": {confirmed, (*testApp).approve, waiting, sortie.PartyChain, blockers{sortie.BlockerFundingNotFinal}, "not final"},
		"approved, halted": {confirmed, func(a *testApp, draft store.Draft) { a.approve(draft); a.halt() }, blocked, sortie.PartyOperator,
			blockers{sortie.BlockerServiceHalted, sortie.BlockerFundingNotFinal}, ""},
		"approved, closed": {confirmed, func(a *testApp, draft store.Draft) {
			a.approve(draft)
			a.extend([]onchain.Event{closingOf(draft, 2)})
		}, blocked, sortie.PartyNone, blockers{sortie.BlockerMissionClosed}, "not be published"},
		"published": {locked, (*testApp).approve, ready, sortie.PartyContributors, nil, "takes submissions until 2026-03-04"},
		"published, halted": {locked, func(a *testApp, draft store.Draft) { a.approve(draft); a.halt() }, blocked, sortie.PartyOperator,
			blockers{sortie.BlockerServiceHalted}, ""},
		"published, ended": {locked, func(a *testApp, draft store.Draft) { a.approve(draft); a.endedLongAgo() }, ready, sortie.PartyNone,
			blockers{sortie.BlockerMissionEnded}, "ended at 2026-03-04"},
		"published, closed": {locked, func(a *testApp, draft store.Draft) {
			a.approve(draft)
			a.extend([]onchain.Event{closingOf(draft, closedByCreator)})
		}, ready, sortie.PartyNone, blockers{sortie.BlockerMissionClosed}, "is over"},
		"rejected, unfunded": {none, (*testApp).reject, rejected, sortie.PartyNone, blockers{sortie.BlockerMissionRejected}, "The place is private."},
		"rejected, seen": {seen, (*testApp).reject, rejected, sortie.PartyChain,
			blockers{sortie.BlockerMissionRejected, sortie.BlockerFundingUnconfirmed}, "sent back once it is confirmed"},
		"rejected, funded": {confirmed, (*testApp).reject, rejected, sortie.PartyChain,
			blockers{sortie.BlockerMissionRejected, sortie.BlockerRefundPending}, "returns 10 USDC"},
		"rejected, funded, halted": {confirmed, func(a *testApp, draft store.Draft) { a.reject(draft); a.halt() }, rejected, sortie.PartyOperator,
			blockers{sortie.BlockerServiceHalted, sortie.BlockerMissionRejected, sortie.BlockerRefundPending}, ""},
		"rejected, refund mined": {confirmed, func(a *testApp, draft store.Draft) {
			a.reject(draft)
			a.extend([]onchain.Event{closingOf(draft, 1)})
		}, rejected, sortie.PartyChain, blockers{sortie.BlockerMissionRejected, sortie.BlockerRefundPending}, "returns the money"},
		"refunded": {confirmed, func(a *testApp, draft store.Draft) { a.reject(draft); a.refund(draft, false) }, rejected, sortie.PartyNone,
			blockers{sortie.BlockerMissionRejected}, "back with its creator"},
		"refund deferred": {confirmed, func(a *testApp, draft store.Draft) { a.reject(draft); a.refund(draft, true) }, rejected, sortie.PartyCreator,
			blockers{sortie.BlockerMissionRejected, sortie.BlockerRefundDeferred}, "10000000 base units"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
			draft := a.fund(alice, "k", c.depth)
			if c.then != nil {
				c.then(a, draft)
			}
			answer := a.doctor(draft)
			var codes blockers
			for _, blocker := range answer.Blockers {
				codes = append(codes, blocker.Code)
			}
			if !answer.OK || answer.Health != c.health || answer.WaitingOn != c.waitingOn || !slices.Equal(codes, c.blockers) {
				t.Errorf("got %s, waiting on %s, blockers %v (%s); want %s, %s, %v", answer.Health, answer.WaitingOn, codes, answer.Summary, c.health, c.waitingOn, c.blockers)
			}
			if text, _ := json.Marshal(answer); !strings.Contains(string(text), c.says) || strings.Contains(string(text), "null,") && c.depth != none {
				t.Errorf("got text %s, want %q in it", text, c.says)
			}
			a.checkAdvice(answer)
		})
	}
}

// The doctor of a published mission reports its progress.
func TestTheDoctorCountsSubmissions(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	draft := s.publish("k", 2, "")
	want := func(party sortie.Party, says string) {
		t.Helper()
		answer := s.doctor(draft)
		if answer.Health != sortie.HealthReady || answer.WaitingOn != party || !strings.Contains(answer.Summary, says) {
			t.Errorf("%s, waiting on %s: %s", answer.Health, answer.WaitingOn, answer.Summary)
		}
		s.checkAdvice(answer)
	}
	want(sortie.PartyContributors, "takes submissions until 2026-03-04T02:40:00.000Z: 0 of 2 submissions are accepted.")
	s.submitQuickly(bob, draft, "one")
	_, err := s.declare(contributor(1), draft, "two", photo(1))
	s.must(err)
	want(sortie.PartyContributors, "All slots of the mission are taken: 1 of 2 submissions are accepted, 1 are on their way.")
	s.pass(ReservationTime + takeInTime)
	s.due()
	s.submitQuickly(contributor(2), draft, "three")
	s.pass(testHold)
	s.due()
	s.extend(nil)
	want(sortie.PartyChain, "All submissions that the mission asks for are here: 2 of 2 submissions are accepted. 0 of 2 accepted submissions are paid, 2 on the way.")
	s.complete(draft)
	want(sortie.PartyNone, "what was left of its money went back.")
}

// checkAdvice checks the form of an answer: sentences, and an action.
func (a *testApp) checkAdvice(answer sortie.Doctor) {
	a.t.Helper()
	sentences := append([]string{answer.Summary}, answer.Actions...)
	for _, blocker := range answer.Blockers {
		sentences = append(sentences, blocker.Message)
	}
	for _, sentence := range sentences {
		if !strings.HasSuffix(sentence, ".") || !strings.Contains("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", sentence[:1]) || strings.Contains(sentence, "%!") {
			a.t.Errorf("%q is no sentence", sentence)
		}
	}
	if len(answer.Actions) == 0 || answer.Blockers == nil {
		a.t.Errorf("actions %v, blockers %v", answer.Actions, answer.Blockers)
	}
}

// refund closes a rejected mission finally.
func (a *testApp) refund(draft store.Draft, deferred bool) {
	a.t.Helper()
	closing := closingOf(draft, 1)
	closing.Closed.RefundDeferred = deferred
	a.extend([]onchain.Event{closing})
	a.finalize(a.position.Tip.Number)
	a.settle()
}

// A mission with an end may end before it is funded or decided.
func TestTheDoctorKnowsWhenItIsTooLate(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	ends := a.clock().Add(2 * time.Hour)
	body := `{"title":"Photo of the main entrance","reward":{"token":"USDC","amount":2.5},"targetCount":4,"endsAt":"` + sortie.FormatTime(ends) + `"}`
	view, _, err := a.app.CreateDraft(context.Background(), alice, "ends", []byte(body))
	a.must(err)
	draft := a.read(view.DraftID)
	a.extend(nil)
	if before := a.doctor(draft); before.Health != sortie.HealthWaiting {
		t.Errorf("before its end: %+v, want %v", before, sortie.HealthWaiting)
	}
	a.pass(2 * time.Hour)
	a.extend(nil) // the chain continues, too
	after := a.doctor(draft)
	if after.Health != sortie.HealthBlocked || after.WaitingOn != sortie.PartyCreator || after.Blockers[0].Code != sortie.BlockerMissionEnded ||
		!strings.Contains(after.Blockers[0].Message, sortie.FormatTime(ends)) {
		t.Errorf("after its end: %+v", after)
	}
	a.extend([]onchain.Event{fundingOf(draft)})
	a.bury(draft, mission.DepthConfirmed)
	if late := a.doctor(draft); late.Health != sortie.HealthBlocked || late.WaitingOn != sortie.PartyChain || late.Blockers[0].Code != sortie.BlockerMissionEnded {
		t.Errorf("funded too late: %+v", late)
	}
}

func TestTheDoctorSaysWhereTheFundingIs(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.create(alice, "k")
	if funding := a.doctor(draft).Funding; funding != (sortie.FundingDepth{Required: testConfirmations}) {
		t.Errorf("unfunded: %+v", funding)
	}
	a.extend([]onchain.Event{fundingOf(draft)}, nil)
	stored, err := a.db.FundingOf(context.Background(), draft.ID)
	a.must(err)
	funding := a.doctor(draft).Funding
	if !funding.Seen || *funding.TransactionHash != stored.Transaction || *funding.BlockNumber != stored.Block || funding.Confirmations != 2 || funding.Locked {
		t.Errorf("seen: %+v", funding)
	}
	a.bury(draft, mission.DepthLocked)
	if funding := a.doctor(draft).Funding; !funding.Locked || funding.Confirmations != 4 {
		t.Errorf("locked: %+v", funding)
	}
}

func TestMissionsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.create(alice, "k")
	ctx := context.Background()
	for _, id := range []string{draft.ID, draft.MissionID, "nothing-00000000", "draft_00000000000000000000000000", "", "\x00"} {
		_, err := a.app.Doctor(ctx, bob, id)
		wantCode(t, err, sortie.CodeNotFound)
		_, err = a.app.ConfirmFunding(ctx, bob, id)
		wantCode(t, err, sortie.CodeNotFound)
	}
	if a.wakes != 0 {
		t.Errorf("strangers woke the follower %d times, want 0", a.wakes)
	}
}

func TestConfirmFundingMakesTheFollowerLook(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.fund(alice, "k", mission.DepthSeen)
	check, err := a.app.ConfirmFunding(context.Background(), alice, draft.MissionID)
	a.must(err)
	if a.wakes != 1 || !check.OK || check.DraftID != draft.ID || check.MissionID != draft.MissionID || check.NextAction != sortie.ActionWaitForConfirmation || check.Funding.Confirmations != 1 {
		t.Errorf("woken %d times, %+v", a.wakes, check)
	}
	a.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionNone}) // a hint moves nothing
}
