package sortie

import (
	"context"
	"net/http"
)

// Solvency returns the last comparison of the books with the chain, with one page of missions. It
// is for operators.
func (c *Client) Solvency(ctx context.Context, query PageQuery) (Solvency, error) {
	var solvency Solvency
	err := c.send(ctx, call{method: http.MethodGet, path: query.apply("/api/operator/solvency")}, &solvency)
	return solvency, err
}
