package follower

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/sortie-labs/sortie/internal/onchain"
)

const (
	minInterval = 200 * time.Millisecond
	maxInterval = 2 * time.Second
	minGap      = 50 * time.Millisecond // between two steps, for any number of calls of Wake
	maxBackoff  = 15 * time.Second
)

// pace derives the polling interval from the block time: a quarter of it, within limits.
type pace struct{ blockTime time.Duration }

// firstBlockTime is used before the first blocks.
const firstBlockTime = time.Second

// observe updates the block time. A gap counts as at most twice the block time before it, because a
// stop of the chain says nothing about the next blocks.
func (p *pace) observe(from, to onchain.Block) {
	if to.Number <= from.Number {
		return
	}
	if p.blockTime == 0 {
		p.blockTime = firstBlockTime
	}
	sample := to.Time.Sub(from.Time) / time.Duration(to.Number-from.Number)
	p.blockTime = max((p.blockTime+min(sample, 2*p.blockTime))/2, time.Millisecond)
}

func (p *pace) interval() time.Duration { return min(max(p.blockTime/4, minInterval), maxInterval) }

// backoff is the wait after failures: it doubles each time, with jitter.
type backoff struct{ failures int }

func (b *backoff) next(base time.Duration) time.Duration {
	wait := min(base<<min(b.failures, 16), maxBackoff)
	b.failures++
	return wait/2 + rand.N(wait/2+1)
}

// Wake makes Run read new blocks now. It has no effect while nodes fail.
func (f *Follower) Wake() {
	select {
	case f.wake <- struct{}{}:
	default: // a signal is pending
	}
}

// Run follows the chain until ctx ends, and returns nil. Failures raise alarms and are retried with
// a backoff.
func (f *Follower) Run(ctx context.Context) error {
	var failing backoff
	for {
		progress, err := f.Converge(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if progress.changed() {
			f.config.OnProgress(progress)
		}
		if err == nil && progress.More {
			failing.failures = 0
			continue
		}
		wait, wake := f.pace.interval(), f.wake
		switch {
		case err == nil:
			failing.failures = 0
		case errors.Is(err, onchain.ErrConflict):
			f.config.Logger.Info("the position was moved concurrently: reading it again", "error", err)
			wait = failing.next(minInterval)
		default:
			wait, wake = failing.next(f.pace.interval()), nil
		}
		if !f.pause(ctx, wait, wake) {
			return nil
		}
	}
}

// pause waits for a time or for Wake. It returns false when ctx has ended.
func (f *Follower) pause(ctx context.Context, wait time.Duration, wake <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-f.after(wait):
		return true
	case <-wake:
	}
	select {
	case <-ctx.Done():
		return false
	case <-f.after(minGap):
		return true
	}
}
