package sortie

import (
	"context"
	"time"
)

// WithWait lets tests decide how time passes between attempts.
func WithWait(wait func(context.Context, time.Duration) error) ClientOption {
	return func(c *Client) { c.wait = wait }
}
