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

func (w *world) doctor(draft store.Draft) sortie.Doctor {
	w.t.Helper()
	answer, err := w.app.Doctor(context.Background(), draft.Wallet, draft.ID)
	w.must(err)
	return answer
}

func (w *world) reject(draft store.Draft) {
	w.t.Helper()
	_, err := w.operators.Reject(context.Background(), reviewer, draft.ID, "The place is private.")
	w.must(err)
}

func (w *world) approve(draft store.Draft) {
	w.t.Helper()
	_, err := w.operators.Approve(context.Background(), reviewer, draft.ID, "")
	w.must(err)
}

func (w *world) halt() { w.must(w.ledger.ReportIncident(context.Background(), "test", "Stop.", true)) }

// endedLongAgo lets 40 days pass: a mission without an end of its own takes submissions for 30. The
// chain goes on.
func (w *world) endedLongAgo() {
	w.pass(40 * 24 * time.Hour)
	w.extend(nil)
}

// Each row of the protocol's table of states, and what may befall a mission in it.
func TestTheDoctorKnowsEveryState(t *testing.T) {
	t.Parallel()
	const (
		ready, waiting, blocked, rejected = sortie.HealthReady, sortie.HealthWaiting, sortie.HealthBlocked, sortie.HealthRejected
		none, seen, confirmed, locked     = mission.DepthNone, mission.DepthSeen, mission.DepthConfirmed, mission.DepthLocked
	)
	type blockers = []sortie.BlockerCode
	for name, c := range map[string]struct {
		depth     mission.Depth
		then      func(*world, store.Draft)
		health    sortie.Health
		waitingOn sortie.Party
		blockers  blockers
		says      string
	}{
		"created": {none, nil, waiting, sortie.PartyCreator, blockers{sortie.BlockerFundingMissing}, "10 USDC"},
		"created, the service is behind": {none, func(w *world, _ store.Draft) { w.pass(time.Hour) }, waiting, sortie.PartyCreator,
			blockers{sortie.BlockerFundingMissing, sortie.BlockerChainBehind}, "newest block"},
		"created while halted": {none, func(w *world, _ store.Draft) { w.halt() }, waiting, sortie.PartyCreator, blockers{sortie.BlockerFundingMissing}, ""},
		"seen":                 {seen, nil, waiting, sortie.PartyChain, blockers{sortie.BlockerFundingUnconfirmed}, "1 of 3 confirmations"},
		"seen, behind": {seen, func(w *world, _ store.Draft) { w.pass(time.Hour) }, waiting, sortie.PartyChain,
			blockers{sortie.BlockerFundingUnconfirmed, sortie.BlockerChainBehind}, ""},
		"seen, a while ago": {seen, func(w *world, _ store.Draft) { w.pass(staleAfter) }, waiting, sortie.PartyChain, blockers{sortie.BlockerFundingUnconfirmed}, ""},
		"in review":         {confirmed, nil, waiting, sortie.PartyOperator, blockers{sortie.BlockerReviewPending}, "waits for review"},
		"in review, locked": {locked, nil, waiting, sortie.PartyOperator, blockers{sortie.BlockerReviewPending}, ""},
		"in review, halted": {confirmed, func(w *world, _ store.Draft) { w.halt() }, blocked, sortie.PartyOperator,
			blockers{sortie.BlockerServiceHalted, sortie.BlockerReviewPending}, "incident"},
		"in review, reclaimed": {locked, func(w *world, draft store.Draft) { w.extend([]onchain.Event{closingOf(draft, 2)}) }, blocked, sortie.PartyChain,
			blockers{sortie.BlockerMissionClosed}, "took the money back"},
		"approved": {confirmed, (*world).approve, waiting, sortie.PartyChain, blockers{sortie.BlockerFundingNotFinal}, "not final"},
		"approved, halted": {confirmed, func(w *world, draft store.Draft) { w.approve(draft); w.halt() }, blocked, sortie.PartyOperator,
			blockers{sortie.BlockerServiceHalted, sortie.BlockerFundingNotFinal}, ""},
		"approved, closed": {confirmed, func(w *world, draft store.Draft) {
			w.approve(draft)
			w.extend([]onchain.Event{closingOf(draft, 2)})
		}, blocked, sortie.PartyNone, blockers{sortie.BlockerMissionClosed}, "not be published"},
		"published": {locked, (*world).approve, ready, sortie.PartyContributors, nil, "takes submissions until 2026-03-04"},
		"published, halted": {locked, func(w *world, draft store.Draft) { w.approve(draft); w.halt() }, blocked, sortie.PartyOperator,
			blockers{sortie.BlockerServiceHalted}, ""},
		"published, ended": {locked, func(w *world, draft store.Draft) { w.approve(draft); w.endedLongAgo() }, ready, sortie.PartyNone,
			blockers{sortie.BlockerMissionEnded}, "ended at 2026-03-04"},
		"published, closed": {locked, func(w *world, draft store.Draft) {
			w.approve(draft)
			w.extend([]onchain.Event{closingOf(draft, closedByCreator)})
		}, ready, sortie.PartyNone, blockers{sortie.BlockerMissionClosed}, "is over"},
		"rejected, unfunded": {none, (*world).reject, rejected, sortie.PartyNone, blockers{sortie.BlockerMissionRejected}, "The place is private."},
		"rejected, seen": {seen, (*world).reject, rejected, sortie.PartyChain,
			blockers{sortie.BlockerMissionRejected, sortie.BlockerFundingUnconfirmed}, "sent back once it is confirmed"},
		"rejected, funded": {confirmed, (*world).reject, rejected, sortie.PartyChain,
			blockers{sortie.BlockerMissionRejected, sortie.BlockerRefundPending}, "returns 10 USDC"},
		"rejected, funded, halted": {confirmed, func(w *world, draft store.Draft) { w.reject(draft); w.halt() }, rejected, sortie.PartyOperator,
			blockers{sortie.BlockerServiceHalted, sortie.BlockerMissionRejected, sortie.BlockerRefundPending}, ""},
		"rejected, refund mined": {confirmed, func(w *world, draft store.Draft) {
			w.reject(draft)
			w.extend([]onchain.Event{closingOf(draft, 1)})
		}, rejected, sortie.PartyChain, blockers{sortie.BlockerMissionRejected, sortie.BlockerRefundPending}, "returns the money"},
		"refunded": {confirmed, func(w *world, draft store.Draft) { w.reject(draft); w.refund(draft, false) }, rejected, sortie.PartyNone,
			blockers{sortie.BlockerMissionRejected}, "back with its creator"},
		"refund deferred": {confirmed, func(w *world, draft store.Draft) { w.reject(draft); w.refund(draft, true) }, rejected, sortie.PartyCreator,
			blockers{sortie.BlockerMissionRejected, sortie.BlockerRefundDeferred}, "10000000 base units"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := openWorld(t, sqliteDatabase(t), worldOptions{})
			draft := w.fund(alice, "k", c.depth)
			if c.then != nil {
				c.then(w, draft)
			}
			answer := w.doctor(draft)
			var codes blockers
			for _, blocker := range answer.Blockers {
				codes = append(codes, blocker.Code)
			}
			if !answer.OK || answer.Health != c.health || answer.WaitingOn != c.waitingOn || !slices.Equal(codes, c.blockers) {
				t.Errorf("%s, waiting on %s, blockers %v: %s", answer.Health, answer.WaitingOn, codes, answer.Summary)
			}
			if text, _ := json.Marshal(answer); !strings.Contains(string(text), c.says) || strings.Contains(string(text), "null,") && c.depth != none {
				t.Errorf("it says %s", text)
			}
			w.checkAdvice(answer)
		})
	}
}

// Of a published mission the doctor says how far its contributors are.
func TestTheDoctorCountsSubmissions(t *testing.T) {
	t.Parallel()
	s := openStudio(t, sqliteDatabase(t), nil)
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

// checkAdvice holds what everybody reads to its form: sentences, and something to do.
func (w *world) checkAdvice(answer sortie.Doctor) {
	w.t.Helper()
	sentences := append([]string{answer.Summary}, answer.Actions...)
	for _, blocker := range answer.Blockers {
		sentences = append(sentences, blocker.Message)
	}
	for _, sentence := range sentences {
		if !strings.HasSuffix(sentence, ".") || !strings.Contains("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", sentence[:1]) || strings.Contains(sentence, "%!") {
			w.t.Errorf("%q is no sentence", sentence)
		}
	}
	if len(answer.Actions) == 0 || answer.Blockers == nil {
		w.t.Errorf("actions %v, blockers %v", answer.Actions, answer.Blockers)
	}
}

// refund closes a rejected mission finally.
func (w *world) refund(draft store.Draft, deferred bool) {
	w.t.Helper()
	closing := closingOf(draft, 1)
	closing.Closed.RefundDeferred = deferred
	w.extend([]onchain.Event{closing})
	w.finalize(w.position.Tip.Number)
	w.settle()
}

// A mission with an end of its own may be over before it is funded, or before anybody decided about
// it.
func TestTheDoctorKnowsWhenItIsTooLate(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	ends := w.clock().Add(2 * time.Hour)
	body := `{"title":"Photo of the main entrance","reward":{"token":"USDC","amount":2.5},"targetCount":4,"endsAt":"` + sortie.FormatTime(ends) + `"}`
	view, _, err := w.app.CreateDraft(context.Background(), alice, "ends", []byte(body))
	w.must(err)
	draft := w.read(view.DraftID)
	w.extend(nil)
	if before := w.doctor(draft); before.Health != sortie.HealthWaiting {
		t.Errorf("before its end: %+v", before)
	}
	w.pass(2 * time.Hour)
	w.extend(nil) // the chain goes on, too
	after := w.doctor(draft)
	if after.Health != sortie.HealthBlocked || after.WaitingOn != sortie.PartyCreator || after.Blockers[0].Code != sortie.BlockerMissionEnded ||
		!strings.Contains(after.Blockers[0].Message, sortie.FormatTime(ends)) {
		t.Errorf("after its end: %+v", after)
	}
	w.extend([]onchain.Event{fundingOf(draft)})
	w.bury(draft, mission.DepthConfirmed)
	if late := w.doctor(draft); late.Health != sortie.HealthBlocked || late.WaitingOn != sortie.PartyChain || late.Blockers[0].Code != sortie.BlockerMissionEnded {
		t.Errorf("funded too late: %+v", late)
	}
}

func TestTheDoctorSaysWhereTheFundingIs(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	draft := w.create(alice, "k")
	if funding := w.doctor(draft).Funding; funding != (sortie.FundingDepth{Required: testConfirmations}) {
		t.Errorf("unfunded: %+v", funding)
	}
	w.extend([]onchain.Event{fundingOf(draft)}, nil)
	stored, err := w.db.FundingOf(context.Background(), draft.ID)
	w.must(err)
	funding := w.doctor(draft).Funding
	if !funding.Seen || *funding.TransactionHash != stored.Transaction || *funding.BlockNumber != stored.Block || funding.Confirmations != 2 || funding.Locked {
		t.Errorf("seen: %+v", funding)
	}
	w.bury(draft, mission.DepthLocked)
	if funding := w.doctor(draft).Funding; !funding.Locked || funding.Confirmations != 4 {
		t.Errorf("locked: %+v", funding)
	}
}

func TestMissionsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	draft := w.create(alice, "k")
	ctx := context.Background()
	for _, id := range []string{draft.ID, draft.MissionID, "nothing-00000000", "draft_00000000000000000000000000", "", "\x00"} {
		_, err := w.app.Doctor(ctx, bob, id)
		wantCode(t, err, sortie.CodeNotFound)
		_, err = w.app.ConfirmFunding(ctx, bob, id)
		wantCode(t, err, sortie.CodeNotFound)
	}
	if w.wakes != 0 {
		t.Errorf("strangers woke the follower %d times", w.wakes)
	}
}

func TestConfirmFundingMakesTheFollowerLook(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	draft := w.fund(alice, "k", mission.DepthSeen)
	check, err := w.app.ConfirmFunding(context.Background(), alice, draft.MissionID)
	w.must(err)
	if w.wakes != 1 || !check.OK || check.DraftID != draft.ID || check.MissionID != draft.MissionID || check.NextAction != sortie.ActionWaitForConfirmation || check.Funding.Confirmations != 1 {
		t.Errorf("woken %d times, %+v", w.wakes, check)
	}
	w.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionNone}) // a hint moves nothing
}
