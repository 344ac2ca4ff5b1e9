package app

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// IntentClose is the kind of the intents that close a mission, which refunds the rest of its money.
// Their subject is the draft id.
const IntentClose = "close"

// StartRefund is the refund job: it makes the intent to close the draft's mission, unless no refund
// is due. Called again it does nothing.
func (l *Ledger) StartRefund(ctx context.Context, draftID string) error {
	err := l.write(ctx, func(tx *writeTx) error {
		state, err := tx.load(draftID)
		if err != nil || !state.refundDue() {
			return err
		}
		if l.sender.IsZero() {
			return errors.New("no sender is configured to pay for it")
		}
		_, _, err = tx.AddIntent(IntentClose, draftID, state.funding.ChainID, l.sender)
		return err
	})
	if err != nil {
		return fmt.Errorf("start the refund of draft %s: %w", draftID, err)
	}
	return nil
}

// CloseCall is the data of a close transaction, without what only the contract and the settler
// know.
type CloseCall struct {
	Domain     sortie.Domain // where the mission was funded
	MissionKey sortie.Hash
	Token      sortie.Address
	Refund     *big.Int // base units
	Paid       *uint64  // slots that must be paid before; nil: any number
}

// CloseCall returns how to close the mission of a draft. Needed is false when there is nothing to
// close: the funding was removed, the mission is closed, or it was neither rejected nor completely
// paid. It fails with a [PayoutsHaltedError] for a published mission while payouts are halted.
func (l *Ledger) CloseCall(ctx context.Context, draftID string) (call CloseCall, needed bool, err error) {
	draft, err := l.store.DraftByDraftID(ctx, draftID)
	if err != nil {
		return CloseCall{}, false, fmt.Errorf("close draft %s: %w", draftID, err)
	}
	funding, err := l.store.FundingOf(ctx, draftID)
	if errors.Is(err, store.ErrNotFound) {
		return CloseCall{}, false, nil
	}
	if err != nil {
		return CloseCall{}, false, fmt.Errorf("close draft %s: %w", draftID, err)
	}
	call = CloseCall{Domain: sortie.Domain{ChainID: draft.ChainID, Factory: draft.Factory}, MissionKey: funding.MissionKey, Token: draft.TokenAddress, Refund: unspent(draft, 0)}
	if draft.State.RefundDue(funding.Closed != nil) || funding.Closed != nil {
		return call, funding.Closed == nil, nil
	}
	if err := l.mayPay(ctx); err != nil {
		return CloseCall{}, false, err
	}
	slots, err := l.store.SlotsOf(ctx, draftID)
	if errors.Is(err, store.ErrNotFound) {
		return call, false, nil
	}
	if err != nil {
		return CloseCall{}, false, fmt.Errorf("close draft %s: %w", draftID, err)
	}
	paid := uint64(slots.Finals)
	call.Paid, call.Refund = &paid, unspent(draft, slots.Finals)
	return call, slots.Closing && slots.Unpaid() == 0, nil
}

// unspent is the rest of a mission's funding after some of its slots are paid, in base units.
func unspent(draft store.Draft, paid int) *big.Int {
	return new(big.Int).Mul(draft.Reward, big.NewInt(int64(draft.TargetCount-paid)))
}

// RetryRefunds queues the refunds and closings that are due and have neither a job nor an intent,
// and returns their number. There are none unless a job was lost; the periodic reconcile calls it.
func (l *Ledger) RetryRefunds(ctx context.Context) (queued int, err error) {
	const pageSize = 256
	lost, err := l.store.LostClosings(ctx, pageSize)
	if err != nil {
		return 0, fmt.Errorf("find lost closings: %w", err)
	}
	for _, draftID := range lost {
		err := l.write(ctx, func(tx *writeTx) error {
			_, _, err := tx.AddIntent(IntentClose, draftID, l.domain.ChainID, l.sender)
			return err
		})
		if err != nil {
			return queued, fmt.Errorf("close draft %s again: %w", draftID, err)
		}
		queued++
	}
	for after := int64(0); ; {
		page, err := l.store.FundedDrafts(ctx, l.domain.ChainID, after, pageSize)
		if err != nil {
			return queued, fmt.Errorf("find due refunds: %w", err)
		}
		for _, funded := range page {
			after = funded.Seq
			retried, err := l.retryRefund(ctx, funded)
			if err != nil {
				return queued, fmt.Errorf("retry the refund of draft %s: %w", funded.Draft.ID, err)
			}
			if retried {
				queued++
			}
		}
		if len(page) < pageSize {
			return queued, nil
		}
	}
}

func (l *Ledger) retryRefund(ctx context.Context, funded store.FundedDraft) (bool, error) {
	if !funded.State.RefundDue(funded.Closed != nil) {
		return false, nil
	}
	intent, err := l.store.IntentOf(ctx, IntentClose, funded.Draft.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	if err == nil && intent.Status != store.IntentDone && intent.Status != store.IntentVoid {
		return false, nil // it has an intent
	}
	l.log.Warn("a refund is due and nothing works on it: it is queued again", "draftId", funded.Draft.ID)
	return true, l.write(ctx, func(tx *writeTx) error { return l.queue.Refund(tx.Tx, funded.Draft.ID) })
}
