package sortie

import (
	"context"
	"time"
)

// WithWait lets tests decide how time passes between attempts.
func WithWait(wait func(context.Context, time.Duration) error) ClientOption {
	return func(c *Client) { c.wait = wait }
}

// BeforeEachWait calls a function before the client waits, as long as it waits without a test.
func BeforeEachWait(call func()) ClientOption {
	return func(c *Client) {
		wait := c.wait
		c.wait = func(ctx context.Context, d time.Duration) error {
			call()
			return wait(ctx, d)
		}
	}
}
