package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

const (
	// signing is how many receipts are signed at once: a remote signer is slow.
	signing = 8
	// signingTime is the timeout for signing one receipt.
	signingTime = 30 * time.Second
)

// SignReceipts signs, once, a settlement for every slot that was taken: the receipt, which the
// contributor can redeem without the service. A worker calls it each second, apart from
// [Ledger.DueByTime], which must not wait for a slow signer. Receipts that cannot be signed are
// skipped and tried again with the next call.
func (l *Ledger) SignReceipts(ctx context.Context) error {
	if l.settle == nil {
		return nil
	}
	var failures []error
	for after := (store.ReceiptCursor{}); ; {
		if halted, err := l.store.Halted(ctx); err != nil || halted {
			return errors.Join(append(failures, err)...)
		}
		list, err := l.store.ReceiptsDue(ctx, after, maxDue)
		if err != nil {
			return errors.Join(append(failures, fmt.Errorf("find receipts to sign: %w", err))...)
		}
		if failed, err := signAll(list, func(submission store.Submission) error { return l.signReceipt(ctx, submission) }); failed > 0 {
			failures = append(failures, fmt.Errorf("sign receipts: %d of %d failed, for example: %w", failed, len(list), err))
		}
		if len(list) < maxDue || ctx.Err() != nil {
			return errors.Join(failures...)
		}
		after = store.AfterReceipt(list[len(list)-1])
	}
}

// signAll signs receipts concurrently. It returns how many could not be signed, and one of the
// errors.
func signAll(list []store.Submission, sign func(store.Submission) error) (failed int, failure error) {
	failures := make([]error, len(list))
	var signers errgroup.Group
	signers.SetLimit(signing)
	for i, submission := range list {
		signers.Go(func() error {
			failures[i] = sign(submission)
			return nil
		})
	}
	_ = signers.Wait() // they return no error
	for i, err := range failures {
		if err != nil && !errors.Is(err, store.ErrConflict) { // another process signed it
			failed++
			failure = fmt.Errorf("submission %s: %w", list[i].ID, err)
		}
	}
	return failed, failure
}

// signReceipt signs outside of a transaction, because a signer may be slow. Two processes that sign
// the same receipt sign the same bytes. A receipt that was signed while an incident began to halt
// the service is discarded.
func (l *Ledger) signReceipt(ctx context.Context, submission store.Submission) error {
	receipt, err := l.signSettlement(ctx, submission.Mission.Domain, sortie.Settlement{
		MissionKey: sortie.MissionKey(submission.Mission.MissionID),
		Payments: []sortie.Payment{{
			Slot: *submission.Slot, Recipient: submission.Contributor, SubmissionKey: sortie.SubmissionKey(submission.ID),
		}},
	})
	if err != nil {
		return err
	}
	return l.unlessHalted(ctx, func(tx *writeTx) error { return tx.PutReceipt(submission, receipt, l.renewals.settler) })
}

// unlessHalted runs a transaction about something that was read before it, unless an incident halts
// the service.
func (l *Ledger) unlessHalted(ctx context.Context, fn func(*writeTx) error) error {
	return l.once(ctx, func(tx *writeTx) error {
		if halted, err := tx.Halted(); err != nil || halted {
			return err
		}
		return fn(tx)
	})
}

// storedReceipt is the part of a [sortie.Receipt] that is stored as it is sent.
type storedReceipt struct {
	sortie.Settlement
	Signature sortie.Bytes `json:"signature"`
}

func (l *Ledger) signSettlement(ctx context.Context, domain sortie.Domain, settlement sortie.Settlement) (json.RawMessage, error) {
	limited, cancel := context.WithTimeout(ctx, signingTime)
	defer cancel()
	signature, err := l.settle(limited, domain, settlement)
	if err != nil {
		return nil, err
	}
	return json.Marshal(storedReceipt{settlement, signature})
}

// wireReceipt is a receipt with everything that can keep it from being paid.
func wireReceipt(submission store.Submission) (*sortie.Receipt, error) {
	receipt := new(sortie.Receipt)
	if err := json.Unmarshal(submission.Receipt, receipt); err != nil {
		return nil, fmt.Errorf("read the receipt of submission %s: %w", submission.ID, err)
	}
	mission := submission.Mission
	receipt.ChainID, receipt.Factory = mission.Domain.ChainID, mission.Domain.Factory
	receipt.MissionID, receipt.SubmissionID = mission.MissionID, submission.ID
	receipt.Token, receipt.AmountBaseUnits = mission.Token, mission.Reward.String()
	receipt.ReclaimAfter = optionalTime(mission.Reclaim)
	if !submission.Signer.IsZero() {
		receipt.Signer = &submission.Signer
	}
	reclaim := "the creator may reclaim the mission's money 180 days after it was funded, and this receipt is worth nothing then; redeem it before"
	if receipt.ReclaimAfter != nil {
		reclaim = fmt.Sprintf("from %s on the creator may reclaim the mission's money, and this receipt is worth nothing then; redeem it before", *receipt.ReclaimAfter)
	}
	receipt.DependsOn = []sortie.ReceiptCondition{
		{Code: sortie.ReceiptPause, Message: "it waits while the contract is paused"},
		{Code: sortie.ReceiptCap, Message: "it waits for a UTC day on which the contract's daily cap of the token has room for it"},
		{Code: sortie.ReceiptRole, Message: "its signer must be a settler of the contract; after a change of that key the service signs it again, so read it again"},
		{Code: sortie.ReceiptClose, Message: "it is worth nothing after the mission is closed, which the service does only when everything accepted is paid"},
		{Code: sortie.ReceiptReclaim, Message: reclaim},
	}
	return receipt, nil
}
