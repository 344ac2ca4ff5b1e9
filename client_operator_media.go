package sortie

import (
	"context"
	"net/http"
)

// RotateLinkKeys makes every media and upload link invalid at once, for when links have leaked.
// Clients get new links by asking again.
//
// It fails with validation_failed for a reason that is empty or too long.
func (c *Client) RotateLinkKeys(ctx context.Context, reason string) error {
	body, err := encodeReason(reason)
	if err != nil {
		return err
	}
	var done struct{}
	return c.send(ctx, call{method: http.MethodPost, path: "/api/operator/link-keys/rotate", body: body}, &done)
}
