package app

import (
	"maps"
	"sync"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// Outcome is the result of a submission: its new status, or one of the outcomes below.
type Outcome string

// The outcomes that are not a status.
const (
	OutcomeExpired Outcome = "expired" // rejected, because nothing was uploaded in time
	OutcomeFinal   Outcome = "final"   // took a slot
)

// Stats count what this process did since it was started.
type Stats struct {
	Submissions   map[Outcome]uint64    // has every outcome
	LimitsCrossed uint64                // acceptances by operators above their hourly limit
	PayoutSteps   map[PayoutStep]uint64 // has every step
}

// Stats returns the counters for metrics.
func (a *App) Stats() Stats {
	return Stats{Submissions: a.outcomes.all(allOutcomes()), LimitsCrossed: a.limits.crossed.Load(), PayoutSteps: a.steps.all(PayoutSteps)}
}

func outcomeOf(event mission.SubmissionEvent, status sortie.SubmissionStatus) Outcome {
	if event == mission.ReservationExpired {
		return OutcomeExpired
	}
	return Outcome(status)
}

// counters count by kind. They are safe for concurrent use.
type counters[Kind comparable] struct {
	mu     sync.Mutex
	counts map[Kind]uint64
}

func (c *counters[Kind]) add(list []Kind) {
	if len(list) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = make(map[Kind]uint64)
	}
	for _, kind := range list {
		c.counts[kind]++
	}
}

// all returns the counts of all kinds, including zeros.
func (c *counters[Kind]) all(kinds []Kind) map[Kind]uint64 {
	counts := make(map[Kind]uint64, len(kinds))
	for _, kind := range kinds {
		counts[kind] = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(counts, c.counts)
	return counts
}

func allOutcomes() []Outcome {
	all := []Outcome{OutcomeExpired, OutcomeFinal}
	for _, status := range mission.SubmissionStatuses() {
		if status != sortie.SubmissionPending { // no submission becomes pending
			all = append(all, Outcome(status))
		}
	}
	return all
}

// PayoutStep is a step of a payout, a settlement or the closing of a mission.
type PayoutStep string

// The steps. They are counted after the commit, in the process that made them.
const (
	SettlementStarted PayoutStep = "settlement_started"
	SettlementEnded   PayoutStep = "settlement_ended"  // its transaction is in a final block
	SettlementUndone  PayoutStep = "settlement_undone" // it ended without a transaction that had an effect
	SettlementShrunk  PayoutStep = "settlement_shrunk" // it was made smaller before it was sent
	PayoutSent        PayoutStep = "payout_sent"
	PayoutPaid        PayoutStep = "payout_paid"
	PayoutDeferred    PayoutStep = "payout_deferred"
	PayoutSetAside    PayoutStep = "payout_set_aside" // it failed
	PayoutRetried     PayoutStep = "payout_retried"
	ClosingStarted    PayoutStep = "closing_started"
)

// PayoutSteps lists all steps, for metrics that start at 0.
var PayoutSteps = []PayoutStep{
	SettlementStarted, SettlementEnded, SettlementUndone, SettlementShrunk,
	PayoutSent, PayoutPaid, PayoutDeferred, PayoutSetAside, PayoutRetried, ClosingStarted,
}

// step records steps of the transaction, which are counted after the commit.
func (tx *writeTx) step(step PayoutStep, times int) {
	for range times {
		tx.steps = append(tx.steps, step)
	}
}
