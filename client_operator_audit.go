package sortie

import (
	"context"
	"net/http"
)

// Audit returns one page of the audit log, newest first: what operators, and the service for them,
// did.
func (c *Client) Audit(ctx context.Context, query PageQuery) (AuditPage, error) {
	var page AuditPage
	err := c.send(ctx, call{method: http.MethodGet, path: query.apply("/api/operator/audit")}, &page)
	return page, err
}
