package app

import (
	"context"

	"github.com/sortie-labs/sortie"
)

// Audit gives a page of the audit log, newest first.
//
// It fails with wallet_not_allowed and invalid_cursor.
func (a *App) Audit(ctx context.Context, operator sortie.Address, page Page) (sortie.AuditPage, error) {
	panic("soon")
}

// ChainOverview says what the rows know about the chain. What only the following process knows, the caller adds.
//
// It fails with wallet_not_allowed.
func (a *App) ChainOverview(ctx context.Context, operator sortie.Address) (sortie.ChainOverview, error) {
	panic("soon")
}

// ClearIncident says that a person has looked at an incident and made it right.
//
// It fails with wallet_not_allowed, not_found, validation_failed without a reason, and wrong_state when it was cleared before.
func (a *App) ClearIncident(ctx context.Context, operator sortie.Address, id, reason string) (sortie.IncidentCleared, error) {
	panic("soon")
}

// RequestReconcile asks for a comparison of the contract's state with the database.
//
// It fails with wallet_not_allowed.
func (a *App) RequestReconcile(ctx context.Context, operator sortie.Address) (sortie.ReconcileRequested, error) {
	panic("soon")
}

// RecordReconcile keeps the outcome of a comparison, for [App.ChainOverview]. FinishedAt is set here.
func (a *App) RecordReconcile(ctx context.Context, report sortie.ReconcileReport) error {
	panic("soon")
}

// Halted reports whether an incident halts publication, payouts and sends.
func (a *App) Halted(ctx context.Context) (bool, error) {
	panic("soon")
}
