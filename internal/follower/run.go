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
	minGap      = 50 * time.Millisecond // between two looks, however often somebody asks for one
	maxBackoff  = 15 * time.Second
)

// pace learns from the blocks how often to look for new ones: four times in the time of one, within
// limits.
type pace struct{ blockTime time.Duration }

// firstBlockTime is believed until blocks say otherwise.
const firstBlockTime = time.Second

// observe takes a stretch into account. A gap counts as no more than twice the time that blocks
// took before it: between a chain's first block and its second, and where it was stopped, there may
// be months, which say nothing about the next one.
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

// backoff is how long to wait after failures: twice as long after each, and never the same for two
// processes.
type backoff struct{ failures int }

func (b *backoff) next(base time.Duration) time.Duration {
	wait := min(base<<min(b.failures, 16), maxBackoff)
	b.failures++
	return wait/2 + rand.N(wait/2+1)
}

// Wake makes Run look for new blocks now. While nodes fail it changes nothing: hints must not
// become a storm.
func (f *Follower) Wake() {
	select {
	case f.wake <- struct{}{}:
	default: // one is waiting
	}
}

// Run follows the chain until ctx ends, and then returns nil. It survives everything else: what
// fails is alarmed about and tried again, ever more slowly.
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
			f.config.Logger.Info("somebody else moved the position: reading it again", "error", err)
			wait = failing.next(minInterval)
		default:
			wait, wake = failing.next(f.pace.interval()), nil
		}
		if !f.pause(ctx, wait, wake) {
			return nil
		}
	}
}

// pause waits for a time or for somebody who wakes it. It gives false when ctx ended.
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
