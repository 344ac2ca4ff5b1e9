package app

import (
	"errors"
	"time"

	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// holdAgain prolongs the hold of an acceptance whose mission's money is not in the contract, so
// that it does not delay other acceptances.
const holdAgain = time.Minute

// finalize gives an acceptance the next slot of its mission. When the money left the contract, the
// acceptance would not be paid: it is revoked when the closing is final, and stays on hold until
// then, because a reorganization may remove the closing. Nothing changes while an incident halts
// the service.
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
			return store.ErrConflict // the mission was closed meanwhile; the next call sees that
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
		return false, nil // removed by a reorganization, which is an incident
	}
	if err != nil || funding.Closed == nil {
		return false, err
	}
	position, err := tx.ChainPosition(funding.ChainID)
	return err == nil && funding.Closed.Block <= position.Final, err
}
