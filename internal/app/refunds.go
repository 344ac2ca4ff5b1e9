package app

import (
	"context"

	"github.com/sortie-labs/sortie"
)

// IntentClose is the kind of the intents that close a mission and so refund it. Their subject is the draft id.
const IntentClose = "close"

// StartRefund is the refund job: it makes the intent to close the draft's mission, unless there is no need any more. Called
// again it does nothing.
func (a *App) StartRefund(ctx context.Context, draftID string) error {
	panic("soon")
}

// CloseCall is what a close transaction is made of, apart from what only the contract and the settler know.
type CloseCall struct {
	Domain     sortie.Domain // where the mission was funded
	MissionKey sortie.Hash
}

// CloseCall says how to close the mission of a draft. Needed is false when nothing is left to refund: the funding is gone, or
// the mission is closed, or it was never rejected.
func (a *App) CloseCall(ctx context.Context, draftID string) (call CloseCall, needed bool, err error) {
	panic("soon")
}

// RetryRefunds queues the refunds that are due and that nothing works on, and tells how many those were. There are none unless
// something was lost; the periodic comparison with the contract calls it.
func (a *App) RetryRefunds(ctx context.Context) (queued int, err error) {
	panic("soon")
}
