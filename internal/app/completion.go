package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// closeMissions makes the intents to close missions that have nothing left to pay, which refunds
// the rest to the creator.
func (l *Ledger) closeMissions(ctx context.Context) error {
	halted, err := l.paymentsHalted(ctx)
	if err != nil || halted {
		return err
	}
	list, err := l.store.SlotsToClose(ctx, l.now(), maxDue)
	if err != nil {
		return fmt.Errorf("find missions to close: %w", err)
	}
	var failures []error
	for _, draftID := range list {
		if err := l.write(ctx, func(tx *writeTx) error { return tx.startClosing(draftID) }); err != nil {
			failures = append(failures, fmt.Errorf("close draft %s: %w", draftID, err))
		}
	}
	if len(list) > 0 {
		l.settling.wake()
	}
	return errors.Join(failures...)
}

func (tx *writeTx) startClosing(draftID string) error {
	if err := tx.lockChain(); err != nil { // no reorganization during the transaction
		return err
	}
	if halted, err := tx.paymentsHalted(); err != nil || halted {
		return err
	}
	started, err := tx.StartClosing(draftID)
	if err != nil || !started {
		return err
	}
	tx.step(ClosingStarted, 1)
	_, _, err = tx.AddIntent(IntentClose, draftID, tx.core.domain.ChainID, tx.core.sender)
	return err
}

// completeMissions completes the missions whose money left the contract in a final block.
func (l *Ledger) completeMissions(ctx context.Context) error {
	halted, err := l.store.Halted(ctx)
	if err != nil || halted {
		return err
	}
	position, err := l.store.ChainPosition(ctx, l.domain.ChainID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var failures []error
	for after := ""; ; {
		list, err := l.store.SlotsToComplete(ctx, position.Final, after, maxDue)
		if err != nil {
			return fmt.Errorf("find complete missions: %w", err)
		}
		for _, draftID := range list {
			after = draftID
			if err := l.write(ctx, func(tx *writeTx) error { return tx.complete(draftID) }); err != nil {
				failures = append(failures, fmt.Errorf("complete draft %s: %w", draftID, err))
			}
		}
		if len(list) < maxDue {
			return errors.Join(failures...)
		}
	}
}

// completionFacts is the data of the event that completes a mission: its sums.
type completionFacts struct {
	DraftID             string       `json:"draftId"`
	MissionID           string       `json:"missionId"`
	AcceptedSubmissions int          `json:"acceptedSubmissions"`
	PaidSubmissions     int          `json:"paidSubmissions"`
	DeferredSubmissions int          `json:"deferredSubmissions"`
	UnpaidSubmissions   int          `json:"unpaidSubmissions"` // the money left before they were paid
	Token               sortie.Token `json:"token"`
	FundedBaseUnits     string       `json:"fundedBaseUnits"`
	PaidBaseUnits       string       `json:"paidBaseUnits"`
	DeferredBaseUnits   string       `json:"deferredBaseUnits"`
	RefundBaseUnits     string       `json:"refundBaseUnits"`
	RefundDeferred      bool         `json:"refundDeferred"`
	TransactionHash     sortie.Hash  `json:"transactionHash"` // that closed it
	BlockNumber         uint64       `json:"blockNumber"`
}

// complete adds one event for the creator when the mission cannot change any more: a final block
// closed it and all its submissions are decided. Payouts that a reclaim left unpaid are marked as
// failed.
func (tx *writeTx) complete(draftID string) error {
	if err := tx.lockChain(); err != nil { // no reorganization during the transaction
		return err
	}
	state, err := tx.load(draftID)
	if err != nil {
		return err
	}
	left, err := tx.moneyLeft(draftID)
	if err != nil || !left {
		return err
	}
	if err := tx.setUnpaidAside(state); err != nil {
		return err
	}
	completed, err := tx.CompleteSlots(draftID)
	if err != nil || !completed {
		return err
	}
	slots, err := tx.SlotsOf(draftID)
	if err != nil {
		return err
	}
	closing := state.funding.Closed
	sums := moneyOf(state.draft, slots, closing)
	return tx.addWalletEvent(slots.Creator, draftID, sortie.EventMissionCompleted, completionFacts{
		DraftID: draftID, MissionID: slots.MissionID, AcceptedSubmissions: slots.Accepted, PaidSubmissions: slots.Paid,
		DeferredSubmissions: slots.Deferred, UnpaidSubmissions: slots.Failed, Token: slots.Token,
		FundedBaseUnits: sums.funded.String(), PaidBaseUnits: sums.paid.String(), DeferredBaseUnits: sums.deferred.String(),
		RefundBaseUnits: sums.refunded.String(), RefundDeferred: closing.RefundDeferred,
		TransactionHash: closing.Transaction, BlockNumber: closing.Block,
	})
}

// problemMoneyLeft is the problem of a payout that can no longer be paid.
const problemMoneyLeft = "the mission's money left the contract before it was paid"

// setUnpaidAside marks the payouts as failed that can no longer be paid because the mission's money
// left the contract, and opens an incident.
func (tx *writeTx) setUnpaidAside(d *draftState) error {
	unpaid, err := tx.FailUnpaid(d.draft.ID, problemMoneyLeft, maxDue)
	if err != nil || unpaid == 0 {
		return err
	}
	tx.step(PayoutSetAside, unpaid)
	return tx.incident(incidentPayoutFailed, false,
		"The money of mission %s (draft %s) left the contract in transaction %s before everything accepted was paid: sortie payouts list --status failed --mission %s. "+
			"Agree with the contributors on another way.",
		d.draft.MissionID, d.draft.ID, d.funding.Closed.Transaction, d.draft.MissionID)
}
