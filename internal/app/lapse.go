package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// lapseMissions rejects the funded missions that can no longer be published: see
// [mission.PublishBy]. Their money is refunded at once instead of staying in the contract until it
// can be reclaimed. That cannot be undone, so a wrong clock must not cause it: a mission lapses by
// the time of the chain or of the service, whichever is earlier. Nothing lapses while the clock is
// in doubt or an incident halts the service.
func (l *Ledger) lapseMissions(ctx context.Context) error {
	halted, err := l.store.Halted(ctx)
	if err != nil || halted || l.clock.state().InDoubt {
		return err
	}
	position, err := l.store.ChainPosition(ctx, l.domain.ChainID)
	if errors.Is(err, store.ErrNotFound) { // no block was followed, so nothing is funded
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the time of the chain: %w", err)
	}
	list, err := l.store.DraftsToLapse(ctx, earlier(l.now(), position.Tip.Time), maxDue)
	if err != nil {
		return fmt.Errorf("find missions that can no longer be published: %w", err)
	}
	var failures []error
	for _, draft := range list {
		if err := l.write(ctx, func(tx *writeTx) error { return tx.lapse(draft.ID) }); err != nil {
			failures = append(failures, fmt.Errorf("reject draft %s, which can no longer be published: %w", draft.ID, err))
		}
	}
	return errors.Join(failures...)
}

// earlier is the time that both the service's clock and the newest followed block have reached.
func earlier(now, block time.Time) time.Time {
	if block.Before(now) {
		return block
	}
	return now
}

// lapse rejects a mission that can no longer be published, and replaces an approval that came too
// late.
func (tx *writeTx) lapse(draftID string) error {
	if err := tx.lockChain(); err != nil {
		return err
	}
	position, err := tx.ChainPosition(tx.core.domain.ChainID)
	if err != nil {
		return err
	}
	state, err := tx.load(draftID)
	if err != nil || !state.late(earlier(tx.Now, position.Tip.Time)) || tx.core.clock.state().InDoubt {
		return err
	}
	if halted, err := tx.Halted(); err != nil || halted {
		return err
	}
	reason := state.lateness()
	facts := fundingFacts(state.funding)
	facts.Reason = reason
	if err := tx.move(state, mission.Lapsed, facts); err != nil {
		return err
	}
	review := store.Review{DraftID: draftID, Decision: mission.DecisionRejected, Operator: actorExpiry, Reason: reason}
	if err := tx.ReplaceReview(review); err != nil {
		return err
	}
	return tx.audit(actorExpiry, "mission.lapsed", draftID, map[string]any{"missionId": state.draft.MissionID, "reason": reason})
}

// late reports whether the mission can no longer be published at a time.
func (d *draftState) late(now time.Time) bool { return tooLate(d.draft, now) }

func tooLate(draft store.Draft, now time.Time) bool {
	return draft.PublishBy != nil && !now.Before(*draft.PublishBy)
}

// lateness is the reason, for creator and operator, that the mission can no longer be published.
func (d *draftState) lateness() string {
	if ends := d.draft.EndsAt; ends != nil && ends.Equal(*d.draft.PublishBy) {
		return fmt.Sprintf("The mission ended at %s and was not published before.", sortie.FormatTime(*ends))
	}
	return fmt.Sprintf("The money can be reclaimed from %s on, which leaves too little time to run the mission and to pay for it: %d days after its end are needed.",
		sortie.FormatTime(time.Unix(int64(d.funding.ReclaimAfter), 0)), int(mission.SettlementPeriod.Hours()/24))
}

// publishBy is the time from which the draft can no longer be published in its next state; nil
// where it does not apply. A mission that was published on a funding that a reorganization removed
// owes its contributors: it does not lapse.
func (tx *writeTx) publishBy(d *draftState, next mission.State) (*time.Time, error) {
	if d.funding == nil || !next.AwaitsPublication() {
		return nil, nil
	}
	if next.Decision == mission.DecisionApproved {
		if _, err := tx.SlotsOf(d.draft.ID); !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
	}
	by := mission.PublishBy(d.draft.EndsAt, d.funding.ReclaimAfter)
	return &by, nil
}
