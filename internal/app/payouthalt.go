package app

import (
	"context"
	"fmt"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// PayoutsHaltedError is why nothing new is signed while an operator has halted payouts.
type PayoutsHaltedError struct{ Halt store.PayoutHalt }

func (e *PayoutsHaltedError) Error() string {
	return fmt.Sprintf("payouts are halted by %s since %s: %s; to let them continue: sortie payouts resume",
		e.Halt.By, sortie.FormatTime(e.Halt.Since), e.Halt.Reason)
}

// mayPay fails while an operator has halted payouts. Incidents are the sender's to look for.
func (l *Ledger) mayPay(ctx context.Context) error {
	halt, err := l.store.PayoutHalt(ctx)
	if err == nil && halt != nil {
		err = &PayoutsHaltedError{*halt}
	}
	return err
}

// paymentsHalted reports whether an incident or an operator halts payouts.
func (l *Ledger) paymentsHalted(ctx context.Context) (bool, error) {
	incident, err := l.store.Halted(ctx)
	return haltedBy(incident, err, func() (*store.PayoutHalt, error) { return l.store.PayoutHalt(ctx) })
}

// paymentsHalted is [App.paymentsHalted] inside the transaction.
func (b *books) paymentsHalted() (bool, error) {
	incident, err := b.tx.Halted()
	return haltedBy(incident, err, b.tx.PayoutHalt)
}

func haltedBy(incident bool, err error, read func() (*store.PayoutHalt, error)) (bool, error) {
	if err != nil || incident {
		return incident, err
	}
	halt, err := read()
	return halt != nil, err
}

// PayoutsHalted reports whether an operator has halted payouts.
func (l *Ledger) PayoutsHalted(ctx context.Context) (bool, error) {
	halt, err := l.store.PayoutHalt(ctx)
	return halt != nil, err
}

// HaltPayouts stops new settlements and closings of published missions in all processes, until
// [App.ResumePayouts]. What is sent already is followed. Halted before: the answer is the halt that
// holds. Every order is noted, so that one that was recorded cannot be sent again.
//
// It fails with wallet_not_allowed and validation_failed.
func (o *Operators) HaltPayouts(ctx context.Context, order Order, reason string) (sortie.PayoutsHalted, error) {
	return o.orderHalt(ctx, order, reason, "payouts.halted", func(tx *store.Tx, reason string) (bool, error) {
		_, halted, err := tx.HaltPayouts(store.PayoutHalt{By: order.Operator.String(), Reason: reason})
		return halted, err
	})
}

// ResumePayouts ends the halt of [App.HaltPayouts], also that of another operator. Not halted:
// nothing changes.
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
	err = o.write(ctx, func(books *books) error {
		return books.carryOut(order, action, fmt.Sprint(o.domain.ChainID), func() (map[string]any, error) {
			changed, err := do(books.tx, reason)
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

func (o *Operators) readPayoutHalt(ctx context.Context, overview *sortie.ChainOverview) error {
	halt, err := o.store.PayoutHalt(ctx)
	overview.PayoutHalt = wireHalt(halt)
	return err
}
