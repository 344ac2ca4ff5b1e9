package leases

import "time"

// WithTime sets the clock of a holder.
func (h Holder) WithTime(now func() time.Time, after func(time.Duration) <-chan time.Time) Holder {
	h.now, h.after = now, after
	return h
}
