package app

import (
	"errors"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// applyPayments records the payments among new events and compares them with the slots of
// submissions. The settler signs no others, so a payment that differs in slot, recipient or
// submission means that its key was stolen or that there is a bug: an incident that halts.
//
// Payments of missions that are not in the database are ignored. A contributor may redeem a receipt
// with any account: the payment is the same.
func (tx *writeTx) applyPayments(chainID uint64, events []onchain.Event) error {
	payments := make(map[sortie.Hash][]*onchain.Event)
	var order []sortie.Hash // of the missions, so that incidents open in the order of the chain
	for i := range events {
		if event := &events[i]; event.Payment != nil {
			if payments[event.MissionKey] == nil {
				order = append(order, event.MissionKey)
			}
			payments[event.MissionKey] = append(payments[event.MissionKey], event)
		}
	}
	for _, key := range order {
		state, err := tx.loadByKey(key)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err == nil {
			err = tx.applyPaymentsOf(chainID, state, payments[key])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// applyPaymentsOf records and compares the payments of one mission.
func (tx *writeTx) applyPaymentsOf(chainID uint64, d *draftState, payments []*onchain.Event) error {
	slots := make([]uint64, len(payments))
	for i, event := range payments {
		slots[i] = event.Payment.Slot
	}
	taken, err := tx.SlotHolders(d.draft.ID, slots)
	if err != nil {
		return err
	}
	if err := tx.notePayments(chainID, d, payments); err != nil {
		return err
	}
	reported := make(map[sortie.Hash]bool) // transactions: one pays any number of slots
	for _, event := range payments {
		if reported[event.Transaction] || !d.fundedIn(chainID, event.Factory) || promisedPayment(taken, event.Payment) {
			continue
		}
		reported[event.Transaction] = true
		err := tx.incident(incidentUnexpectedPayment, true,
			"Transaction %s pays slot %d of mission %s (draft %s) to %s for submission key %s, which is not what the service promised. "+
				"The settler's key signed that: pause the contract, replace the key, and find out who used it.",
			event.Transaction, event.Payment.Slot, d.draft.MissionID, d.draft.ID, event.Payment.Recipient, event.Payment.SubmissionKey)
		if err != nil {
			return err
		}
	}
	return nil
}

// notePayments records which slots were paid by which transactions. They are neither settled nor
// signed again.
func (tx *writeTx) notePayments(chainID uint64, d *draftState, payments []*onchain.Event) error {
	var notes []store.PaymentNote
	for _, event := range payments {
		if d.fundedIn(chainID, event.Factory) {
			notes = append(notes, store.PaymentNote{
				Slot: event.Payment.Slot, Block: event.Block, Transaction: event.Transaction, Credited: event.Kind == onchain.EventPayoutDeferred,
			})
		}
	}
	sent, err := tx.NotePayments(d.draft.ID, notes)
	if err != nil {
		return err
	}
	tx.step(PayoutSent, len(sent))
	return tx.addPayoutEvents(d.draft.ID, sortie.EventPayoutSent, sent)
}

// promisedPayment reports whether a payment is to the contributor whose submission has its slot.
func promisedPayment(taken map[uint64]store.SlotHolder, payment *onchain.Payment) bool {
	holder, found := taken[payment.Slot]
	return found && holder.Contributor == payment.Recipient && sortie.SubmissionKey(holder.SubmissionID) == payment.SubmissionKey
}
