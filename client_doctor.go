package sortie

import (
	"context"
	"net/http"
)

// Doctor returns what a mission waits for, who must act, and until when.
//
// It fails with not_found for an id of another wallet.
func (c *Client) Doctor(ctx context.Context, id string) (Doctor, error) {
	var doctor Doctor
	err := c.send(ctx, call{method: http.MethodGet, path: missionPath(id) + "/doctor"}, &doctor)
	return doctor, err
}
