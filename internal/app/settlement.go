package app

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

const (
	// maxQueued is how many settlements of one token wait for the sender. Payouts beyond them stay
	// untouched, so a token that is paused or over its cap delays no other token, and a call costs
	// the same for any number of waiting payouts.
	maxQueued = 4
	// maxOpen is how many settlements are read at once.
	maxOpen = 256
)

// PaidSlots asks the contract which slots of a mission are paid. A quorum of nodes answers.
type PaidSlots func(ctx context.Context, factory sortie.Address, missionKey sortie.Hash, slots []uint32) ([]bool, error)

// settling is the configuration and state of settlements.
type settling struct {
	interval  time.Duration // that payouts of a mission wait for others
	paidSlots PaidSlots     // nil: events alone make payouts paid
	wake      func()        // makes the sender run now
	caps      payoutCaps

	mu    sync.Mutex
	sent  map[int64]sortie.Hash // by settlement: the transaction stored with its payouts; a missing entry costs a write
	after onchain.Place         // the last payment that was checked, so that payments that cannot be confirmed do not delay others
}

// Settle tracks settlements that were sent or have ended, makes new ones, and counts payments in
// final blocks as paid. A worker calls it each second. A failure does not hold up the rest.
func (l *Ledger) Settle(ctx context.Context) error {
	l.settling.mu.Lock()
	defer l.settling.mu.Unlock()
	if l.sender.IsZero() || l.settle == nil {
		return l.finalizePayouts(ctx) // contributors redeem their receipts themselves
	}
	queued, trackErr := l.trackSettlements(ctx)
	var startErr error
	if trackErr == nil {
		startErr = l.startSettlements(ctx, queued)
	}
	return errors.Join(trackErr, startErr, l.finalizePayouts(ctx), l.closeMissions(ctx))
}

// trackSettlements records what became of the open settlements, and counts, by token, those that
// the sender has not begun.
func (l *Ledger) trackSettlements(ctx context.Context) (queued map[sortie.Token]int, err error) {
	position, err := l.store.ChainPosition(ctx, l.domain.ChainID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil // no block was followed yet
	}
	if err != nil {
		return nil, err
	}
	queued = make(map[sortie.Token]int)
	known := make(map[int64]sortie.Hash)
	var failures []error
	for after := int64(0); ; {
		list, err := l.store.OpenSettlements(ctx, after, maxOpen)
		if err != nil {
			return nil, err
		}
		for _, settlement := range list {
			after = settlement.ID
			if settlement.Intent == store.IntentQueued && settlement.Transaction == (sortie.Hash{}) { // a reverted one waits before it is sent again
				queued[settlement.Token]++
			}
			if err := l.trackSettlement(ctx, settlement, position.Final); err != nil && !errors.Is(err, store.ErrConflict) {
				failures = append(failures, fmt.Errorf("track settlement %d: %w", settlement.ID, err))
				continue
			}
			known[settlement.ID] = settlement.Transaction
		}
		if len(list) < maxOpen {
			break
		}
	}
	l.settling.sent = known
	if len(failures) > 0 {
		l.log.Warn("settlements could not be tracked; this is tried again", "failed", len(failures), "error", failures[0])
	}
	return queued, nil
}

func (l *Ledger) trackSettlement(ctx context.Context, settlement store.Settlement, final uint64) error {
	switch settlement.Intent {
	case store.IntentSent, store.IntentMined:
		if settlement.Transaction == (sortie.Hash{}) || l.settling.sent[settlement.ID] == settlement.Transaction {
			return nil
		}
		return l.once(ctx, func(tx *writeTx) error {
			sent, err := tx.SendPayouts(settlement, settlement.Transaction)
			if err != nil {
				return err
			}
			tx.step(PayoutSent, len(sent))
			return tx.addPayoutEvents(settlement.DraftID, sortie.EventPayoutSent, sent)
		})
	case store.IntentDone, store.IntentVoid:
		if settlement.MinedBlock > final {
			return nil // the events of its block may not be followed yet
		}
		well, step := settlement.MinedBlock > 0, SettlementUndone
		if well {
			step = SettlementEnded
		}
		return l.once(ctx, func(tx *writeTx) error {
			tx.step(step, 1)
			return tx.EndSettlement(settlement, well)
		})
	default:
		return nil
	}
}

// startSettlements makes settlements of queued payouts, one for each mission, beginning with the
// mission that waits longest.
func (l *Ledger) startSettlements(ctx context.Context, queued map[sortie.Token]int) error {
	if halted, err := l.paymentsHalted(ctx); err != nil || halted {
		return err
	}
	var failures []error
	started := false
	for token := range l.tokens {
		room := maxQueued - queued[token]
		if room <= 0 {
			continue
		}
		missions, err := l.store.MissionsToSettle(ctx, token, l.now().Add(-l.settling.interval), room)
		if err != nil {
			return err
		}
		held := false
		for _, waiting := range missions {
			err := l.once(ctx, func(tx *writeTx) (err error) {
				held, err = tx.startSettlement(waiting, token)
				return err
			})
			started = started || err == nil
			if err == nil && held {
				break // smaller rewards must not overtake larger ones that wait for the cap
			}
			if err != nil && !errors.Is(err, store.ErrConflict) {
				failures = append(failures, fmt.Errorf("settle draft %s: %w", waiting.DraftID, err), l.postpone(ctx, waiting))
			}
		}
		l.settling.caps.holds[token].Store(held)
	}
	if started {
		l.settling.wake()
	}
	return errors.Join(failures...)
}

// postpone moves a mission that cannot be settled to the end of the queue.
func (l *Ledger) postpone(ctx context.Context, waiting store.WaitingMission) error {
	return l.once(ctx, func(tx *writeTx) error { return tx.Postpone(waiting) })
}

// startSettlement makes a settlement of the first payouts of a mission, as many as fit into the
// hourly cap. It holds a mission whose money is not in the contract, and one whose reward exceeds
// the cap.
func (tx *writeTx) startSettlement(waiting store.WaitingMission, token sortie.Token) (held bool, err error) {
	if halted, err := tx.paymentsHalted(); err != nil || halted {
		return false, err
	}
	state, err := tx.load(waiting.DraftID)
	if err != nil {
		return false, err
	}
	if !state.isOpen() {
		return false, tx.Postpone(waiting)
	}
	size, held, err := tx.roomInHour(waiting, token, state.draft)
	if err != nil {
		return false, err
	}
	switch {
	case held && size == 0:
		return true, nil // it keeps its place in the queue
	case size == 0:
		return false, tx.Postpone(waiting)
	}
	settlement, _, err := tx.StartSettlement(waiting, token, size)
	if err != nil {
		return false, err
	}
	tx.step(SettlementStarted, 1)
	_, _, err = tx.AddIntent(store.IntentSettle, settlement.Subject(), state.funding.ChainID, tx.core.sender)
	return held, err
}

// SettleCall is the data of a settlement's transaction, without what only the contract and the
// settler know.
type SettleCall struct {
	Domain       sortie.Domain // where the mission was funded
	MissionKey   sortie.Hash
	TokenAddress sortie.Address
	Reward       *big.Int
	Payouts      []store.Payout // to pay, in the order of their slots
	Size         int            // payouts that the settlement began with
	Waited       time.Duration  // since the settlement was made

	settlement store.Settlement
}

// Settlement is what the settler signs to pay the first payouts of a call.
func (c SettleCall) Settlement(number int) sortie.Settlement {
	payments := make([]sortie.Payment, number)
	for i, payout := range c.Payouts[:number] {
		payments[i] = sortie.Payment{Slot: payout.Slot, Recipient: payout.Recipient, SubmissionKey: sortie.SubmissionKey(payout.SubmissionID)}
	}
	return sortie.Settlement{MissionKey: c.MissionKey, Payments: payments}
}

// SettleCall returns what the settlement with this id still has to pay: nothing where all receipts
// were redeemed or the mission's money is not in the contract. It fails with a [PayoutsHaltedError]
// while payouts are halted.
func (l *Ledger) SettleCall(ctx context.Context, subject string) (SettleCall, error) {
	if err := l.mayPay(ctx); err != nil {
		return SettleCall{}, err
	}
	id, err := strconv.ParseInt(subject, 10, 64)
	if err != nil {
		return SettleCall{}, fmt.Errorf("settlement %q: its id is not a number", subject)
	}
	settlement, open, err := l.store.SettlementByID(ctx, id)
	if err != nil {
		return SettleCall{}, err
	}
	draft, err := l.store.DraftByDraftID(ctx, settlement.DraftID)
	if err != nil {
		return SettleCall{}, fmt.Errorf("settlement %d: %w", id, err)
	}
	funding, err := l.store.FundingOf(ctx, settlement.DraftID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return SettleCall{}, fmt.Errorf("settlement %d: %w", id, err)
	}
	if err != nil || funding.Closed != nil || settlement.Ended {
		open = nil
	}
	return SettleCall{
		Domain: sortie.Domain{ChainID: draft.ChainID, Factory: draft.Factory}, MissionKey: sortie.MissionKey(draft.MissionID),
		TokenAddress: draft.TokenAddress, Reward: draft.Reward, Payouts: open, Size: settlement.Size, Waited: l.now().Sub(settlement.CreatedAt), settlement: settlement,
	}, nil
}

// UnderWay is the sum, in base units of the call's token, of the payouts in transactions that no
// followed block has paid. The contract does not count them against its cap yet.
func (l *Ledger) UnderWay(ctx context.Context, call SettleCall) (*big.Int, error) {
	return l.store.UnderWay(ctx, call.settlement.Token, call.settlement.ID)
}

// ShrinkSettlement keeps the first payouts of a settlement without a transaction, and queues the
// others again.
func (l *Ledger) ShrinkSettlement(ctx context.Context, call SettleCall, keep int) error {
	return l.once(ctx, func(tx *writeTx) error {
		tx.step(SettlementShrunk, 1)
		return tx.ShrinkSettlement(call.settlement, keep)
	})
}

// LeaveOut removes slots from a settlement without a transaction: slots that the contract has paid,
// because their receipts were redeemed, and slots above the daily cap.
func (l *Ledger) LeaveOut(ctx context.Context, call SettleCall, slots map[uint32]bool) error {
	return l.once(ctx, func(tx *writeTx) error { return tx.LeaveOut(call.settlement, slots) })
}

// incidentPayoutFailed does not halt: the contract refuses one payout, or a mission's money left
// the contract before all was paid.
const incidentPayoutFailed = "payout_failed"

// SetPayoutAside marks a payout that the contract refuses as failed and removes it from its
// settlement. Its mission is not closed until an operator has handled it.
func (l *Ledger) SetPayoutAside(ctx context.Context, payout store.Payout, reason string) error {
	return l.once(ctx, func(tx *writeTx) error {
		if err := tx.FailPayout(payout, reason); err != nil {
			return err
		}
		tx.step(PayoutSetAside, 1)
		return tx.incident(incidentPayoutFailed, false,
			"The payout of submission %s (slot %d of draft %s) to %s is set aside: %s. Find out why; then: sortie payouts retry %s",
			payout.SubmissionID, payout.Slot, payout.DraftID, payout.Recipient, reason, payout.SubmissionID)
	})
}

// finalizePayouts marks payouts as paid, or deferred, when their blocks are final and the contract
// has their slots as paid.
func (l *Ledger) finalizePayouts(ctx context.Context) error {
	position, err := l.store.ChainPosition(ctx, l.domain.ChainID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	list, err := l.store.PayoutsToFinalize(ctx, position.Final, l.settling.after, maxDue)
	if err != nil {
		return err
	}
	l.settling.after = onchain.Place{} // the next call begins at the first payment
	if len(list) == maxDue {
		last := list[maxDue-1]
		l.settling.after = onchain.Place{Block: last.Block, Index: uint64(last.Seq)}
	}
	var order []string
	byMission := make(map[string][]store.Payout)
	for _, payout := range list {
		if byMission[payout.DraftID] == nil {
			order = append(order, payout.DraftID)
		}
		byMission[payout.DraftID] = append(byMission[payout.DraftID], payout)
	}
	var failures []error
	for _, draftID := range order {
		if err := l.finalizePayoutsOf(ctx, draftID, byMission[draftID]); err != nil {
			failures = append(failures, fmt.Errorf("count payouts of draft %s as paid: %w", draftID, err))
		}
	}
	return errors.Join(failures...)
}

func (l *Ledger) finalizePayoutsOf(ctx context.Context, draftID string, payouts []store.Payout) error {
	draft, err := l.store.DraftByDraftID(ctx, draftID)
	if err != nil {
		return err
	}
	if payouts, err = l.paidInContract(ctx, draft, payouts); err != nil {
		return err
	}
	return l.write(ctx, func(tx *writeTx) error {
		if err := tx.lockChain(); err != nil { // no reorganization during the transaction
			return err
		}
		position, err := tx.ChainPosition(draft.ChainID)
		if err != nil {
			return err
		}
		var still []store.Payout
		for _, payout := range payouts {
			if payout.Block <= position.Final {
				still = append(still, payout)
			}
		}
		final, err := tx.FinalizePayouts(draftID, still)
		if err != nil {
			return err
		}
		var paid, deferred []store.Payout
		for _, payout := range final {
			if payout.Credited {
				deferred = append(deferred, payout)
			} else {
				paid = append(paid, payout)
			}
		}
		tx.step(PayoutPaid, len(paid))
		tx.step(PayoutDeferred, len(deferred))
		if err := tx.addPayoutEvents(draftID, sortie.EventPayoutPaid, paid); err != nil {
			return err
		}
		return tx.addPayoutEvents(draftID, sortie.EventPayoutDeferred, deferred)
	})
}

// paidInContract returns the payouts whose slots a quorum of nodes has as paid.
func (l *Ledger) paidInContract(ctx context.Context, draft store.Draft, payouts []store.Payout) ([]store.Payout, error) {
	if l.settling.paidSlots == nil {
		return payouts, nil
	}
	slots := make([]uint32, len(payouts))
	for i, payout := range payouts {
		slots[i] = payout.Slot
	}
	paid, err := l.settling.paidSlots(ctx, draft.Factory, sortie.MissionKey(draft.MissionID), slots)
	if err != nil {
		return nil, err
	}
	confirmed := payouts[:0:0]
	for i, payout := range payouts {
		if paid[i] {
			confirmed = append(confirmed, payout)
		}
	}
	if len(confirmed) < len(payouts) {
		l.log.Warn("a block paid slots that the contract does not have as paid", "draftId", draft.ID, "payouts", len(payouts)-len(confirmed))
	}
	return confirmed, nil
}

// payoutFacts is the data of an event about a payout.
type payoutFacts struct {
	DraftID         string       `json:"draftId,omitempty"` // for the creator only
	MissionID       string       `json:"missionId"`
	SubmissionID    string       `json:"submissionId"`
	Recipient       string       `json:"recipient"`
	Token           sortie.Token `json:"token"`
	AmountBaseUnits string       `json:"amountBaseUnits"`
	TransactionHash *sortie.Hash `json:"transactionHash"`
	BlockNumber     *uint64      `json:"blockNumber,omitempty"`
}

// addPayoutEvents adds an event for the contributor and one for the creator of each payout.
func (tx *writeTx) addPayoutEvents(draftID string, event sortie.EventType, payouts []store.Payout) error {
	if len(payouts) == 0 {
		return nil
	}
	slots, err := tx.SlotsOf(draftID)
	if err != nil {
		return err
	}
	for _, payout := range payouts {
		facts := payoutFacts{
			MissionID: slots.MissionID, SubmissionID: payout.SubmissionID, Recipient: payout.Recipient.String(), Token: payout.Token,
			AmountBaseUnits: payout.Amount.String(), TransactionHash: &payout.Transaction,
		}
		if payout.Block != 0 {
			facts.BlockNumber = &payout.Block
		}
		if payout.Recipient != slots.Creator {
			if err := tx.addWalletEvent(payout.Recipient, draftID, event, facts); err != nil {
				return err
			}
		}
		facts.DraftID = draftID
		if err := tx.addWalletEvent(slots.Creator, draftID, event, facts); err != nil {
			return err
		}
	}
	return nil
}
