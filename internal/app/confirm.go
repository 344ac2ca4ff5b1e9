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

// maxConfirmations is the number of fundings in each list of a page.
const maxConfirmations = 256

// PendingConfirmations lists, in pages, the fundings to confirm or lock, and the closings to count
// as refunds: blocks up to confirmedUpTo have enough confirmations, blocks up to lockedUpTo are
// final. It lists nothing to lock while an incident halts the service. A funding that is both new
// and final is listed twice, once for each step. The next page begins at next, which is zero after
// the last page.
func (l *Ledger) PendingConfirmations(ctx context.Context, chainID, confirmedUpTo, lockedUpTo uint64, after onchain.ConfirmationPlace) (page []onchain.Confirmation, next onchain.ConfirmationPlace, err error) {
	halted, err := l.store.Halted(ctx)
	if err != nil {
		return nil, next, err
	}
	seen, err := l.store.FundingsToConfirm(ctx, chainID, mission.DepthSeen, confirmedUpTo, after.Seen, maxConfirmations)
	if err != nil {
		return nil, next, err
	}
	confirmed, err := l.store.FundingsToConfirm(ctx, chainID, mission.DepthConfirmed, lockedUpTo, after.Confirmed, maxConfirmations)
	if err != nil {
		return nil, next, err
	}
	closed, err := l.store.RefundsToConfirm(ctx, chainID, lockedUpTo, after.Closed, maxConfirmations)
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

// placeAfter is where the next page begins: after the last element of each list that may have more.
// A list without more is skipped, and all of them are done when none has more.
func placeAfter(seen, confirmed, closed []store.FundedDraft) onchain.ConfirmationPlace {
	end := onchain.Place{Block: math.MaxInt64}
	next := onchain.ConfirmationPlace{Seen: end, Confirmed: end, Closed: end}
	if len(seen) == maxConfirmations {
		next.Seen = onchain.Place{Block: seen[maxConfirmations-1].Block, Index: seen[maxConfirmations-1].LogIndex}
	}
	if len(confirmed) == maxConfirmations {
		next.Confirmed = onchain.Place{Block: confirmed[maxConfirmations-1].Block, Index: confirmed[maxConfirmations-1].LogIndex}
	}
	if len(closed) == maxConfirmations {
		last := closed[maxConfirmations-1]
		next.Closed = onchain.Place{Block: last.Closed.Block, Index: uint64(last.Draft.Seq)}
	}
	if next.Seen == end && next.Confirmed == end && next.Closed == end {
		return onchain.ConfirmationPlace{}
	}
	return next
}

// mayLock reports whether a final funding may be locked, which publishes an approved mission. That
// must not happen when its money left the contract or when it is too late to publish: contributors
// would not be paid. [Ledger.lapseMissions] refunds the latter.
func mayLock(draft store.Draft, funding *onchain.Funding, now time.Time) bool {
	return draft.State.Decision != mission.DecisionApproved || funding.Closed == nil && !tooLate(draft, now)
}

// Confirm moves the drafts whose fundings, or refunds, a quorum of nodes confirmed. Drafts that
// changed since they were listed are left as they are.
func (l *Ledger) Confirm(ctx context.Context, confirmations []onchain.Confirmation) error {
	if len(confirmations) == 0 {
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
		for _, confirmation := range confirmations {
			if err := tx.confirm(confirmation, halted); err != nil {
				return fmt.Errorf("confirm draft %s: %w", confirmation.Terms.DraftID, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("confirm fundings: %w", err)
	}
	return nil
}

func (tx *writeTx) confirm(confirmation onchain.Confirmation, halted bool) error {
	state, err := tx.load(confirmation.Terms.DraftID)
	if err != nil {
		return err
	}
	position, err := tx.ChainPosition(confirmation.Funding.ChainID)
	if err != nil {
		return err
	}
	if !sameFunding(state.funding, &confirmation.Funding) {
		return nil // a reorganization removed it
	}
	if confirmation.Refund {
		return tx.confirmRefund(state, confirmation.Funding.Closed, position)
	}
	if confirmationsAt(position, state.funding.Block) < tx.core.confirmations && state.funding.Block > position.Final {
		return nil
	}
	if err := tx.confirmFunding(state); err != nil {
		return err
	}
	if confirmation.To != mission.DepthLocked || halted || state.funding.Block > position.Final || !mayLock(state.draft, state.funding, tx.Now) {
		return nil
	}
	return tx.move(state, mission.FundingLocked, fundingFacts(state.funding))
}

// confirmFunding begins the review, or approves the mission where every mission is approved. A
// mission that was in review before stays in review.
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

// confirmRefund counts a final closing as the refund of a mission that is not approved. A mission
// without a decision is rejected: its money left the contract, so it can never be published.
func (tx *writeTx) confirmRefund(d *draftState, closing *onchain.Closing, position onchain.Position) error {
	if !sameClosing(d.funding.Closed, closing) || closing.Block > position.Final {
		return nil
	}
	if err := tx.move(d, mission.FundingConfirmed, fundingFacts(d.funding)); err != nil { // the funding came before its closing
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
