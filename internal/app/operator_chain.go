package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// ChainOverview returns what the database knows about the chain. The caller adds what only the
// following process knows.
//
// It fails with wallet_not_allowed.
func (o *Operators) ChainOverview(ctx context.Context, operator sortie.Address) (sortie.ChainOverview, error) {
	if err := o.admit(operator); err != nil {
		return sortie.ChainOverview{}, err
	}
	overview := sortie.ChainOverview{OK: true, ChainID: o.domain.ChainID, Incidents: []sortie.Incident{}, GeneratedAt: sortie.FormatTime(o.now())}
	for _, read := range []func(context.Context, *sortie.ChainOverview) error{
		o.readPosition, o.readIncidents, o.readSender, o.readPayoutHalt, o.readReconcile,
	} {
		if err := read(ctx, &overview); err != nil {
			return sortie.ChainOverview{}, storeError(err)
		}
	}
	return overview, nil
}

func (o *Operators) readPosition(ctx context.Context, overview *sortie.ChainOverview) (err error) {
	if overview.Factories, err = o.store.Factories(ctx, o.domain.ChainID); err != nil {
		return err
	}
	position, err := o.store.ChainPosition(ctx, o.domain.ChainID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	overview.Position = &sortie.ChainPosition{
		Start: position.Start, Tip: position.Tip.Number, TipHash: position.Tip.Hash, TipTime: sortie.FormatTime(position.Tip.Time),
		Head: position.Head, Final: position.Final,
	}
	return nil
}

func (o *Operators) readIncidents(ctx context.Context, overview *sortie.ChainOverview) error {
	incidents, err := o.store.OpenIncidents(ctx)
	if err != nil {
		return err
	}
	for _, incident := range incidents {
		overview.Halted = overview.Halted || incident.Halting
		overview.Incidents = append(overview.Incidents, sortie.Incident{
			ID: incident.ID, Kind: incident.Kind, Halting: incident.Halting, Detail: incident.Detail, OpenedAt: sortie.FormatTime(incident.OpenedAt),
		})
	}
	return nil
}

func (o *Operators) readSender(ctx context.Context, overview *sortie.ChainOverview) error {
	queued, sent, oldest, err := o.store.IntentBacklog(ctx)
	if err != nil {
		return err
	}
	overview.Sender = sortie.SenderBacklog{Queued: queued, Sent: sent}
	if !oldest.IsZero() {
		text := sortie.FormatTime(oldest)
		overview.Sender.OldestAt = &text
	}
	return nil
}

func (o *Operators) readReconcile(ctx context.Context, overview *sortie.ChainOverview) error {
	stored, err := o.store.LastSetting(ctx, reconcileSetting(o.domain.ChainID))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	overview.LastReconcile = new(sortie.ReconcileReport)
	if err := json.Unmarshal(stored, overview.LastReconcile); err != nil {
		return fmt.Errorf("read the last reconcile report: %w", err)
	}
	return nil
}

// RequestReconcile queues a comparison of the contract's state with the database.
//
// It fails with wallet_not_allowed.
func (o *Operators) RequestReconcile(ctx context.Context, operator sortie.Address) (sortie.ReconcileRequested, error) {
	if err := o.admit(operator); err != nil {
		return sortie.ReconcileRequested{}, err
	}
	err := o.write(ctx, func(tx *writeTx) error {
		if err := o.queue.Reconcile(tx.Tx); err != nil {
			return fmt.Errorf("queue a reconcile: %w", err)
		}
		return tx.audit(operator.String(), "chain.reconcile_requested", fmt.Sprint(o.domain.ChainID), map[string]any{})
	})
	if err != nil {
		return sortie.ReconcileRequested{}, storeError(err)
	}
	return sortie.ReconcileRequested{OK: true}, nil
}

// ClearIncident clears an incident that an operator has resolved.
//
// It fails with wallet_not_allowed, not_found, validation_failed without a reason, and wrong_state
// when it was cleared before.
func (o *Operators) ClearIncident(ctx context.Context, operator sortie.Address, id, reason string) (sortie.IncidentCleared, error) {
	if err := o.admit(operator); err != nil {
		return sortie.IncidentCleared{}, err
	}
	reason, err := mission.NormalizeReason(reason, true)
	if err != nil {
		return sortie.IncidentCleared{}, err
	}
	answer := sortie.IncidentCleared{OK: true, ID: id}
	err = o.store.Tx(ctx, func(stored *store.Tx) (err error) {
		tx := &writeTx{Tx: stored, core: o.core}
		if err := tx.ClearIncident(id, operator.String()); err != nil {
			return err
		}
		incident, err := tx.Incident(id)
		if err != nil {
			return err
		}
		if answer.Halted, err = tx.Halted(); err != nil {
			return err
		}
		if incident.Kind == onchain.IncidentEventsSetAside { // the nodes may answer now
			if err := tx.beginPass(o.domain.ChainID, 0, incident.OpenedAt); err != nil {
				return err
			}
		}
		return tx.audit(operator.String(), "incident.cleared", id, map[string]any{"kind": incident.Kind, "detail": incident.Detail, "reason": reason})
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return sortie.IncidentCleared{}, sortie.NewError(sortie.CodeNotFound, "no incident has this id; list the open ones with sortie chain status")
	case errors.Is(err, store.ErrConflict):
		return sortie.IncidentCleared{}, sortie.NewError(sortie.CodeWrongState, "this incident was cleared before; the audit log has the operator")
	case err != nil:
		return sortie.IncidentCleared{}, storeError(err)
	}
	o.stuck.forget()
	o.wake() // continue what the incident halted
	return answer, nil
}

func (o *Operators) readPayoutHalt(ctx context.Context, overview *sortie.ChainOverview) error {
	halt, err := o.store.PayoutHalt(ctx)
	overview.PayoutHalt = wireHalt(halt)
	return err
}
