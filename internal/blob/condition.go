package blob

import (
	"context"
	"errors"
	"sync/atomic"
)

// condition is whether a place that keeps files worked when it was last used.
type condition struct {
	broken atomic.Bool
	fault  atomic.Pointer[error]
}

// Fault is why it does not work; nil while it works.
func (c *condition) Fault() error {
	if fault := c.fault.Load(); fault != nil {
		return *fault
	}
	return nil
}

// Working reports whether the last use did not fail for the store's own fault. [Objects.Probe] and
// [Incoming.Probe] are uses, too.
func (c *condition) Working() bool { return !c.broken.Load() }

// noted remembers what an error says about the store, and returns it. A caller who went away says
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
