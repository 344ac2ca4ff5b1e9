package app

import (
	"errors"
	"time"

	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// holdAgain is for how long an acceptance stays on hold when its mission's money is not in the
// contract, until that is looked at again. Acceptances that cannot become final so do not keep
// others waiting.
const holdAgain = time.Minute

// finalize gives an acceptance the mission's next slot. When the money has left the contract,
// nothing would be paid for it: it is revoked as soon as the closing is final, and stays on hold
// until then, since a reorganization may bring the money back. While an incident halts the service
// nothing changes.
func (tx *writeTx) finalize(submission store.Submission) error {
	if halted, err := tx.Halted(); err != nil || halted {
		return err
	}
	slots, err := tx.SlotsOf(submission.DraftID)
	if err != nil {
		return err
	}
	if slots.ClosedAt == nil {
		if _, err = tx.TakeSlot(submission); err == nil {
			tx.outcomes = append(tx.outcomes, OutcomeFinal)
		}
		if errors.Is(err, store.ErrMissionClosed) {
			return store.ErrConflict // it was closed at this moment; the next look sees that
		}
		return err
	}
	left, err := tx.moneyLeft(submission.DraftID)
	if err != nil {
		return err
	}
	if !left {
		return tx.ProlongHold(submission, tx.Now.Add(holdAgain))
	}
	_, err = tx.moveSubmission(submission, mission.MoneyLeft, store.SubmissionMove{
		Reason: "The mission's money left the contract before the acceptance was final.", DecidedBy: actorChain,
	})
	return err
}

// moneyLeft reports whether the closing of a draft's mission is final.
func (tx *writeTx) moneyLeft(draftID string) (bool, error) {
	funding, err := tx.FundingOf(draftID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil // reorganized out, which is an incident
	}
	if err != nil || funding.Closed == nil {
		return false, err
	}
	position, err := tx.ChainPosition(funding.ChainID)
	return err == nil && funding.Closed.Block <= position.Final, err
}
