package app

import (
	"context"
	"fmt"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// PayoutsHaltedError is the error of signing while an operator has halted payouts.
type PayoutsHaltedError struct{ Halt store.PayoutHalt }

func (e *PayoutsHaltedError) Error() string {
	return fmt.Sprintf("payouts are halted by %s since %s: %s; to let them continue: sortie payouts resume",
		e.Halt.By, sortie.FormatTime(e.Halt.Since), e.Halt.Reason)
}

// mayPay fails while an operator has halted payouts. The sender checks for halting incidents.
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

// paymentsHalted is [Ledger.paymentsHalted] inside the transaction.
func (tx *writeTx) paymentsHalted() (bool, error) {
	incident, err := tx.Halted()
	return haltedBy(incident, err, tx.PayoutHalt)
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
