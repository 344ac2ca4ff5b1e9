package app

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// closedBySettler is the contract's reason for a mission that was closed with the settler's
// signature.
const closedBySettler = 1

// pay adds a block that pays the slots of submissions.
func (s *testMedia) pay(ids ...string) {
	s.t.Helper()
	payments := make([]onchain.Event, len(ids))
	for i, id := range ids {
		payments[i] = s.paymentOf(id)
	}
	s.extend(payments)
}

// deferred is the event of a payment that the token refused.
func deferred(payment onchain.Event) onchain.Event {
	payment.Kind = onchain.EventPayoutDeferred
	return payment
}

// finalTip makes every followed block final.
func (s *testMedia) finalTip() {
	s.t.Helper()
	s.finalize(s.position.Tip.Number)
}

// unpaid lists the submissions of a mission that hold a slot and that no block has paid, in the
// order of their slots.
func (s *testMedia) unpaid(draft store.Draft) (ids []string) {
	s.t.Helper()
	s.must(s.db.Tx(context.Background(), func(tx *store.Tx) error {
		ids = nil
		rows, err := tx.SQL().QueryContext(tx.Context(),
			`SELECT submission_id FROM payouts WHERE draft_id = $1 AND block_number IS NULL ORDER BY slot`, draft.ID)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return rows.Err()
	}))
	return ids
}

// payAll pays all payouts of a mission in a final block, and runs the periodic work.
func (s *testMedia) payAll(draft store.Draft) {
	s.t.Helper()
	unpaid := s.unpaid(draft)
	s.pay(unpaid...)
	s.finalTip()
	for range len(unpaid)/maxDue + 1 { // only so many become paid in one go
		s.due()
	}
}

// restOf is the closing that refunds what a mission has not spent, in no block yet.
func (s *testMedia) restOf(draft store.Draft, reason uint8) onchain.Event {
	s.t.Helper()
	slots := s.slots(draft)
	closing := closingOf(draft, reason)
	closing.Closed.Refund = new(big.Int).Mul(draft.Reward, big.NewInt(int64(slots.Target-slots.Paid-slots.Deferred)))
	return closing
}

// closeMission adds a block with the closing that the service asked for.
func (s *testMedia) closeMission(draft store.Draft) {
	s.t.Helper()
	s.wantClosing(draft, true)
	s.extend([]onchain.Event{s.restOf(draft, closedBySettler)})
}

// wantClosing checks whether the service has exactly one active intent to close a mission.
func (s *testMedia) wantClosing(draft store.Draft, want bool) {
	s.t.Helper()
	intents := s.count(`SELECT COUNT(*) FROM intents WHERE kind = $1 AND subject = $2 AND status IN ('queued', 'sent', 'mined')`, IntentClose, draft.ID)
	slots := s.slots(draft)
	if slots.Closing != want || (intents == 1) != want {
		s.t.Fatalf("closing is %t with %d intents, want %t; slots %d paid, %d deferred, %d failed of %d final", slots.Closing, intents, want,
			slots.Paid, slots.Deferred, slots.Failed, slots.Finals)
	}
}

// complete pays all payouts of a mission, closes it in a final block, and runs the periodic work.
func (s *testMedia) complete(draft store.Draft) {
	s.t.Helper()
	s.payAll(draft)
	s.closeMission(draft)
	s.finalTip()
	s.due()
}

// settlePayouts runs the periodic work of payouts.
func (s *testMedia) settlePayouts() {
	s.t.Helper()
	s.must(s.ledger.Settle(context.Background()))
}

// wantPayout compares the status of a payout.
func (s *testMedia) wantPayout(when, id string, want sortie.PayoutStatus) sortie.Payout {
	s.t.Helper()
	got := s.submission(id).Payout
	if got.Status != want {
		s.t.Fatalf("%s: the payout is %+v, want it %s", when, got, want)
	}
	return got
}

// told counts the events of a type about a submission for a wallet.
func (s *testMedia) told(wallet sortie.Address, event sortie.EventType, id string) (times int) {
	s.t.Helper()
	for _, got := range s.events(wallet) {
		var facts struct {
			SubmissionID string `json:"submissionId"`
		}
		s.must(json.Unmarshal(got.Data, &facts))
		if got.Type == string(event) && facts.SubmissionID == id {
			times++
		}
	}
	return times
}

// wantTold checks how many events about a submission its contributor and its creator have.
func (s *testMedia) wantTold(when, id string, event sortie.EventType, want int) {
	s.t.Helper()
	submission := s.stored(id)
	for who, wallet := range map[string]sortie.Address{"contributor": submission.Contributor, "creator": submission.Mission.Creator} {
		if got := s.told(wallet, event, id); got != want {
			s.t.Errorf("%s: the %s got %s %d times, want %d", when, who, event, got, want)
		}
	}
}

// sums are the data of the last completion event of a mission.
func (s *testMedia) sums(draft store.Draft) (facts completionFacts) {
	s.t.Helper()
	for _, event := range s.events(draft.Wallet) {
		if event.DraftID == draft.ID && event.Type == string(sortie.EventMissionCompleted) {
			facts = completionFacts{}
			s.must(json.Unmarshal(event.Data, &facts))
		}
	}
	return facts
}

// openSettlements lists the open settlements with their slots.
func (s *testMedia) openSettlements() (open []store.Settlement, slots map[int64][]uint32) {
	s.t.Helper()
	open, err := s.db.OpenSettlements(context.Background(), 0, 1000)
	s.must(err)
	slots = make(map[int64][]uint32)
	for _, settlement := range open {
		_, payouts, err := s.db.SettlementByID(context.Background(), settlement.ID)
		s.must(err)
		for _, payout := range payouts {
			slots[settlement.ID] = append(slots[settlement.ID], payout.Slot)
		}
	}
	return open, slots
}

// send stores a transaction for the intent of a settlement, as the sender does.
func (s *testMedia) send(settlement store.Settlement, nonce uint64, transaction sortie.Hash) {
	s.t.Helper()
	intent, err := s.db.IntentOf(context.Background(), store.IntentSettle, settlement.Subject())
	s.must(err)
	s.must(s.db.Tx(context.Background(), func(tx *store.Tx) error {
		return tx.AddAttempt(intent.ID, store.Attempt{Hash: transaction, Raw: []byte{1}, Nonce: nonce, FeeCap: big.NewInt(1), TipCap: big.NewInt(1)})
	}))
}

// moveIntent changes the intent of a settlement, as the sender does.
func (s *testMedia) moveIntent(settlement store.Settlement, change func(*store.Intent)) {
	s.t.Helper()
	was, err := s.db.IntentOf(context.Background(), store.IntentSettle, settlement.Subject())
	s.must(err)
	to := was
	change(&to)
	s.must(s.db.Tx(context.Background(), func(tx *store.Tx) error { return tx.MoveIntent(was, to) }))
}

// A payment of another service's mission, or of a slot that is not taken, is no payout of this
// service.
func TestPaymentsWithoutAPayoutChangeNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		draft := s.publish("k", 2, "")
		s.extend([]onchain.Event{paymentOf(draft, 1, bob, "sub_none")})
		s.wantHalted(true)
		s.clearIncidents()
		id := s.submitQuickly(bob, draft, "one")
		s.pass(testHold)
		s.due()
		s.wantPayout("of a slot that no block has paid", id, sortie.PayoutQueued)
		if _, err := s.db.PayoutOf(context.Background(), "sub_none"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the payout of a submission that does not exist: got %v, want %v", err, store.ErrNotFound)
		}
	})
}
