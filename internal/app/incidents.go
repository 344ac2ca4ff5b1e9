package app

import (
	"context"
)

// ReportIncident opens an incident about the chain or its nodes, unless the same incident is open.
// Events that were set aside are reported by [Ledger.SetAside].
func (l *Ledger) ReportIncident(ctx context.Context, kind, detail string, halting bool) error {
	err := l.write(ctx, func(tx *writeTx) error {
		return tx.incident(kind, halting, "%s", detail)
	})
	l.stuck.forget()
	return err
}

// ResolveIncidents clears the incidents of a kind whose cause has ended.
func (l *Ledger) ResolveIncidents(ctx context.Context, kind string) error {
	err := l.write(ctx, func(tx *writeTx) error {
		ended, err := tx.ClearIncidents(kind, actorChain)
		if err != nil {
			return err
		}
		for _, id := range ended {
			if err := tx.audit(actorChain, "incident.cleared", id, map[string]any{"kind": kind}); err != nil {
				return err
			}
		}
		return nil
	})
	l.stuck.forget()
	return err
}

// Halted reports whether an incident halts publication, payouts and sends.
func (l *Ledger) Halted(ctx context.Context) (bool, error) { return l.store.Halted(ctx) }
