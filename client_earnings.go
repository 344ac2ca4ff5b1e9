package sortie

import (
	"context"
	"net/http"
)

// Earnings says what the wallet was paid as a contributor, and what is on its way.
func (c *Client) Earnings(ctx context.Context) (Earnings, error) {
	var earnings Earnings
	err := c.send(ctx, call{method: http.MethodGet, path: "/api/earnings"}, &earnings)
	return earnings, err
}
