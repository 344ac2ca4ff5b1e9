package leases

import "time"

// WithTime gives a holder the test's time.
func (h Holder) WithTime(now func() time.Time, after func(time.Duration) <-chan time.Time) Holder {
	h.now, h.after = now, after
	return h
}
