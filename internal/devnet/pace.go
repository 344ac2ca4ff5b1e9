package devnet

import "time"

// The chain's clock stays inside this window around the wall clock. The package documentation says
// why.
const (
	clockLag         = 12 * time.Second
	defaultClockLead = 2 * time.Second
)

// gatherTime is how long a block waits for more transactions after the first. It makes a burst
// share a few blocks.
const gatherTime = 15 * time.Millisecond

// pace decides when the next block is due and which timestamp it has. It reads no clock.
type pace struct {
	interval time.Duration // the longest wait between two blocks
	lead     time.Duration // how far the chain's clock may run ahead of the wall clock
}

// due returns the time of the next block. headTime is the timestamp of the head, sealedAt the time
// when it was made, and waitingSince the time when the oldest pending transaction arrived; zero if
// there is none.
func (p pace) due(headTime uint64, sealedAt, waitingSince time.Time) time.Time {
	next := claimed(headTime + 1)

	due := sealedAt.Add(p.interval)
	if due.Sub(next) < clockLag/2 { // in the front half of the window: win back room
		due = due.Add(p.interval / 10)
	}
	if !waitingSince.IsZero() {
		if soon := waitingSince.Add(gatherTime); soon.Before(due) {
			due = soon
		}
	}
	if earliest := next.Add(-p.lead); earliest.After(due) {
		due = earliest
	}
	return due
}

// timestamp returns the timestamp of a block that is made now.
func (p pace) timestamp(headTime uint64, now time.Time) uint64 {
	return max(headTime+1, uint64(max(0, now.Add(-clockLag).Unix())))
}

// ahead is how far a head's clock is ahead of the wall clock; negative when it is late.
func ahead(headTime uint64, now time.Time) time.Duration { return claimed(headTime).Sub(now) }

func claimed(timestamp uint64) time.Time { return time.Unix(int64(timestamp), 0) }
