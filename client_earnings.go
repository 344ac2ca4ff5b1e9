package sortie

import (
	"context"
	"net/http"
)

// Earnings returns what the wallet earned as a contributor: paid, on the way, deferred and failed.
func (c *Client) Earnings(ctx context.Context) (Earnings, error) {
	var earnings Earnings
	err := c.send(ctx, call{method: http.MethodGet, path: "/api/earnings"}, &earnings)
	return earnings, err
}
