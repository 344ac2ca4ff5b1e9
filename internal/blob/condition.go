package blob

import (
	"context"
	"errors"
	"sync/atomic"
)

// condition records whether a store worked when it was last used.
type condition struct {
	broken atomic.Bool
	fault  atomic.Pointer[error]
}

// Fault returns why the store does not work, or nil.
func (c *condition) Fault() error {
	if fault := c.fault.Load(); fault != nil {
		return *fault
	}
	return nil
}

// Working reports whether the last use did not fail with [ErrUnavailable]. [Objects.Probe] and
// [Incoming.Probe] are uses, too.
func (c *condition) Working() bool { return !c.broken.Load() }

// noted records the condition that an error implies, and returns the error. A canceled call implies
// nothing.
func (c *condition) noted(err error) error {
	if broken := errors.Is(err, ErrUnavailable); !errors.Is(err, context.Canceled) && broken != c.broken.Load() {
		c.broken.Store(broken)
		if broken {
			c.fault.Store(&err)
		} else {
			c.fault.Store(nil)
		}
	}
	return err
}
