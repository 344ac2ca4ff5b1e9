package app

import (
	"maps"
	"sync"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// Outcome is what became of a submission: the status it got, or one of those below.
type Outcome string

// The outcomes that are no status.
const (
	OutcomeExpired Outcome = "expired" // rejected, because nothing was uploaded in time
	OutcomeFinal   Outcome = "final"   // took a slot
)

// Stats count what this process did since it was started.
type Stats struct {
	Submissions   map[Outcome]uint64    // every outcome is there
	LimitsCrossed uint64                // acceptances by operators above their hourly limit
	PayoutSteps   map[PayoutStep]uint64 // every step is there
}

// Stats returns the counters for metrics.
func (a *App) Stats() Stats {
	return Stats{Submissions: a.outcomes.all(), LimitsCrossed: a.limits.crossed.Load(), PayoutSteps: a.steps.all()}
}

func outcomeOf(event mission.SubmissionEvent, status sortie.SubmissionStatus) Outcome {
	if event == mission.ReservationExpired {
		return OutcomeExpired
	}
	return Outcome(status)
}

// outcomes counts by kind. It is safe for concurrent use.
type outcomes struct {
	mu     sync.Mutex
	counts map[Outcome]uint64
}

func (o *outcomes) add(list []Outcome) {
	if len(list) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts = make(map[Outcome]uint64)
	}
	for _, outcome := range list {
		o.counts[outcome]++
	}
}

func (o *outcomes) all() map[Outcome]uint64 {
	counts := map[Outcome]uint64{OutcomeExpired: 0, OutcomeFinal: 0}
	for _, status := range mission.SubmissionStatuses() {
		if status != sortie.SubmissionPending { // nothing becomes that
			counts[Outcome(status)] = 0
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.Copy(counts, o.counts)
	return counts
}
