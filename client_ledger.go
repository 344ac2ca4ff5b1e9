package sortie

import (
	"context"
	"iter"
	"net/http"
)

// MissionLedger returns the ledger of a published mission with one page of its payments. It needs
// no wallet.
//
// It fails with not_found.
func (c *Client) MissionLedger(ctx context.Context, missionID string, query PageQuery) (MissionLedger, error) {
	var ledger MissionLedger
	err := c.send(ctx, call{method: http.MethodGet, path: query.apply(openMissionPath(missionID) + "/ledger"), public: true}, &ledger)
	return ledger, err
}

// AllPayments yields the payments of a published mission that are in blocks, by slot. It needs no
// wallet.
func (c *Client) AllPayments(ctx context.Context, missionID string, query PageQuery) iter.Seq2[LedgerPayment, error] {
	return walk(query.Cursor, func(cursor string) ([]LedgerPayment, *string, error) {
		query.Cursor = cursor
		page, err := c.MissionLedger(ctx, missionID, query)
		return page.Payments, page.Summary.NextCursor, err
	})
}
