package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// renewals is the configuration and state of signing receipts of former settlers again.
type renewals struct {
	settler   sortie.Address // the present settler
	holdsRole SettlerRole

	mu    sync.Mutex
	after map[sortie.Address]string // by signer: the last submission of the last call

	left atomic.Int64 // receipts that the last call did not renew, plus one; 0: there was no call
}

// ReceiptsToRenew is how many unpaid receipts the last call of [Ledger.RenewReceipts] did not sign
// again. It is not known before the first call.
func (l *Ledger) ReceiptsToRenew() (number int64, known bool) {
	left := l.renewals.left.Load()
	return max(left-1, 0), left > 0
}

// maxRenewals is how many receipts of one signer a call reads. The next call continues after them.
const maxRenewals = 16 * maxDue

// RenewReceipts signs receipts again whose signer is not the present settler, while their slot is
// unpaid. A receipt moves
//   - from a key that lost its settler role to one that has it, and
//   - from a key that was used earlier to one that was first used later, so that the earlier key
//     can be revoked,
//
// and never to a key without the role. Two processes with different settlers therefore do not
// replace each other's receipts in turn. The settlement stays the same to the byte, so a slot never
// gets a second recipient. Receipts of closed missions are renewed, too, because a reorganization
// may remove the closing.
//
// A worker calls it every few seconds. It asks the contract only when there is something to renew.
func (l *Ledger) RenewReceipts(ctx context.Context) error {
	if l.settle == nil || l.renewals.settler.IsZero() || l.renewals.holdsRole == nil {
		return nil
	}
	l.renewals.mu.Lock()
	defer l.renewals.mu.Unlock()
	settlers, err := l.store.Settlers(ctx)
	if err != nil {
		return err
	}
	roles := &roleAnswers{ask: l.renewals.holdsRole}
	var failures []error
	left := 0
	earlier := true                                     // settlers before the present one
	settlers = append([]store.Settler{{}}, settlers...) // the zero address: receipts whose signer was not stored
	for _, former := range settlers {
		if former.Address == l.renewals.settler {
			earlier = false
			continue
		}
		kept, err := l.renewReceiptsOf(ctx, former.Address, earlier, roles)
		if left += kept; err != nil {
			left = max(left, 1) // or more: not all were read
			failures = append(failures, fmt.Errorf("renew receipts of settler %s: %w", former.Address, err))
		}
	}
	l.renewals.left.Store(int64(left) + 1)
	return errors.Join(failures...)
}

// renewReceiptsOf renews the receipts of one former settler, from where the last call ended. It
// returns how many it did not renew.
func (l *Ledger) renewReceiptsOf(ctx context.Context, signer sortie.Address, earlier bool, roles *roleAnswers) (left int, err error) {
	var failures []error
	if l.renewals.after[signer] != "" {
		left++ // or more: earlier ones are not read
	}
	for looked := 0; looked < maxRenewals && ctx.Err() == nil; {
		if halted, err := l.store.Halted(ctx); err != nil || halted {
			return max(left, 1), err
		}
		list, err := l.store.OpenReceipts(ctx, signer, l.renewals.after[signer], maxDue)
		if err != nil {
			return left, fmt.Errorf("find receipts: %w", err)
		}
		due, stranded, err := l.toRenew(ctx, list, signer, earlier, roles)
		if err != nil {
			return left, err // the roles are not known, so nothing is skipped
		}
		if stranded != nil {
			failures = append(failures, stranded)
		}
		failed, err := signAll(due, func(submission store.Submission) error { return l.renewReceipt(ctx, submission) })
		left += len(list) - len(due) + failed
		if failed > 0 {
			failures = append(failures, fmt.Errorf("%d of %d failed, for example: %w", failed, len(due), err))
		}
		if l.renewals.after == nil {
			l.renewals.after = make(map[sortie.Address]string)
		}
		if looked += len(list); len(list) < maxDue {
			delete(l.renewals.after, signer) // the next call begins at the first receipt
			return left, errors.Join(failures...)
		}
		l.renewals.after[signer] = list[len(list)-1].ID
	}
	return max(left, 1), errors.Join(failures...)
}

// toRenew selects the receipts that the present settler may and must sign again. Stranded is the
// error of receipts that no key with the role has signed or can sign; they do not delay receipts of
// other contracts.
func (l *Ledger) toRenew(ctx context.Context, list []store.Submission, signer sortie.Address, earlier bool, roles *roleAnswers) (due []store.Submission, stranded, err error) {
	for _, submission := range list {
		factory := submission.Mission.Domain.Factory
		redeemable := false // with its present signer
		if !signer.IsZero() {
			if redeemable, err = roles.holds(ctx, factory, signer); err != nil {
				return nil, nil, err
			}
		}
		if redeemable && !earlier {
			continue
		}
		may, err := roles.holds(ctx, factory, l.renewals.settler)
		switch {
		case err != nil:
			return nil, nil, err
		case may:
			due = append(due, submission)
		case !redeemable:
			stranded = fmt.Errorf("the present settler %s has no settler role in factory %s: grant it, or configure a settler that has it", l.renewals.settler, factory)
		}
	}
	return due, stranded, nil
}

// renewReceipt signs the stored settlement again.
func (l *Ledger) renewReceipt(ctx context.Context, submission store.Submission) error {
	var stored storedReceipt
	if err := json.Unmarshal(submission.Receipt, &stored); err != nil {
		return fmt.Errorf("read the receipt: %w", err)
	}
	receipt, err := l.signSettlement(ctx, submission.Mission.Domain, stored.Settlement)
	if err != nil {
		return err
	}
	return l.unlessHalted(ctx, func(tx *writeTx) error { return tx.RenewReceipt(submission, receipt, l.renewals.settler) })
}

// roleAnswers caches the contract's answers about roles during one call.
type roleAnswers struct {
	ask   SettlerRole
	known map[[2]sortie.Address]bool
}

func (r *roleAnswers) holds(ctx context.Context, factory, account sortie.Address) (bool, error) {
	about := [2]sortie.Address{factory, account}
	if held, known := r.known[about]; known {
		return held, nil
	}
	held, err := r.ask(ctx, factory, account)
	if err != nil {
		return false, err
	}
	if r.known == nil {
		r.known = make(map[[2]sortie.Address]bool)
	}
	r.known[about] = held
	return held, nil
}
