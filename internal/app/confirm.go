package app

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// maxDeepenings is how many fundings of a kind go deeper in one step. The rest comes with the next.
const maxDeepenings = 256

// ToDeepen lists, in pages, the fundings that may go deeper, now that the blocks up to
// confirmedUpTo have enough confirmations and those up to lockedUpTo are final, and the closings
// that are final and not yet counted as refunds. Nothing is locked while the service is halted. A
// funding that is both new and final is listed twice, so that one step does not wait for the other.
// The next page begins at next, which is zero after the last.
func (l *Ledger) PendingConfirmations(ctx context.Context, chainID, confirmedUpTo, lockedUpTo uint64, after onchain.ConfirmationPlace) (page []onchain.Confirmation, next onchain.ConfirmationPlace, err error) {
	halted, err := l.store.Halted(ctx)
	if err != nil {
		return nil, next, err
	}
	seen, err := l.store.FundingsToDeepen(ctx, chainID, mission.DepthSeen, confirmedUpTo, after.Seen, maxDeepenings)
	if err != nil {
		return nil, next, err
	}
	confirmed, err := l.store.FundingsToDeepen(ctx, chainID, mission.DepthConfirmed, lockedUpTo, after.Confirmed, maxDeepenings)
	if err != nil {
		return nil, next, err
	}
	closed, err := l.store.RefundsToConfirm(ctx, chainID, lockedUpTo, after.Closed, maxDeepenings)
	if err != nil {
		return nil, next, err
	}
	for _, funded := range seen {
		page = append(page, onchain.Confirmation{Terms: funded.Terms(), Funding: funded.Funding, To: mission.DepthConfirmed})
	}
	for _, funded := range slices.Concat(seen, confirmed) {
		if !halted && funded.Block <= lockedUpTo && mayLock(funded.Draft, &funded.Funding, l.now()) {
			page = append(page, onchain.Confirmation{Terms: funded.Terms(), Funding: funded.Funding, To: mission.DepthLocked})
		}
	}
	for _, funded := range closed {
		page = append(page, onchain.Confirmation{Terms: funded.Terms(), Funding: funded.Funding, To: mission.DepthLocked, Refund: true})
	}
	return page, placeAfter(seen, confirmed, closed), nil
}

// placeAfter is where the next page begins: after the last of each list that may have more, and
// after everything for the others, as long as one has more.
func placeAfter(seen, confirmed, closed []store.FundedDraft) onchain.ConfirmationPlace {
	end := onchain.Place{Block: math.MaxInt64}
	next := onchain.ConfirmationPlace{Seen: end, Confirmed: end, Closed: end}
	if len(seen) == maxDeepenings {
		next.Seen = onchain.Place{Block: seen[maxDeepenings-1].Block, Index: seen[maxDeepenings-1].LogIndex}
	}
	if len(confirmed) == maxDeepenings {
		next.Confirmed = onchain.Place{Block: confirmed[maxDeepenings-1].Block, Index: confirmed[maxDeepenings-1].LogIndex}
	}
	if len(closed) == maxDeepenings {
		last := closed[maxDeepenings-1]
		next.Closed = onchain.Place{Block: last.Closed.Block, Index: uint64(last.Draft.Seq)}
	}
	if next.Seen == end && next.Confirmed == end && next.Closed == end {
		return onchain.ConfirmationPlace{}
	}
	return next
}

// mayLock reports whether a final funding may count as locked. A mission that was approved must not
// be published by it when its money is gone or when it is too late: contributors would not be paid.
// [App.lapseMissions] returns the money of the latter.
func mayLock(draft store.Draft, funding *onchain.Funding, now time.Time) bool {
	return draft.State.Decision != mission.DecisionApproved || funding.Closed == nil && !tooLate(draft, now)
}

// Deepen moves the drafts whose fundings, or refunds, the chain was asked about again and
// confirmed. What changed since it was listed is left as it is.
func (l *Ledger) Confirm(ctx context.Context, deepenings []onchain.Confirmation) error {
	if len(deepenings) == 0 {
		return nil
	}
	err := l.write(ctx, func(tx *writeTx) error {
		if err := tx.lockChain(); err != nil {
			return err
		}
		halted, err := tx.Halted()
		if err != nil {
			return err
		}
		for _, deepening := range deepenings {
			if err := tx.confirm(deepening, halted); err != nil {
				return fmt.Errorf("deepen draft %s: %w", deepening.Terms.DraftID, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("deepen fundings: %w", err)
	}
	return nil
}

func (tx *writeTx) confirm(deepening onchain.Confirmation, halted bool) error {
	state, err := tx.load(deepening.Terms.DraftID)
	if err != nil {
		return err
	}
	position, err := tx.ChainPosition(deepening.Funding.ChainID)
	if err != nil {
		return err
	}
	if !sameFunding(state.funding, &deepening.Funding) {
		return nil // a reorganization was faster
	}
	if deepening.Refund {
		return tx.confirmRefund(state, deepening.Funding.Closed, position)
	}
	if confirmationsAt(position, state.funding.Block) < tx.core.confirmations && state.funding.Block > position.Final {
		return nil
	}
	if err := tx.confirmFunding(state); err != nil {
		return err
	}
	if deepening.To != mission.DepthLocked || halted || state.funding.Block > position.Final || !mayLock(state.draft, state.funding, tx.Now) {
		return nil
	}
	return tx.move(state, mission.FundingLocked, fundingFacts(state.funding))
}

// confirm begins the review, or ends it at once where everything is approved. What was in review
// before stays there.
func (tx *writeTx) confirmFunding(d *draftState) error {
	before := d.draft.State
	if err := tx.move(d, mission.FundingConfirmed, fundingFacts(d.funding)); err != nil {
		return err
	}
	if !tx.core.autoApprove || d.draft.State == before || d.draft.State.Decision != mission.DecisionNone || d.funding.Closed != nil || d.late(tx.Now) {
		return nil
	}
	return tx.decide(d, mission.Approved, actorAuto, "")
}

// confirmRefund counts a final closing as the refund of a mission that is not approved. One that
// nobody decided about is rejected by it: its money is gone, so it can never be published.
func (tx *writeTx) confirmRefund(d *draftState, closing *onchain.Closing, position onchain.Position) error {
	if !sameClosing(d.funding.Closed, closing) || closing.Block > position.Final {
		return nil
	}
	if err := tx.move(d, mission.FundingConfirmed, fundingFacts(d.funding)); err != nil { // the funding is older than its closing
		return err
	}
	if d.draft.State.Decision == mission.DecisionNone {
		actor, reason := actorReclaim, "The creator took the money back."
		if closing.Reason != closedByCreator {
			actor, reason = actorChain, "The mission was closed on the chain."
		}
		if err := tx.decide(d, mission.Rejected, actor, reason); err != nil {
			return err
		}
	}
	if d.draft.State.Decision != mission.DecisionRejected {
		return nil
	}
	return tx.move(d, mission.RefundConfirmed, closingFacts(closing))
}

func sameFunding(a, b *onchain.Funding) bool {
	return a != nil && a.ChainID == b.ChainID && a.Block == b.Block && a.BlockHash == b.BlockHash && a.Transaction == b.Transaction && a.LogIndex == b.LogIndex
}

func sameClosing(a, b *onchain.Closing) bool {
	return a != nil && b != nil && a.Block == b.Block && a.BlockHash == b.BlockHash && a.Transaction == b.Transaction
}

// confirmationsAt counts the blocks from one up to the head, both included.
func confirmationsAt(position onchain.Position, block uint64) uint64 {
	if block > position.Head {
		return 0
	}
	return position.Head - block + 1
}
