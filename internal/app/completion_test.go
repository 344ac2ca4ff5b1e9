package app

import (
	"context"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// wantSums compares the sums in the only completion event of a mission with the numbers of its
// payouts.
func (s *testMedia) wantSums(draft store.Draft, accepted, paid, deferred, unpaid int, refund *big.Int) {
	s.t.Helper()
	if told := s.completions(draft); told != 1 {
		s.t.Fatalf("got %d completion events, want 1; events %v", told, s.typesOf(draft))
	}
	times := func(number int) string { return new(big.Int).Mul(draft.Reward, big.NewInt(int64(number))).String() }
	funding, err := s.db.FundingOf(context.Background(), draft.ID)
	s.must(err)
	want := completionFacts{
		DraftID: draft.ID, MissionID: draft.MissionID, AcceptedSubmissions: accepted, PaidSubmissions: paid, DeferredSubmissions: deferred,
		UnpaidSubmissions: unpaid, Token: draft.Token, FundedBaseUnits: times(draft.TargetCount), PaidBaseUnits: times(paid),
		DeferredBaseUnits: times(deferred), RefundBaseUnits: refund.String(), TransactionHash: funding.Closed.Transaction, BlockNumber: funding.Closed.Block,
	}
	if got := s.sums(draft); got != want {
		s.t.Errorf("the sums are %+v, want %+v", got, want)
	}
	spent := new(big.Int).Add(new(big.Int).Mul(draft.Reward, big.NewInt(int64(paid+deferred))), refund)
	if spent.String() != want.FundedBaseUnits {
		s.t.Errorf("%s base units were paid, deferred and refunded, want the %s that were funded", spent, want.FundedBaseUnits)
	}
}

// A mission is closed when everything accepted is paid or deferred and nothing more can be
// accepted, and complete, with its sums, when the closing is final. Restarts do not change that.
func TestAMissionIsClosedAndItsSumsAreTold(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		draft := s.publish("k", 5, "")
		ids := s.finals(draft, 3)
		step := func() {
			t.Helper()
			for range 2 {
				s.due()
				s.use(s.another(nil)) // restarted
			}
		}
		step()
		s.extend([]onchain.Event{s.paymentOf(ids[0]), deferred(s.paymentOf(ids[1]))})
		s.finalTip()
		s.pass(31 * 24 * time.Hour)
		step()
		s.wantClosing(draft, false) // one is not paid
		s.pay(ids[2])
		step()
		s.wantClosing(draft, false) // its block may vanish
		if _, needed, err := s.ledger.CloseCall(context.Background(), draft.ID); err != nil || needed {
			t.Errorf("before everything is paid a close is wanted: %t, %v; want false", needed, err)
		}
		s.finalTip()
		step()
		s.wantClosing(draft, true)
		call, needed, err := s.ledger.CloseCall(context.Background(), draft.ID)
		if err != nil || !needed || call.Paid == nil || *call.Paid != 3 || call.MissionKey != sortie.MissionKey(draft.MissionID) || call.Domain.Factory != factory {
			t.Errorf("the close is %+v, wanted: %t, %v; want one that needs 3 paid slots", call, needed, err)
		}
		_, err = s.declare(bob, draft, "late", photo(1))
		wantCode(t, err, sortie.CodeMissionClosed)
		s.closeMission(draft)
		step()
		if told := s.completions(draft); told != 0 {
			t.Errorf("before the closing is final got %d completion events, want 0", told)
		}
		s.finalTip()
		step()
		s.wantSums(draft, 3, 2, 1, 0, new(big.Int).Mul(draft.Reward, big.NewInt(2)))
		s.wantIncidents()
	})
}

// A mission without a submission is closed at its end and completely refunded.
func TestAMissionWithoutSubmissionsIsClosedAtItsEnd(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		draft := s.publish("k", 4, "")
		ends := s.slots(draft).EndsAt
		s.pass(ends.Sub(s.clock()) - time.Second)
		s.due()
		s.wantClosing(draft, false)
		s.pass(time.Second)
		for _, err := range together(func() error { return doDue(context.Background(), s.ledger) }, func() error { return doDue(context.Background(), s.another(nil).Ledger) }) {
			s.must(err)
		}
		s.closeMission(draft)
		s.finalTip()
		s.due()
		s.wantSums(draft, 0, 0, 0, 0, new(big.Int).Mul(draft.Reward, big.NewInt(4)))
	})
}

// A reclaim takes the money of unpaid payouts. They fail when it is final, and the sums show it.
func TestAReclaimLeavesPayoutsUnpaid(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		draft := s.publish("k", 4, "")
		names := map[string]store.Draft{"k": draft}
		early := s.finals(draft, 2)
		s.settlePayouts()
		open := s.wantSettlements("two", names, "k2")
		s.send(open[0], 0, testHash('s', 1))
		s.settlePayouts()
		s.pay(early[0])
		s.finalTip()
		s.settlePayouts()
		late := s.submitQuickly(bob, draft, "late")
		s.pass(testHold)
		s.must(s.ledger.DueByTime(context.Background()))
		tip := s.position.Tip.Number
		reclaim := []onchain.Event{s.restOf(draft, closedByCreator)}
		s.extend(reclaim)
		s.due()
		s.wantPayout("reclaimed in a block that may vanish", early[1], sortie.PayoutSent)
		s.wantPayout("reclaimed in a block that may vanish", late, sortie.PayoutQueued)
		s.wantSettlements("without money", names, "k1")
		s.advance(s.step(tip, nil))
		s.pass(time.Second)
		s.due()
		s.wantSettlements("the money is back", names, "k1", "k1")
		s.extend(reclaim)
		s.finalTip()
		for range 2 {
			s.due()
		}
		for _, id := range []string{early[1], late} {
			if payout := s.wantPayout("the money is gone", id, sortie.PayoutFailed); !strings.Contains(payout.Reason, "the receipt can no longer be redeemed") {
				t.Errorf("the reason is %q, want that nothing pays the receipt", payout.Reason)
			}
			s.wantTold("the money is gone", id, sortie.EventPayoutPaid, 0)
		}
		if told, err := s.db.IncidentOpen(context.Background(), incidentPayoutFailed); err != nil || !told {
			t.Errorf("incident about unpaid payouts: got %t, error %v, want true", told, err)
		}
		s.wantPayout("before the reclaim", early[0], sortie.PayoutPaid)
		s.wantSums(draft, 3, 1, 0, 2, new(big.Int).Mul(draft.Reward, big.NewInt(3)))
		if waiting := s.slots(draft).Waiting; waiting != 0 {
			t.Errorf("%d payouts wait, want none", waiting)
		}
	})
}

// While an incident halts the service no settlement is started and no mission is closed. Payments
// on the chain are still recorded.
func TestNothingIsSettledOrClosedWhileTheServiceIsHalted(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		draft, full := s.publish("k", 2, ""), s.publish("l", 1, "")
		names := map[string]store.Draft{"k": draft, "l": full}
		s.finals(draft, 1)
		paid := s.finals(full, 1)[0]
		s.pay(paid)
		s.finalTip()
		s.must(s.ledger.ReportIncident(context.Background(), "test", "Stop.", true))
		s.settlePayouts()
		s.wantSettlements("halted", names)
		s.wantPayout("halted", paid, sortie.PayoutPaid)
		s.wantClosing(full, false)
		s.clearIncidents()
		s.settlePayouts()
		s.wantSettlements("cleared", names, "k1")
		s.wantClosing(full, true)
	})
}

// Without a sender or a settler the service settles and closes nothing, but records payments.
func TestWithoutASenderContributorsRedeem(t *testing.T) {
	t.Parallel()
	for name, configure := range map[string]func(*Config){
		"no sender":  func(config *Config) { config.Sender = sortie.Address{} },
		"no settler": func(config *Config) { config.Settler, config.SettlerAddress = nil, sortie.Address{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTestMedia(t, sqliteDatabase(t), configure)
			draft := s.publish("k", 1, "")
			id := s.finals(draft, 1)[0]
			s.settlePayouts()
			s.wantSettlements("nothing can be sent", map[string]store.Draft{"k": draft})
			s.pay(id)
			s.finalTip()
			s.settlePayouts()
			s.wantPayout("redeemed", id, sortie.PayoutPaid)
			s.wantClosing(draft, false)
		})
	}
}
