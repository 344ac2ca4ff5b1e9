package app

import (
	"context"
	"time"

	"github.com/sortie-labs/sortie"
)

// DeliverablesQuery selects a page of a mission's accepted submissions, in the order of acceptance.
type DeliverablesQuery struct {
	Limit  int           // 0: DefaultPage; more than MaxPage: MaxPage
	Cursor string        // empty: from the first
	TTL    time.Duration // of the links; 0: DefaultLinkTTL; more than MaxLinkTTL: MaxLinkTTL
}

// How long links to media live.
const (
	DefaultLinkTTL = 5 * time.Minute
	MaxLinkTTL     = 15 * time.Minute
)

// Deliverables appends the answer to a creator's request for a page of deliverables, a [sortie.Deliverables], to dst.
func (a *App) Deliverables(ctx context.Context, base string, creator sortie.Address, id string, query DeliverablesQuery, dst []byte) ([]byte, error) {
	return dst, errNotBuilt
}
