package app

import (
	"context"

	"github.com/sortie-labs/sortie"
)

// Events gives a page of what happened to the wallet's missions, oldest first. Every page has a cursor: the position after its
// last event, from which a later call goes on.
//
// It fails with invalid_cursor for a cursor that this list did not give to this wallet.
func (a *App) Events(ctx context.Context, wallet sortie.Address, page Page) (sortie.EventPage, error) {
	panic("soon")
}
