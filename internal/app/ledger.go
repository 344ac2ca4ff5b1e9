package app

import (
	"context"
	"errors"
	"math/big"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// moneyOf are the sums of a published mission by its counters: payments count when their blocks are
// final.
func moneyOf(draft store.Draft, slots store.Slots, closing *onchain.Closing) bookSums {
	sums := newBookSums()
	sums.funded = times(draft.Reward, int64(draft.TargetCount))
	sums.paid, sums.deferred = times(draft.Reward, int64(slots.Paid)), times(draft.Reward, int64(slots.Deferred))
	if closing != nil {
		sums.refunded.Set(closing.Refund)
	}
	sums.remaining.Sub(sums.funded, sums.spent())
	sums.remaining.Sub(sums.remaining, sums.refunded)
	return sums
}

// MissionLedger returns the sums of a published mission and a page of its payments in the order of
// their slots. It reveals nothing that is not public on the chain.
//
// It fails with not_found and invalid_cursor.
func (a *App) MissionLedger(ctx context.Context, missionID string, page Page) (sortie.MissionLedger, error) {
	slots, err := a.publishedSlots(ctx, missionID)
	if err != nil {
		return sortie.MissionLedger{}, err
	}
	list := "ledger\n" + slots.MissionID
	next, err := a.cursors.open(list, page.Cursor)
	if err != nil {
		return sortie.MissionLedger{}, err
	}
	draft, err := a.store.DraftByDraftID(ctx, slots.DraftID)
	if err != nil {
		return sortie.MissionLedger{}, storeError(err)
	}
	position, err := a.position(ctx)
	if err != nil {
		return sortie.MissionLedger{}, err
	}
	answer := sortie.MissionLedger{
		OK: true, MissionID: draft.MissionID, ChainID: draft.ChainID, Factory: draft.Factory, MissionKey: sortie.MissionKey(draft.MissionID),
		Token: draft.Token, TokenAddress: draft.TokenAddress, Decimals: a.tokens[draft.Token].Decimals, RewardBaseUnits: draft.Reward.String(),
		TargetCount: draft.TargetCount, PaidCount: slots.Paid, DeferredCount: slots.Deferred, AcceptedCount: slots.Accepted, Final: slots.CompletedAt != nil,
		Payments: []sortie.LedgerPayment{}, Summary: sortie.LedgerSummary{GeneratedAt: sortie.FormatTime(a.now())},
	}
	var closing *onchain.Closing
	funding, err := a.store.FundingOf(ctx, draft.ID)
	switch {
	case err == nil:
		closing = funding.Closed
		answer.Funding = &sortie.LedgerEntry{TransactionHash: funding.Transaction, BlockNumber: funding.Block, Final: funding.Block <= position.Final}
		if closing != nil {
			answer.Closing = &sortie.LedgerEntry{TransactionHash: closing.Transaction, BlockNumber: closing.Block, Final: closing.Block <= position.Final}
		}
	case !errors.Is(err, store.ErrNotFound):
		return sortie.MissionLedger{}, storeError(err)
	}
	answer.BookSums = moneyOf(draft, slots.Slots, closing).wire()
	return answer, a.addPayments(ctx, &answer, draft.ID, list, next, page.limit())
}

// addPayments adds a page of payments. A position in the list is the next slot.
func (a *App) addPayments(ctx context.Context, answer *sortie.MissionLedger, draftID, list string, next int64, limit int) error {
	payments, err := a.store.PaymentsOf(ctx, draftID, next-1, limit+1) // one more shows whether there is another page
	if err != nil {
		return storeError(err)
	}
	if len(payments) > limit {
		cursor := a.cursors.seal(list, int64(payments[limit].Slot))
		answer.Summary.NextCursor = &cursor
		payments = payments[:limit]
	}
	for _, payment := range payments {
		answer.Payments = append(answer.Payments, sortie.LedgerPayment{
			Slot: payment.Slot, Recipient: payment.Recipient, SubmissionKey: sortie.SubmissionKey(payment.SubmissionID),
			AmountBaseUnits: payment.Amount.String(), Status: payment.Status, TransactionHash: payment.Transaction, BlockNumber: payment.Block,
		})
	}
	answer.Summary.ReturnedPayments = len(payments)
	return nil
}

// missionMoney are the sums of a published mission for its creator.
func (a *App) missionMoney(draft store.Draft, slots store.Slots, closing *onchain.Closing) *sortie.MissionMoney {
	sums := moneyOf(draft, slots, closing)
	committed, left := times(draft.Reward, int64(slots.Accepted-slots.Paid-slots.Deferred)), new(big.Int)
	if closing != nil || committed.Cmp(sums.remaining) > 0 { // nothing is committed after the money left the contract
		committed.Set(sums.remaining)
	} else {
		left.Sub(sums.remaining, committed)
	}
	return &sortie.MissionMoney{
		Token: draft.Token, Decimals: a.tokens[draft.Token].Decimals, Funded: sums.funded.String(), Spent: sums.spent().String(),
		Committed: committed.String(), Left: left.String(), Refunded: sums.refunded.String(),
	}
}
