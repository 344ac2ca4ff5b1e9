package api

import (
	"errors"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/store"
)

// closeEarly closes a mission as an operator.
func (s *testService) closeEarly(id string) sortie.MissionClose {
	s.t.Helper()
	a := s.order(reviewer, decidePath+"/"+id+"/close")
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("close: got %d %s, want 200", a.StatusCode, a.body)
	}
	return decode[sortie.MissionClose](s.t, a)
}

// pay acts as the sender and the chain for the settlement of a payout.
func (s *testService) pay(draft sortie.DraftCreated, id string) {
	s.t.Helper()
	s.clock.advance(testInterval)
	s.settle()
	payout := s.payout(id).Payout
	if payout.SettlementID == nil {
		s.t.Fatalf("payout: got %+v, want it in a settlement", payout)
	}
	hash := s.broadcast(*payout.SettlementID)
	s.chain.mine(paymentOf(draft, payout, hash))
	s.moveIntent(*payout.SettlementID, func(next *store.Intent) {
		next.Status, next.MinedBlock, next.MinedTransaction = store.IntentDone, s.chain.position.Tip.Number, hash
	})
	s.chain.finalize()
	s.settle()
}

// An operator closes a mission early: new submissions are refused, existing ones are decided and
// paid, and the rest is refunded.
func TestAMissionIsClosedEarly(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database, hold: 10 * time.Minute, pays: true})
		draft := s.publish("k1", wideMission)
		accepted := s.submit(draft.MissionID, "photo-1", s.shoot(1)).SubmissionID
		file := s.shoot(2)
		declared := s.declare(draft.MissionID, "photo-2", file)
		s.clock.advance(time.Second)

		first := s.closeEarly(draft.MissionID)
		want := sortie.MissionClose{OK: true, MissionID: draft.MissionID, EndsAt: sortie.FormatTime(s.clock.Now()), Accepted: 1, Unpaid: 1, Undecided: 1}
		if first != want {
			t.Errorf("close: got %+v, want %+v", first, want)
		}
		s.clock.advance(time.Minute)
		if again := s.closeEarly(draft.DraftID); again != want {
			t.Errorf("close again: got %+v, want the same, %+v", again, want)
		}
		if feed := decode[sortie.MissionFeed](t, s.send(testRequest{target: feedPath, unsigned: true})); len(feed.Missions) != 0 {
			t.Errorf("feed: got %+v, want no mission", feed.Missions)
		}
		if a := s.declareBy(another, draft.MissionID, "late", s.shoot(3).String()); a.code() != sortie.CodeMissionClosed {
			t.Errorf("a declaration after the end: got %d %s, want mission_closed", a.StatusCode, a.body)
		}
		doctor := string(s.send(testRequest{target: listPath + "/" + draft.DraftID + "/doctor"}).body)
		if !strings.Contains(doctor, `"code":"undecided"`) || !strings.Contains(doctor, `"waitingOn":"operator"`) {
			t.Errorf("doctor: got %s, want that a submission is undecided", doctor)
		}
		mustBe(t, "the upload of what was declared before", s.put(declared.Upload.PutURL, file.data), http.StatusOK)
		s.chain.check()
		if status := s.submission(declared.SubmissionID).Status; status != sortie.SubmissionAccepted {
			t.Errorf("what was uploaded after the end is %s, want accepted", status)
		}

		s.final()
		s.pay(draft, accepted)
		if got := s.closeEarly(draft.DraftID); got.Unpaid != 1 || got.Closing {
			t.Errorf("one of two paid: got %+v, want 1 unpaid and not closing", got)
		}
		s.clock.advance(testInterval)
		second := s.payout(declared.SubmissionID).Payout
		s.chain.mine(paymentOf(draft, second, sortie.MissionKey("redeemed"))) // by its receipt
		s.chain.finalize()
		mustBe(t, "halt", s.order(reviewer, payoutsTarget+"/halt"), http.StatusOK)
		s.settle()
		s.settle()
		if got := s.closeEarly(draft.DraftID); got.Unpaid != 0 || got.Closing {
			t.Errorf("all paid while payouts are halted: got %+v, want it not closing", got)
		}
		mustBe(t, "resume", s.order(reviewer, payoutsTarget+"/resume"), http.StatusOK)
		s.settle()
		if got := s.closeEarly(draft.DraftID); got.Unpaid != 0 || got.Undecided != 0 || !got.Closing {
			t.Errorf("all paid: got %+v, want it closing", got)
		}
		s.clock.advance(time.Second)
		mustBe(t, "halt again", s.order(reviewer, payoutsTarget+"/halt"), http.StatusOK)
		var halted *app.PayoutsHaltedError
		if _, _, err := s.ledger.CloseCall(t.Context(), draft.DraftID); !errors.As(err, &halted) {
			t.Errorf("the call that closes it while payouts are halted: got error %v, want that they are", err)
		}
		if doctor := string(s.send(testRequest{target: listPath + "/" + draft.DraftID + "/doctor"}).body); !strings.Contains(doctor, `"code":"closing"`) {
			t.Errorf("doctor: got %s, want that it is closing", doctor)
		}

		refund := refundOf(draft)
		refund.Closed.Refund = new(big.Int).Sub(refund.Closed.Refund, big.NewInt(5_000_000))
		s.chain.mine(refund)
		s.chain.finalize()
		s.due()
		if a := s.order(reviewer, decidePath+"/"+draft.DraftID+"/close"); a.code() != sortie.CodeWrongState || !strings.Contains(string(a.body), "left the contract") {
			t.Errorf("close after the money left: got %d %s, want wrong_state", a.StatusCode, a.body)
		}
		if got := s.eventTypes(); !strings.Contains(got, " mission.ended ") || !strings.HasSuffix(got, " mission.completed") {
			t.Errorf("events of the creator: got %s, want mission.ended, and mission.completed at the end", got)
		}
		if got := s.auditOf(draft.DraftID); strings.Count(got, "mission.closed_early") != 1 {
			t.Errorf("audit: got %s, want mission.closed_early once", got)
		}
	})
}

func TestMissionsThatCannotBeClosedEarly(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		unfunded, inReview, rejected := s.create("k1", goodMission), s.createInReview("k2"), s.createInReview("k3")
		mustBe(t, "reject", s.decide(reviewer, rejected.DraftID, "reject", goodReason), http.StatusOK)
		for name, c := range map[string]struct{ id, advice string }{
			"not funded": {unfunded.DraftID, "sortie review reject"}, "in review": {inReview.MissionID, "sortie review reject"}, "rejected": {rejected.DraftID, "goes back without this"},
		} {
			if a := s.order(reviewer, decidePath+"/"+c.id+"/close"); a.code() != sortie.CodeWrongState || !strings.Contains(string(a.body), c.advice) {
				t.Errorf("%s: got %d %s, want wrong_state with %q", name, a.StatusCode, a.body, c.advice)
			}
		}
		published := s.publish("k4", goodMission)
		target := decidePath + "/" + published.DraftID + "/close"
		mustBe(t, "close by its creator", s.order(creator, target), http.StatusForbidden)
		mustBe(t, "close without a reason", s.send(testRequest{method: http.MethodPost, target: target, body: `{"reason":""}`, signer: reviewer}), http.StatusUnprocessableEntity)
		mustBe(t, "close of nothing", s.order(reviewer, decidePath+"/nowhere-00000000/close"), http.StatusNotFound)
		if got := s.eventTypes(); strings.Contains(got, "mission.ended") {
			t.Errorf("events: got %s, want no mission.ended", got)
		}
	})
}

// The examples of payouts in openapi.yaml are real answers.
func TestPayoutExamplesAreRealAnswers(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{pays: true})
	draft := s.publish("k1", string(exampleJSON(t, "Mission")))
	id := s.submit(draft.MissionID, "photo-1", s.shoot(1)).SubmissionID
	s.final()
	sameAs(t, "Payouts", s.send(testRequest{target: payoutsTarget, signer: reviewer}))
	sameAs(t, "PayoutDetail", s.send(testRequest{target: payoutsTarget + "/" + id, signer: reviewer}))
	sameAs(t, "MissionClosedEarly", s.send(testRequest{method: http.MethodPost, target: decidePath + "/" + draft.DraftID + "/close", body: string(exampleJSON(t, "Reason")), signer: reviewer}))
	sameAs(t, "PayoutsHalted", s.send(testRequest{method: http.MethodPost, target: payoutsTarget + "/halt", body: string(exampleJSON(t, "Reason")), signer: reviewer}))
}
