package follower

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// Incidents of following. None of them halts the service.
const (
	// IncidentSetAside is a block that was followed without its unverified events.
	IncidentSetAside = onchain.IncidentEventsSetAside
	// IncidentUnverified is a funding or a refund that nodes do not confirm.
	IncidentUnverified = "funding_unverified"
	// IncidentStuck is a chain that advances and cannot be followed. It is resolved when following
	// works again.
	IncidentStuck = onchain.IncidentFollowerStuck
)

const (
	setAsideTries = 5                // with all nodes, before events are set aside
	setAsideAfter = 20 * time.Second // at least
	setAsideSoon  = 10 * time.Minute // after events were set aside: the next obstacles need fewer tries
	soonTries     = 2

	cannotFollowTries = 5 // in which no node answered and at least one had new blocks
	cannotFollowAfter = 30 * time.Second

	maxNote = 10 * time.Second // timeout for storing an incident

	unverifiedTries = 5 // tries for one item, before an incident
	unverifiedAfter = time.Minute
	maxUnverified   = 4096 // counted items
)

// obstacle is a block with events that cannot be read or verified.
type obstacle struct {
	block onchain.Block
	why   error
}

func (o *obstacle) Error() string { return fmt.Sprintf("block %d: %v", o.block.Number, o.why) }
func (o *obstacle) Unwrap() error { return o.why }

// failing counts consecutive failures.
type failing struct {
	tries int
	since time.Time
}

func (f *failing) note(now time.Time) {
	if f.tries == 0 {
		f.since = now
	}
	f.tries++
}

// lasts reports whether there were so many failures, for so long.
func (f *failing) lasts(tries int, least time.Duration, now time.Time) bool {
	return f.tries >= tries && now.Sub(f.since) >= least
}

// obstacles counts the failures at the current obstacle.
type obstacles struct {
	at   sortie.Hash // the block
	seen failing
	last time.Time // when events were last set aside
}

// exhausted counts a failure at an obstacle, and reports whether its events may be set aside.
func (f *Follower) exhausted(o *obstacle) bool {
	now := f.config.Clock()
	if f.obstacles.at != o.block.Hash {
		f.obstacles.at, f.obstacles.seen = o.block.Hash, failing{}
	}
	f.obstacles.seen.note(now)
	if !f.obstacles.last.IsZero() && now.Sub(f.obstacles.last) < setAsideSoon {
		return f.obstacles.seen.lasts(soonTries, 0, now)
	}
	return f.obstacles.seen.lasts(setAsideTries, setAsideAfter, now)
}

// setAside reports the left-out events of a block. A reconcile finds them by the contract's state.
func (f *Follower) setAside(ctx context.Context, block onchain.Block, what string) error {
	f.obstacles.last = f.config.Clock()
	detail := fmt.Sprintf("Block %d (%s) was followed without a part of its events. %s Check the nodes. "+
		"Clearing this incident compares the missions with the contract again, and so does `sortie chain reconcile`.", block.Number, block.Hash, chain.OneLine(what))
	return ledgerFault(f.ledger.SetAside(ctx, f.chainID, block, detail))
}

// stuck counts steps that failed while the chain advanced.
type stuck struct {
	failing
	news    bool // a node has a block above the tip
	settled bool // no incident of this or an earlier process is open
}

// noteStep opens the incident that the follower is stuck, and resolves it after a good step.
// Unreachable and lagging nodes do not count, because they have no block above the tip. A step that
// timed out counts; one that the caller ended does not.
func (f *Follower) noteStep(caller context.Context, position onchain.Position, err error) {
	now := f.config.Clock()
	ctx, cancel := f.within(caller, maxNote)
	defer cancel()
	switch {
	case err == nil && f.stuck.settled:
		f.stuck.failing = failing{}
	case err == nil:
		if f.ledger.ResolveIncidents(ctx, IncidentStuck) == nil {
			f.stuck.failing, f.stuck.settled = failing{}, true
		}
	case !f.stuck.news || errors.Is(err, onchain.ErrConflict) || caller.Err() != nil:
	default:
		f.stuck.note(now)
		if !f.stuck.lasts(cannotFollowTries, cannotFollowAfter, now) {
			return
		}
		f.stuck.settled = false
		detail := fmt.Sprintf("The chain advances and cannot be followed past block %d. Funding quotes are withheld until it can. "+
			"`sortie chain status` shows what is wrong with the nodes; this incident ends by itself.", position.Tip.Number)
		if err := f.ledger.ReportIncident(ctx, IncidentStuck, detail, false); err != nil {
			f.config.Logger.Warn("incident not stored", "kind", IncidentStuck, "error", err)
		}
	}
}

// noteUnverified counts the failures of each item, and opens an incident for one that stays
// unconfirmed. Confirmed items are forgotten.
func (f *Follower) noteUnverified(ctx context.Context, found findings) {
	now := f.config.Clock()
	for i := range found.agreed {
		delete(f.unverified, found.agreed[i].Terms.DraftID)
	}
	for i := range found.unverified {
		item := &found.unverified[i]
		count := f.unverified[item.Terms.DraftID]
		if count == nil {
			if len(f.unverified) >= maxUnverified {
				clear(f.unverified)
			}
			count = new(failing)
			f.unverified[item.Terms.DraftID] = count
		}
		count.note(now)
		if count.lasts(unverifiedTries, unverifiedAfter, now) {
			delete(f.unverified, item.Terms.DraftID) // it is counted again, in case the incident is cleared
			f.reportUnverified(ctx, item)
		}
	}
}

func (f *Follower) reportUnverified(ctx context.Context, item *onchain.Confirmation) {
	what := "funding"
	if item.Refund {
		what = "refund"
	}
	detail := fmt.Sprintf("The %s of mission %s (draft %s) in transaction %s is not confirmed by a node that answers. "+
		"It is asked about again, and others do not wait for it. Check the nodes.", what, item.MissionID, item.Terms.DraftID, eventOf(item).Transaction)
	if err := f.ledger.ReportIncident(ctx, IncidentUnverified, detail, false); err != nil {
		f.config.Logger.Warn("incident not stored", "kind", IncidentUnverified, "error", err)
	}
}
