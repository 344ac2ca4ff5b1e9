package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// finals makes a number of final acceptances of a mission, each by another contributor, and returns
// them in the order of their slots.
func (s *testMedia) finals(draft store.Draft, number int) (ids []string) {
	s.t.Helper()
	for i := range number {
		ids = append(ids, s.submitQuickly(contributor(i), draft, draft.ID))
	}
	s.pass(testHold)
	s.must(s.ledger.DueByTime(context.Background()))
	slices.SortFunc(ids, func(a, b string) int { return int(*s.stored(a).Slot) - int(*s.stored(b).Slot) })
	return ids
}

// wantSettlements compares the open settlements with what they should carry, each written as the
// key of a mission and its number of payouts.
func (s *testMedia) wantSettlements(when string, names map[string]store.Draft, want ...string) []store.Settlement {
	s.t.Helper()
	open, slots := s.openSettlements()
	var got []string
	for _, settlement := range open {
		for name, draft := range names {
			if draft.ID == settlement.DraftID {
				got = append(got, fmt.Sprint(name, len(slots[settlement.ID])))
			}
		}
		intent, err := s.db.IntentOf(context.Background(), store.IntentSettle, settlement.Subject())
		if err != nil || intent.Sender != gasPayer || intent.ChainID != testChain {
			s.t.Errorf("%s: the intent of settlement %d is %+v, %v; want one of %s on chain %d", when, settlement.ID, intent, err, gasPayer, testChain)
		}
	}
	if !slices.Equal(got, want) {
		s.t.Fatalf("%s: the settlements are %v, want %v", when, got, want)
	}
	if carried, rows := s.count(`SELECT COUNT(*) FROM payouts WHERE settlement_id IS NOT NULL`), s.count(`SELECT COUNT(DISTINCT submission_id) FROM payouts`); carried > rows {
		s.t.Errorf("%s: %d payouts are carried, of %d", when, carried, rows)
	}
	return open
}

// everyMinute sets a payout interval of a minute.
func everyMinute(config *Config) { config.PayoutInterval = time.Minute }

// Payouts of a mission are settled 50 at a time, or after the interval.
func TestPayoutsAreGathered(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, everyMinute)
		large, small := s.publish("large", 60, ""), s.publish("small", 2, "")
		names := map[string]store.Draft{"large": large, "small": small}
		for i := range 60 {
			s.submitQuickly(contributor(i), large, "large")
		}
		s.finals(small, 1)
		for range 2 {
			s.settlePayouts()
			s.wantSettlements("at once", names, "large50")
		}
		if slots := s.slots(large); slots.Waiting != 10 {
			t.Errorf("%d payouts wait, want 10", slots.Waiting)
		}
		_, slots := s.openSettlements()
		for _, carried := range slots {
			if !slices.IsSorted(carried) || carried[0] != 0 || carried[49] != 49 {
				t.Errorf("the first settlement carries slots %v, want 0 to 49", carried)
			}
		}
		s.pass(time.Minute - time.Second)
		s.settlePayouts()
		s.wantSettlements("before the interval is over", names, "large50")
		s.pass(time.Second)
		for _, err := range together(func() error { return s.ledger.Settle(context.Background()) }, func() error { return s.another(nil).Ledger.Settle(context.Background()) }) {
			s.must(err)
		}
		open, slots := s.openSettlements()
		sizes := make(map[string]int)
		for _, settlement := range open {
			sizes[settlement.DraftID] += len(slots[settlement.ID])
		}
		if len(open) != 3 || sizes[large.ID] != 60 || sizes[small.ID] != 1 {
			t.Errorf("after the interval %d settlements carry %v, want 3 that carry 60 and 1", len(open), sizes)
		}
		if s.slots(large).Waiting != 0 || s.slots(small).Waiting != 0 {
			t.Errorf("%d and %d payouts wait, want none", s.slots(large).Waiting, s.slots(small).Waiting)
		}
	})
}

// A few settlements of a token wait for the sender. The others follow when those are sent, the
// longest waiting mission first: a mission with many payouts does not delay small ones, and one
// token does not delay another.
func TestFewSettlementsOfATokenWaitForTheSender(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, func(config *Config) {
			config.Tokens[sortie.TokenService] = Token{Address: sortie.Address{0x5e}, Decimals: 18}
		})
		names := map[string]store.Draft{"large": s.publish("large", 3, "")}
		s.finals(names["large"], 3)
		s.must(s.db.Tx(context.Background(), func(tx *store.Tx) error { // as if its settlements had been refused for their size
			_, err := tx.SQL().ExecContext(tx.Context(), `UPDATE mission_slots SET batch = 1`)
			return err
		}))
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			names[name] = s.publish(name, 1, "")
			s.finals(names[name], 1)
		}
		s.pass(time.Second)
		s.settlePayouts()
		open := s.wantSettlements("the queue is full", names, "large1", "a1", "b1", "c1")
		s.pass(time.Hour)
		s.settlePayouts()
		s.wantSettlements("nothing is sent", names, "large1", "a1", "b1", "c1")
		names["other"] = s.publishIn(sortie.TokenService, "other", 1, "")
		s.finals(names["other"], 1)
		s.settlePayouts()
		s.wantSettlements("another token", names, "large1", "a1", "b1", "c1", "other1")
		for i := range 2 {
			s.send(open[i], uint64(i), testHash('s', uint64(i)))
		}
		s.settlePayouts()
		s.wantSettlements("the first two are sent: others have waited longer than the rest of the large mission", names,
			"large1", "a1", "b1", "c1", "other1", "d1", "e1")
		s.send(open[2], 2, testHash('s', 2))
		s.settlePayouts()
		s.wantSettlements("now it is its turn", names, "large1", "a1", "b1", "c1", "other1", "d1", "e1", "large1")
	})
}

// Missions that cannot be paid now, because their money is not in the contract or their rows cannot
// be read, delay no others.
func TestABadMissionHoldsUpNoOthers(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		names := make(map[string]store.Draft)
		var reclaims []onchain.Event
		for i := range maxQueued {
			draft := s.publish(fmt.Sprint("poor", i), 1, "")
			s.finals(draft, 1)
			reclaims = append(reclaims, closingOf(draft, closedByCreator))
			names[fmt.Sprint("poor", i, ":")] = draft
		}
		names["broken"], names["good"] = s.publish("broken", 1, ""), s.publish("good", 1, "")
		s.finals(names["broken"], 1)
		good := s.finals(names["good"], 1)[0]
		tip := s.position.Tip.Number
		s.extend(reclaims)
		setReward := func(reward string) {
			t.Helper()
			s.must(s.db.Tx(context.Background(), func(tx *store.Tx) error {
				_, err := tx.SQL().ExecContext(tx.Context(), `UPDATE drafts SET reward = $1 WHERE draft_id = $2`, reward, names["broken"].ID)
				return err
			}))
		}
		setReward("nothing")
		s.pass(time.Second)
		s.settlePayouts() // those without money let others go first
		if err := s.ledger.Settle(context.Background()); err == nil || !strings.Contains(err.Error(), names["broken"].ID) {
			t.Errorf("a mission whose row cannot be read: got %v, want an error that names %s", err, names["broken"].ID)
		}
		open := s.wantSettlements("the good one", names, "good1")
		if got := s.wantPayout("in a settlement", good, sortie.PayoutQueued); got.TransactionHash != nil {
			t.Errorf("the payout is %+v, want no transaction", got)
		}
		setReward(names["broken"].Reward.String())
		s.advance(s.step(tip, nil)) // the money is back
		s.send(open[0], 0, testHash('s'))
		s.pass(time.Second)
		s.settlePayouts()
		s.settlePayouts()
		if open, _ := s.openSettlements(); len(open) != 1+maxQueued {
			t.Errorf("%d settlements are under way when the money is back, want %d", len(open), 1+maxQueued)
		}
	})
}

// A payout is sent when a transaction has it, and paid when the block of its payment is final and
// the contract has it as paid. Contributor and creator get each event once, with any number of
// processes.
func TestAPayoutIsPaidWhenItsBlockIsFinal(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		var away error
		confirmed, asked := false, 0
		s := openTestMedia(t, database, func(config *Config) {
			config.PaidSlots = func(_ context.Context, at sortie.Address, key sortie.Hash, slots []uint32) ([]bool, error) {
				asked++
				if at != factory || len(slots) != 1 || slots[0] != 0 {
					t.Errorf("the contract %s is asked about slots %v, want %s and slot 0", at, slots, factory)
				}
				return []bool{confirmed}, away
			}
		})
		draft := s.publish("k", 2, "")
		id := s.finals(draft, 1)[0]
		want := func(when string, status sortie.PayoutStatus, transaction sortie.Hash, sent, paid int) {
			t.Helper()
			for range 2 {
				s.settlePayouts()
				s.use(s.another(nil)) // restarted
			}
			payout := s.wantPayout(when, id, status)
			if (payout.TransactionHash == nil) != (transaction == sortie.Hash{}) || payout.TransactionHash != nil && *payout.TransactionHash != transaction {
				t.Errorf("%s: the transaction is %v, want %s", when, payout.TransactionHash, transaction)
			}
			s.wantTold(when, id, sortie.EventPayoutSent, sent)
			s.wantTold(when, id, sortie.EventPayoutPaid, paid)
		}
		want("in a settlement", sortie.PayoutQueued, sortie.Hash{}, 0, 0)
		open, _ := s.openSettlements()
		first, second := testHash('s', 1), testHash('s', 2)
		s.send(open[0], 0, first)
		want("sent", sortie.PayoutSent, first, 1, 0)
		s.send(open[0], 0, second)
		want("replaced by one with a higher fee", sortie.PayoutSent, second, 1, 0)
		s.moveIntent(open[0], func(intent *store.Intent) {
			intent.Status, intent.MinedBlock, intent.MinedTransaction = store.IntentMined, s.position.Tip.Number+1, first
		})
		want("the first one was mined", sortie.PayoutSent, first, 1, 0)
		step := s.step(s.position.Tip.Number, []onchain.Event{s.paymentOf(id)})
		step.Events[0].Transaction = first
		s.advance(step)
		want("in a block that may vanish", sortie.PayoutSent, first, 1, 0)
		if asked != 0 {
			t.Errorf("the contract was asked %d times before the block was final, want 0", asked)
		}
		s.finalTip()
		want("the contract says it is not paid", sortie.PayoutSent, first, 1, 0)
		away, confirmed = errors.New("no node answers"), true
		if err := s.ledger.Settle(context.Background()); !errors.Is(err, away) {
			t.Errorf("no node answers: got %v, want %v", err, away)
		}
		away = nil
		want("final", sortie.PayoutPaid, first, 1, 1)
		s.moveIntent(open[0], func(intent *store.Intent) { intent.Status = store.IntentDone })
		want("its settlement is over", sortie.PayoutPaid, first, 1, 1)
		if open, _ := s.openSettlements(); len(open) != 0 {
			t.Errorf("%d settlements are under way, want none", len(open))
		}
		if slots := s.slots(draft); slots.Paid != 1 || slots.Waiting != 0 {
			t.Errorf("%d paid and %d waiting, want 1 and 0", slots.Paid, slots.Waiting)
		}
	})
}

// A payment that the token refused is a deferred credit in the contract. The contributor is shown
// what to do.
func TestADeferredPayoutSaysWhatToDo(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		draft := s.publish("k", 1, "")
		id := s.finals(draft, 1)[0]
		s.extend([]onchain.Event{deferred(s.paymentOf(id))})
		s.settlePayouts()
		s.wantPayout("in a block that may vanish", id, sortie.PayoutSent)
		s.wantClosing(draft, false)
		s.finalTip()
		for range 2 {
			s.settlePayouts()
		}
		payout := s.wantPayout("final", id, sortie.PayoutDeferred)
		for _, says := range []string{s.stored(id).Contributor.String(), "sortie claim", factory.String()} {
			if !strings.Contains(payout.Reason, says) {
				t.Errorf("the reason is %q, want it to name %q", payout.Reason, says)
			}
		}
		s.wantTold("final", id, sortie.EventPayoutSent, 1)
		s.wantTold("final", id, sortie.EventPayoutDeferred, 1)
		s.wantTold("final", id, sortie.EventPayoutPaid, 0)
		if slots := s.slots(draft); slots.Deferred != 1 || slots.Paid != 0 {
			t.Errorf("%d deferred and %d paid, want 1 and 0", slots.Deferred, slots.Paid)
		}
		s.wantClosing(draft, true)
	})
}

// A contributor who redeems a receipt is paid. New settlements do not have that slot, and waiting
// ones leave it out.
func TestARedeemedReceiptIsNotPaidAgain(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, everyMinute)
		ctx := context.Background()
		draft, other := s.publish("k", 3, ""), s.publish("l", 1, "")
		ids := s.finals(draft, 3)
		late := s.finals(other, 1)[0]
		s.pay(ids[1])
		s.wantPayout("redeemed while it waited", ids[1], sortie.PayoutSent)
		s.wantTold("redeemed while it waited", ids[1], sortie.EventPayoutSent, 1)
		s.pass(time.Minute)
		s.settlePayouts()
		names := map[string]store.Draft{"k": draft, "l": other}
		open := s.wantSettlements("without the slot", names, "k2", "l1")
		_, slots := s.openSettlements()
		if !slices.Equal(slots[open[0].ID], []uint32{0, 2}) {
			t.Errorf("the settlement carries slots %v, want 0 and 2", slots[open[0].ID])
		}
		wantCall := func(when string, settlement store.Settlement, want ...uint32) SettleCall {
			t.Helper()
			call, err := s.ledger.SettleCall(ctx, settlement.Subject())
			s.must(err)
			var got []uint32
			for _, payment := range call.Settlement(len(call.Payouts)).Payments {
				got = append(got, payment.Slot)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: the call pays slots %v, want %v", when, got, want)
			}
			return call
		}
		wantCall("before", open[0], 0, 2)
		s.pay(ids[0], late)
		wantCall("redeemed while it was in a settlement", open[0], 2)
		wantCall("all of it redeemed", open[1])
		s.finalTip()
		s.settlePayouts()
		for _, id := range []string{ids[0], ids[1], late} {
			s.wantPayout("final", id, sortie.PayoutPaid)
			s.wantTold("final", id, sortie.EventPayoutPaid, 1)
		}
		s.wantPayout("not redeemed", ids[2], sortie.PayoutQueued)
		// The contract has paid a slot in a block that was not followed yet.
		s.must(s.ledger.LeaveOut(ctx, wantCall("still", open[0], 2), map[uint32]bool{2: true}))
		wantCall("left out", open[0])
		s.pay(ids[2])
		s.pass(time.Hour)
		s.settlePayouts()
		s.wantSettlements("nothing is left to pay", names, "k0", "l0")
		if wanted := s.count(`SELECT COUNT(*) FROM intents WHERE kind = 'settle'`); wanted != 2 {
			t.Errorf("there are %d settle intents, want the 2 from before", wanted)
		}
	})
}
