package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// A payment that a reorganization removes is not counted. An open settlement pays it again;
// otherwise it waits for another one. When another block pays it, that adds one event.
func TestAReorganizationTakesPaymentsBack(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, everyMinute)
		draft := s.publish("k", 3, "")
		names := map[string]store.Draft{"k": draft}
		ids := s.finals(draft, 2)
		redeemed, settled := ids[0], ids[1]
		beforeRedemption := s.position.Tip.Number
		s.pay(redeemed)
		s.settlePayouts()
		s.advance(s.step(beforeRedemption, nil))
		if payout := s.wantPayout("redeemed in a block that vanished", redeemed, sortie.PayoutQueued); payout.TransactionHash != nil {
			t.Errorf("the payout is %+v, want no transaction", payout)
		}
		if waiting := s.slots(draft).Waiting; waiting != 2 {
			t.Errorf("%d payouts wait, want 2", waiting)
		}
		s.pay(redeemed)
		s.pass(time.Minute)
		s.settlePayouts()
		open := s.wantSettlements("the receipt is redeemed again", names, "k1")
		transaction := testHash('s', 1)
		s.send(open[0], 0, transaction)
		s.settlePayouts()
		s.wantPayout("sent", settled, sortie.PayoutSent)

		tip := s.position.Tip.Number
		s.pay(settled)
		s.settlePayouts()
		s.advance(s.step(tip, nil))
		s.settlePayouts()
		s.wantPayout("its settlement is under way", settled, sortie.PayoutSent)
		s.wantSettlements("it stays with its settlement", names, "k1")

		s.pay(settled)
		s.moveIntent(open[0], func(intent *store.Intent) { intent.Status, intent.MinedBlock = store.IntentDone, testStart })
		s.settlePayouts()
		s.wantSettlements("its settlement is over", names)
		s.advance(s.step(tip, nil))
		if payout := s.wantPayout("no settlement carries it", settled, sortie.PayoutQueued); payout.TransactionHash != nil {
			t.Errorf("the payout is %+v, want no transaction", payout)
		}
		s.pass(2 * time.Minute)
		s.settlePayouts()
		s.wantSettlements("another settlement carries it", names, "k1")
		s.pay(settled)
		s.finalTip()
		s.settlePayouts()
		s.settlePayouts()
		for _, id := range ids {
			s.wantPayout("paid by another block", id, sortie.PayoutPaid)
			s.wantTold("paid by another block", id, sortie.EventPayoutPaid, 1)
		}
		if slots := s.slots(draft); slots.Paid != 2 || slots.Waiting != 0 || slots.Failed != 0 {
			t.Errorf("%d paid, %d waiting, %d failed; want 2, 0, 0", slots.Paid, slots.Waiting, slots.Failed)
		}
	})
}

// The block of a payment is replaced between the read and the write. The write must see that,
// whether the block that now has the payment has the same number and is not final, or is above a
// final block of that number.
func TestAPaymentThatVanishesDuringTheLookIsNotPaid(t *testing.T) {
	t.Parallel()
	for name, above := range map[string]uint64{"paid by another block of the same number": 0, "paid by a block above it": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines(t, func(t *testing.T, database string) {
				var meanwhile func()
				s := openTestMedia(t, database, func(config *Config) {
					config.PaidSlots = func(context.Context, sortie.Address, sortie.Hash, []uint32) ([]bool, error) {
						meanwhile()
						return []bool{true}, nil
					}
				})
				id := s.finals(s.publish("k", 1, ""), 1)[0]
				tip := s.position.Tip.Number
				s.pay(id)
				s.finalTip()
				meanwhile = func() {
					broken := s.step(tip, append(make([][]onchain.Event, above), []onchain.Event{s.paymentOf(id)})...)
					broken.Final = tip + above
					s.advance(broken)
					meanwhile = func() {}
				}
				s.settlePayouts()
				s.wantPayout("not final", id, sortie.PayoutSent)
				s.wantTold("not final", id, sortie.EventPayoutPaid, 0)
				s.finalTip()
				s.settlePayouts()
				s.wantPayout("final", id, sortie.PayoutPaid)
				s.wantTold("final", id, sortie.EventPayoutPaid, 1)
			})
		})
	}
}

// A final block that is replaced removes the payment, too, and an operator must clear the incident
// before anything is sent.
func TestABrokenFinalityTakesPaymentsBack(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		draft := s.publish("k", 1, "")
		id := s.finals(draft, 1)[0]
		tip := s.position.Tip.Number
		s.pay(id)
		s.finalTip()
		s.settlePayouts()
		s.wantPayout("final", id, sortie.PayoutPaid)
		s.wantClosing(draft, true)
		broken := s.step(tip, nil)
		broken.Final = tip
		s.advance(broken)
		s.settlePayouts()
		s.wantIncidents("finality_broken")
		s.wantPayout("its final block vanished", id, sortie.PayoutQueued)
		if slots := s.slots(draft); slots.Paid != 0 || slots.Waiting != 1 {
			t.Errorf("%d paid and %d waiting, want 0 and 1", slots.Paid, slots.Waiting)
		}
		if _, needed, err := s.ledger.CloseCall(context.Background(), draft.ID); err != nil || needed {
			t.Errorf("a mission with an unpaid slot is closed: %t, %v; want it to wait", needed, err)
		}
		s.wantSettlements("halted", map[string]store.Draft{"k": draft})
		s.clearIncidents()
		s.settlePayouts()
		s.wantSettlements("cleared", map[string]store.Draft{"k": draft}, "k1")
		s.pay(id)
		s.finalTip()
		s.settlePayouts()
		s.wantPayout("paid by another final block", id, sortie.PayoutPaid)
		if _, needed, err := s.ledger.CloseCall(context.Background(), draft.ID); err != nil || !needed {
			t.Errorf("everything is paid: the mission is closed: %t, %v; want true", needed, err)
		}
	})
}

// The payouts of a settlement that ended without paying are settled again after a pause. A
// settlement whose block is not final has not ended.
func TestASettlementThatPaidNothingIsReleased(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(*testMedia, *store.Intent)
		sent bool
	}{
		"no longer wanted": {func(_ *testMedia, intent *store.Intent) { intent.Status, intent.Nonce = store.IntentVoid, nil }, false},
		"done by another":  {func(_ *testMedia, intent *store.Intent) { intent.Status = store.IntentDone }, true},
		"mined, and it paid nothing": {func(s *testMedia, intent *store.Intent) {
			intent.Status, intent.MinedBlock = store.IntentDone, s.position.Tip.Number
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines(t, func(t *testing.T, database string) {
				s := openTestMedia(t, database, nil)
				draft := s.publish("k", 2, "")
				names := map[string]store.Draft{"k": draft}
				id := s.finals(draft, 1)[0]
				s.settlePayouts()
				open := s.wantSettlements("before", names, "k1")
				if c.sent {
					s.send(open[0], 0, testHash('s', 1))
					s.settlePayouts()
				}
				s.extend(nil)
				s.moveIntent(open[0], func(intent *store.Intent) { c.end(s, intent) })
				if intent, err := s.db.IntentOf(context.Background(), store.IntentSettle, open[0].Subject()); err != nil || intent.MinedBlock > 0 {
					s.settlePayouts()
					s.wantSettlements("its block is not final", names, "k1")
					s.finalTip()
				}
				s.settlePayouts()
				s.wantSettlements("over", names)
				if payout := s.wantPayout("released", id, sortie.PayoutQueued); payout.TransactionHash != nil {
					t.Errorf("the payout is %+v, want no transaction", payout)
				}
				s.pass(time.Minute - time.Second)
				s.settlePayouts()
				s.wantSettlements("during the pause", names)
				s.pass(time.Second)
				s.settlePayouts()
				if again := s.wantSettlements("after the pause", names, "k1"); again[0].ID == open[0].ID {
					t.Error("the settlement that is over carries it again, want another one")
				}
			})
		})
	}
}

// A payout that the contract refuses fails and opens an incident. It delays no other payout, and
// its mission stays open until it is paid.
func TestARefusedPayoutIsSetAside(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		draft := s.publish("k", 4, "")
		names := map[string]store.Draft{"k": draft}
		ids := s.finals(draft, 4)
		s.settlePayouts()
		open := s.wantSettlements("before", names, "k4")
		call, err := s.ledger.SettleCall(ctx, open[0].Subject())
		s.must(err)
		s.must(s.ledger.ShrinkSettlement(ctx, call, 2))
		s.must(s.ledger.SetPayoutAside(ctx, call.Payouts[1], "the contract refuses it: because"))
		if err := s.ledger.SetPayoutAside(ctx, call.Payouts[1], "again"); !errors.Is(err, store.ErrConflict) {
			t.Errorf("set aside twice: got %v, want %v", err, store.ErrConflict)
		}
		payout := s.wantPayout("set aside", ids[1], sortie.PayoutFailed)
		if !strings.Contains(payout.Reason, "because") || !strings.Contains(payout.Reason, "sortie redeem") {
			t.Errorf("the reason is %q, want why and what to do", payout.Reason)
		}
		s.wantIncidents("payout_failed")
		s.wantHalted(false)
		s.wantSettlements("smaller", names, "k1")
		s.settlePayouts()
		s.wantSettlements("the rest is settled in the smaller size", names, "k1", "k2")
		s.settlePayouts()
		s.pay(ids[0], ids[2], ids[3])
		s.finalTip()
		s.settlePayouts()
		s.pass(31 * 24 * time.Hour)
		s.due()
		s.wantClosing(draft, false)
		s.wantSettlements("it is set aside", names, "k0", "k0")
		failed, err := s.db.PayoutOf(ctx, ids[1])
		s.must(err)
		s.must(s.db.Tx(ctx, func(tx *store.Tx) error { return tx.RetryPayout(failed) }))
		s.settlePayouts()
		s.wantSettlements("tried again", names, "k0", "k0", "k1")
		s.pay(ids[1])
		s.finalTip()
		s.due()
		s.wantPayout("paid after all", ids[1], sortie.PayoutPaid)
		s.wantClosing(draft, true)
	})
}
