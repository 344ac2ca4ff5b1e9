package app

import (
	"context"

	"github.com/sortie-labs/sortie"
)

// Page asks for a page of a list.
type Page struct {
	Limit  int    // 1 to MaxPage; 0: DefaultPage
	Cursor string // empty: from the beginning
}

// The sizes of a page, of every list but that of drafts.
const (
	DefaultPage = 50
	MaxPage     = 100
)

// IsOperator reports whether a wallet may review missions.
func (a *App) IsOperator(wallet sortie.Address) bool { return a.operators[wallet] }

// Approve decides that a mission is published as soon as its funding is final. The id is a draft id or a mission id; the
// reason may be empty. The same decision by the same operator again is answered as it was the first time.
//
// It fails with wallet_not_allowed, not_found, validation_failed, wrong_state when the mission is not funded or was decided
// before, and service_unavailable when it would be published while an incident halts the service.
func (a *App) Approve(ctx context.Context, operator sortie.Address, id, reason string) (sortie.ReviewDetail, error) {
	panic("soon")
}

// Reject decides that a mission is never published. Its funding, if there is or ever will be one, goes back to the creator, who
// is shown the reason. The same decision by the same operator again is answered as it was the first time.
//
// It fails with wallet_not_allowed, not_found, validation_failed, and wrong_state when the mission was decided before.
func (a *App) Reject(ctx context.Context, operator sortie.Address, id, reason string) (sortie.ReviewDetail, error) {
	panic("soon")
}

// Reviews gives a page of the missions that wait for a decision, oldest first.
//
// It fails with wallet_not_allowed and invalid_cursor.
func (a *App) Reviews(ctx context.Context, operator sortie.Address, page Page) (sortie.ReviewPage, error) {
	panic("soon")
}

// ReviewDetail gives any wallet's mission as an operator sees it, whatever its state.
//
// It fails with wallet_not_allowed and not_found.
func (a *App) ReviewDetail(ctx context.Context, operator sortie.Address, id string) (sortie.ReviewDetail, error) {
	panic("soon")
}
