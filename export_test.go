package sortie

import (
	"context"
	"time"
)

// WithWait sets the function that waits between attempts.
func WithWait(wait func(context.Context, time.Duration) error) ClientOption {
	return func(c *Client) { c.wait = wait }
}

// BeforeEachWait calls a function before each wait between attempts.
func BeforeEachWait(call func()) ClientOption {
	return func(c *Client) {
		wait := c.wait
		c.wait = func(ctx context.Context, d time.Duration) error {
			call()
			return wait(ctx, d)
		}
	}
}
