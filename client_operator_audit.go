package sortie

import (
	"context"
	"net/http"
)

// Audit gives one page of what operators, and the service in their name, did; newest first.
func (c *Client) Audit(ctx context.Context, query PageQuery) (AuditPage, error) {
	var page AuditPage
	err := c.send(ctx, call{method: http.MethodGet, path: query.apply("/api/operator/audit")}, &page)
	return page, err
}
