package service

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/store"
)

// prepareSettle makes the transaction that pays a settlement. It simulates the settlement first. A
// settlement that the contract refuses is halved until one payout is left, which then fails.
func (w *chainWork) prepareSettle(ctx context.Context, intent store.Intent) (to sortie.Address, data []byte, err error) {
	call, err := w.payable(ctx, intent)
	if err != nil {
		return to, nil, err
	}
	for len(call.Payouts) > 0 {
		data, trial, err := w.trySettlement(ctx, call)
		if err != nil {
			return to, nil, err
		}
		switch trial.Verdict {
		case chain.Works:
			return call.Domain.Factory, data, nil
		case chain.Waits:
			return to, nil, wait(call, app.PublicProblem("the contract pays no settlement now: %s", trial.Reason))
		case chain.Gone:
			return to, nil, sender.ErrAlreadyDone // its payouts wait until the follower has read the mission's state
		}
		if call, err = w.reduce(ctx, call, intent.Subject, trial); err != nil {
			return to, nil, err
		}
	}
	return to, nil, sender.ErrAlreadyDone // nothing is left to pay, or every payout failed
}

// maxSettlementWait is how long a settlement that the contract cannot pay now stays open. Only a
// few settlements of a token are open at a time.
const maxSettlementWait = 5 * time.Minute

// wait returns the reason for which a settlement waits. After maxSettlementWait it ends the
// settlement, so that payouts of other missions are tried; its own payouts are queued again.
func wait(call app.SettleCall, why error) error {
	if call.Waited > maxSettlementWait {
		return sender.ErrAlreadyDone
	}
	return why
}

// maxFailedTransactions is how many transactions of a settlement may be mined without effect before
// its last payout fails: each costs gas.
const maxFailedTransactions = 4

// payable returns the payouts that a settlement pays now. It omits slots that the contract has paid
// and payouts that exceed the daily cap. It halves the settlement after each transaction that was
// mined without effect.
func (w *chainWork) payable(ctx context.Context, intent store.Intent) (app.SettleCall, error) {
	call, err := w.ledger.SettleCall(ctx, intent.Subject)
	if err != nil || len(call.Payouts) == 0 {
		return call, err
	}
	if keep := max(call.Size>>noncesOf(intent), 1); keep < len(call.Payouts) {
		if call, err = w.shrink(ctx, call, intent.Subject, keep); err != nil {
			return call, err
		}
	}
	if call, err = w.withoutPaid(ctx, call, intent.Subject); err != nil || len(call.Payouts) == 0 {
		return call, err
	}
	if len(call.Payouts) == 1 && noncesOf(intent) >= maxFailedTransactions {
		reason := fmt.Sprintf("%d transactions for this payout were mined without effect", noncesOf(intent))
		if err := w.ledger.SetPayoutAside(ctx, call.Payouts[0], reason); err != nil {
			return call, err
		}
		return w.ledger.SettleCall(ctx, intent.Subject)
	}
	if err := w.tokenMoves(ctx, call.TokenAddress, call.Domain.Factory, call.Reward); err != nil {
		return call, err
	}
	room, err := w.roomFor(ctx, call)
	if err != nil || room >= len(call.Payouts) {
		return call, err
	}
	without := make(map[uint32]bool) // not shrunk: later settlements of the mission may be larger
	for _, payout := range call.Payouts[room:] {
		without[payout.Slot] = true
	}
	return w.leaveOut(ctx, call, intent.Subject, without)
}

// tokenMoves fails while a token refuses every transfer from the contract: payments would become
// deferred credits.
func (w *chainWork) tokenMoves(ctx context.Context, token, factory sortie.Address, amount *big.Int) error {
	for _, account := range []sortie.Address{w.account, w.settler.Address()} { // one of them may be denylisted
		transfers, err := w.nodes.Transfers(ctx, token, factory, account, amount)
		if err != nil || transfers {
			return err
		}
	}
	return errTokenRefuses
}

// noncesOf counts the nonces of the current sender that an intent used.
func noncesOf(intent store.Intent) int {
	used := make(map[uint64]bool)
	for _, attempt := range intent.Attempts {
		if attempt.Sender == intent.Sender {
			used[attempt.Nonce] = true
		}
	}
	return len(used)
}

// withoutPaid omits the payouts that the contract has paid: their receipts were redeemed, which the
// follower has not read yet. It fails with [sender.ErrAlreadyDone] if the mission is not open.
func (w *chainWork) withoutPaid(ctx context.Context, call app.SettleCall, subject string) (app.SettleCall, error) {
	escrow, err := w.nodes.Escrow(ctx, call.Domain.Factory, call.MissionKey)
	if err != nil {
		return call, err
	}
	if !escrow.Funded || escrow.Closed {
		return call, sender.ErrAlreadyDone // a reorganization or a close that was not followed yet
	}
	slots := make([]uint32, len(call.Payouts))
	for i, payout := range call.Payouts {
		slots[i] = payout.Slot
	}
	paid, err := w.nodes.PaidSlots(ctx, call.Domain.Factory, call.MissionKey, slots)
	if err != nil {
		return call, err
	}
	redeemed := make(map[uint32]bool)
	for i, isPaid := range paid {
		if isPaid {
			redeemed[slots[i]] = true
		}
	}
	if len(redeemed) == 0 {
		return call, nil
	}
	return w.leaveOut(ctx, call, subject, redeemed)
}

func (w *chainWork) leaveOut(ctx context.Context, call app.SettleCall, subject string, slots map[uint32]bool) (app.SettleCall, error) {
	if err := w.ledger.LeaveOut(ctx, call, slots); err != nil {
		return call, err
	}
	return w.ledger.SettleCall(ctx, subject)
}

var errTokenRefuses = app.PublicProblem("the token refuses every transfer from the contract now, so payments would become deferred credits; the payout waits until the token is not paused")

var errDailyCap = app.PublicProblem("the contract's daily cap is used up; the payout waits for the next UTC day, or for a higher cap (setDailyCap)")

// roomFor returns how many payouts of the call fit into the daily cap.
func (w *chainWork) roomFor(ctx context.Context, call app.SettleCall) (int, error) {
	dailyCap, err := w.nodes.DailyCap(ctx, call.Domain.Factory, call.TokenAddress)
	if err != nil {
		return 0, err
	}
	room := dailyCap.Room()
	if room == nil {
		return len(call.Payouts), nil
	}
	underWay, err := w.ledger.UnderWay(ctx, call)
	if err != nil {
		return 0, err
	}
	fits := new(big.Int).Div(room.Sub(room, underWay), call.Reward)
	switch {
	case fits.Sign() > 0 && fits.IsInt64():
		return int(min(fits.Int64(), int64(len(call.Payouts)))), nil
	case fits.Sign() > 0:
		return len(call.Payouts), nil
	case call.Reward.Cmp(dailyCap.Limit) > 0:
		return 0, wait(call, app.PublicProblem("the reward of %s base units is above the contract's daily cap of %s: raise the cap (setDailyCap)", call.Reward, dailyCap.Limit))
	default:
		return 0, wait(call, errDailyCap)
	}
}

// trySettlement signs the settlement of a call and simulates it on the nodes.
func (w *chainWork) trySettlement(ctx context.Context, call app.SettleCall) (data []byte, trial chain.Trial, err error) {
	settler, err := funding.NewSettler(call.Domain, w.settler)
	if err != nil {
		return nil, trial, err
	}
	settlement := call.Settlement(len(call.Payouts))
	signature, err := settler.SignSettlement(ctx, settlement)
	if err != nil {
		return nil, trial, err
	}
	data = settlement.Calldata(signature)
	trial, err = w.nodes.TrySettlement(ctx, w.account, call.Domain.Factory, data, sender.DefaultMaxGas)
	return data, trial, err
}

// reduce removes the refused payment from a settlement, or half of the payments if the refused one
// is unknown.
func (w *chainWork) reduce(ctx context.Context, call app.SettleCall, subject string, trial chain.Trial) (app.SettleCall, error) {
	refused := -1
	if len(call.Payouts) == 1 {
		refused = 0
	}
	for i, payout := range call.Payouts {
		if trial.Verdict == chain.BadPayment && uint64(payout.Slot) == trial.Slot {
			refused = i
		}
	}
	if refused < 0 {
		return w.shrink(ctx, call, subject, len(call.Payouts)/2)
	}
	if err := w.ledger.SetPayoutAside(ctx, call.Payouts[refused], "the contract refuses it: "+trial.Reason); err != nil {
		return call, err
	}
	return w.ledger.SettleCall(ctx, subject)
}

func (w *chainWork) shrink(ctx context.Context, call app.SettleCall, subject string, keep int) (app.SettleCall, error) {
	if err := w.ledger.ShrinkSettlement(ctx, call, keep); err != nil {
		return call, err
	}
	return w.ledger.SettleCall(ctx, subject)
}
