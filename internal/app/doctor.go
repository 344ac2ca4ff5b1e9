package app

import (
	"context"

	"github.com/sortie-labs/sortie"
)

// Doctor says what holds a mission up, who must act, and until when.
//
// It fails with not_found, the same for an id that does not exist and for one that is somebody else's.
func (a *App) Doctor(ctx context.Context, wallet sortie.Address, id string) (sortie.Doctor, error) {
	panic("soon")
}

// ConfirmFunding makes the follower look at the chain now. A transaction hash that the creator has is of no use: funding is
// found by the factory's event.
//
// It fails with not_found, the same for an id that does not exist and for one that is somebody else's.
func (a *App) ConfirmFunding(ctx context.Context, wallet sortie.Address, id string) (sortie.FundingCheck, error) {
	panic("soon")
}
