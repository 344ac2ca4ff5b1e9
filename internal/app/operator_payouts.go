package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// PayoutQuery selects payouts. Empty members select all.
type PayoutQuery struct {
	Page
	Status    sortie.PayoutStatus
	MissionID string // or a draft id
	Recipient sortie.Address
}

// Payouts returns a page of payouts, newest first.
//
// It fails with wallet_not_allowed, not_found for a mission that is not published, and
// invalid_cursor.
func (o *Operators) Payouts(ctx context.Context, operator sortie.Address, query PayoutQuery) (sortie.PayoutPage, error) {
	if err := o.admit(operator); err != nil {
		return sortie.PayoutPage{}, err
	}
	limit := query.limit()
	filter := store.PayoutFilter{Status: query.Status, Recipient: query.Recipient, Limit: limit + 1} // one more shows whether there is another page
	var err error
	if query.MissionID != "" {
		if filter.DraftID, err = o.queueMission(ctx, query.MissionID); err != nil {
			return sortie.PayoutPage{}, err
		}
	}
	list := fmt.Sprintf("payouts\n%s\n%s\n%s", filter.Status, filter.DraftID, filter.Recipient)
	if filter.BeforeSeq, err = o.cursors.open(list, query.Cursor); err != nil {
		return sortie.PayoutPage{}, err
	}
	stored, err := o.store.Payouts(ctx, filter)
	if err != nil {
		return sortie.PayoutPage{}, storeError(err)
	}
	halt, err := o.store.PayoutHalt(ctx)
	if err != nil {
		return sortie.PayoutPage{}, storeError(err)
	}
	answer := sortie.PayoutPage{
		OK: true, Payouts: []sortie.ListedPayout{}, Halt: wireHalt(halt), Summary: sortie.PayoutSummary{GeneratedAt: sortie.FormatTime(o.now())},
	}
	if len(stored) > limit {
		stored = stored[:limit]
		cursor := o.cursors.seal(list, stored[limit-1].Seq)
		answer.Summary.NextCursor = &cursor
	}
	for _, payout := range stored {
		answer.Payouts = append(answer.Payouts, wirePayout(payout))
	}
	answer.Summary.ReturnedPayouts = len(answer.Payouts)
	return answer, nil
}

func wirePayout(payout store.ListedPayout) sortie.ListedPayout {
	shown := sortie.ListedPayout{
		SubmissionID: payout.SubmissionID, MissionID: payout.MissionID, DraftID: payout.DraftID, Slot: payout.Slot, Recipient: payout.Recipient,
		Token: payout.Token, AmountBaseUnits: payout.Amount.String(), Status: payout.Status, Problem: payout.Problem,
		QueuedAt: sortie.FormatTime(payout.QueuedAt), UpdatedAt: sortie.FormatTime(payout.UpdatedAt),
	}
	if payout.Settlement != 0 {
		shown.SettlementID = &payout.Settlement
	}
	if payout.Transaction != (sortie.Hash{}) {
		shown.TransactionHash = &payout.Transaction
	}
	if payout.Block != 0 {
		shown.BlockNumber = &payout.Block
	}
	return shown
}

// Payout returns everything about the payout of a submission.
//
// It fails with wallet_not_allowed, and not_found when the submission has no payout.
func (o *Operators) Payout(ctx context.Context, operator sortie.Address, submissionID string) (sortie.PayoutDetail, error) {
	if err := o.admit(operator); err != nil {
		return sortie.PayoutDetail{}, err
	}
	if !mission.ValidSubmissionID(submissionID) {
		return sortie.PayoutDetail{}, errNoPayout()
	}
	payout, err := o.store.PayoutWithMission(ctx, submissionID)
	if errors.Is(err, store.ErrNotFound) {
		return sortie.PayoutDetail{}, errNoPayout()
	}
	if err != nil {
		return sortie.PayoutDetail{}, storeError(err)
	}
	intent, err := o.intentOf(ctx, payout.Payout)
	if err != nil {
		return sortie.PayoutDetail{}, err
	}
	scene, err := o.payoutScene(ctx, payout.DraftID, false)
	if err != nil {
		return sortie.PayoutDetail{}, err
	}
	answer := sortie.PayoutDetail{OK: true, Payout: wirePayout(payout), WaitsFor: scene.waits(payout.Payout, intent)}
	if answer.WaitsFor == nil {
		answer.WaitsFor = []sortie.PayoutWait{}
	}
	if payout.Settlement == 0 {
		return answer, nil
	}
	settlement, _, err := o.store.SettlementByID(ctx, payout.Settlement)
	if err != nil {
		return sortie.PayoutDetail{}, storeError(err)
	}
	answer.Settlement = wireSettlement(settlement, intent)
	return answer, nil
}

func errNoPayout() error {
	return sortie.NewError(sortie.CodeNotFound, "no submission with this id has a payout: check the id; an acceptance has one as soon as it is final")
}

func wireSettlement(settlement store.Settlement, intent *store.Intent) *sortie.PayoutSettlement {
	shown := &sortie.PayoutSettlement{
		ID: settlement.ID, Size: settlement.Size, CreatedAt: sortie.FormatTime(settlement.CreatedAt), Ended: settlement.Ended, Attempts: []sortie.PayoutAttempt{},
	}
	if intent == nil {
		return shown
	}
	shown.IntentStatus, shown.Problem = string(intent.Status), intent.Problem
	if intent.MinedBlock != 0 {
		shown.MinedBlock = &intent.MinedBlock
	}
	for _, attempt := range intent.Attempts {
		shown.Attempts = append(shown.Attempts, sortie.PayoutAttempt{
			TransactionHash: attempt.Hash, Nonce: attempt.Nonce, MaxFeePerGas: attempt.FeeCap.String(), SentAt: sortie.FormatTime(attempt.SentAt),
		})
	}
	return shown
}

// RetryPayout queues a failed payout again.
//
// It fails with wallet_not_allowed, not_found, validation_failed, and wrong_state when the payout
// has not failed, or its mission's money has left the contract.
func (o *Operators) RetryPayout(ctx context.Context, order Order, submissionID, reason string) (sortie.PayoutDetail, error) {
	if err := o.admit(order.Operator); err != nil {
		return sortie.PayoutDetail{}, err
	}
	reason, err := mission.NormalizeReason(reason, true)
	if err != nil {
		return sortie.PayoutDetail{}, err
	}
	if !mission.ValidSubmissionID(submissionID) {
		return sortie.PayoutDetail{}, errNoPayout()
	}
	err = o.write(ctx, func(tx *writeTx) error {
		if err := tx.lockChain(); err != nil { // no closing during the transaction
			return err
		}
		return tx.applyOrder(order, "payout.retried", submissionID, func() (map[string]any, error) { return tx.retryPayout(submissionID, reason) })
	})
	if errors.Is(err, store.ErrNotFound) {
		return sortie.PayoutDetail{}, errNoPayout()
	}
	if err != nil {
		return sortie.PayoutDetail{}, storeError(err)
	}
	return o.Payout(ctx, order.Operator, submissionID)
}

func (tx *writeTx) retryPayout(submissionID, reason string) (map[string]any, error) {
	payout, err := tx.PayoutOf(submissionID)
	if err != nil {
		return nil, err
	}
	if payout.Status != sortie.PayoutFailed {
		return nil, sortie.NewError(sortie.CodeWrongState, "this payout is %s: only one that was set aside (failed) is tried again; sortie payouts show %s shows what it waits for",
			payout.Status, submissionID).Detail("payoutStatus", payout.Status)
	}
	state, err := tx.load(payout.DraftID)
	if err != nil {
		return nil, err
	}
	switch {
	case state.funding != nil && state.funding.Closed != nil:
		return nil, sortie.NewError(sortie.CodeWrongState, "the money of this mission left the contract in transaction %s, so it can no longer be paid: agree with its contributor on another way",
			state.funding.Closed.Transaction).Detail("payoutStatus", payout.Status).Detail("transactionHash", state.funding.Closed.Transaction)
	case state.funding == nil:
		return nil, sortie.NewError(sortie.CodeWrongState, "the mission's funding is not on the chain now, because of a reorganization: see sortie chain status, and retry when it is back").
			Detail("payoutStatus", payout.Status)
	}
	if err := tx.RetryPayout(payout); err != nil {
		return nil, err
	}
	tx.step(PayoutRetried, 1)
	return map[string]any{
		"draftId": payout.DraftID, "slot": payout.Slot, "recipient": payout.Recipient, "problem": payout.Problem, "reason": reason,
	}, nil
}

// HaltPayouts stops new settlements and closings of published missions in all processes, until
// [Operators.ResumePayouts]. Transactions that were sent are still followed. If payouts are halted,
// the answer is the existing halt. Every order is recorded in the audit log, so that it cannot be
// replayed.
//
// It fails with wallet_not_allowed and validation_failed.
func (o *Operators) HaltPayouts(ctx context.Context, order Order, reason string) (sortie.PayoutsHalted, error) {
	return o.orderHalt(ctx, order, reason, "payouts.halted", func(tx *store.Tx, reason string) (bool, error) {
		_, halted, err := tx.HaltPayouts(store.PayoutHalt{By: order.Operator.String(), Reason: reason})
		return halted, err
	})
}

// ResumePayouts ends the halt of [Operators.HaltPayouts], also that of another operator. It changes
// nothing when payouts are not halted.
//
// It fails with wallet_not_allowed and validation_failed.
func (o *Operators) ResumePayouts(ctx context.Context, order Order, reason string) (sortie.PayoutsHalted, error) {
	answer, err := o.orderHalt(ctx, order, reason, "payouts.resumed", func(tx *store.Tx, _ string) (bool, error) {
		return tx.ResumePayouts()
	})
	if err == nil {
		o.settling.wake()
	}
	return answer, err
}

func (o *Operators) orderHalt(
	ctx context.Context, order Order, reason, action string, do func(*store.Tx, string) (changed bool, err error),
) (sortie.PayoutsHalted, error) {
	if err := o.admit(order.Operator); err != nil {
		return sortie.PayoutsHalted{}, err
	}
	reason, err := mission.NormalizeReason(reason, true)
	if err != nil {
		return sortie.PayoutsHalted{}, err
	}
	err = o.write(ctx, func(tx *writeTx) error {
		return tx.applyOrder(order, action, fmt.Sprint(o.domain.ChainID), func() (map[string]any, error) {
			changed, err := do(tx.Tx, reason)
			return map[string]any{"reason": reason, "changed": changed}, err
		})
	})
	if err != nil {
		return sortie.PayoutsHalted{}, storeError(err)
	}
	halt, err := o.store.PayoutHalt(ctx)
	if err != nil {
		return sortie.PayoutsHalted{}, storeError(err)
	}
	return sortie.PayoutsHalted{OK: true, Halted: halt != nil, Halt: wireHalt(halt)}, nil
}

func wireHalt(halt *store.PayoutHalt) *sortie.PayoutHalt {
	if halt == nil {
		return nil
	}
	return &sortie.PayoutHalt{By: halt.By, Since: sortie.FormatTime(halt.Since), Reason: halt.Reason}
}
