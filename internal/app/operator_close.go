package app

import (
	"context"
	"errors"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// CloseMission ends a published mission at its creator's request: it takes no more submissions.
// Pending submissions are still decided and accepted ones paid; then the mission is closed and the
// rest of its money is refunded, as after its end. The answer reports what the mission waits for.
// Closing it again changes nothing.
//
// It fails with wallet_not_allowed, not_found, validation_failed, and wrong_state when the mission
// is not published or its money has left the contract.
func (o *Operators) CloseMission(ctx context.Context, order Order, id, reason string) (sortie.MissionClose, error) {
	if err := o.admit(order.Operator); err != nil {
		return sortie.MissionClose{}, err
	}
	reason, err := mission.NormalizeReason(reason, true)
	if err != nil {
		return sortie.MissionClose{}, err
	}
	if !mission.ValidDraftID(id) && !mission.ValidMissionID(id) {
		return sortie.MissionClose{}, errNoMission()
	}
	var slots store.Slots
	err = o.write(ctx, func(tx *writeTx) error {
		if err := tx.lockChain(); err != nil { // no reorganization during the transaction
			return err
		}
		state, err := tx.load(id)
		if err != nil {
			return err
		}
		err = tx.applyOrder(order, "mission.closed_early", state.draft.ID, func() (map[string]any, error) {
			return tx.endEarly(state, reason)
		})
		if err != nil {
			return err
		}
		slots, err = tx.SlotsOf(state.draft.ID)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return sortie.MissionClose{}, errNoMission()
	}
	if err != nil {
		return sortie.MissionClose{}, storeError(err)
	}
	return sortie.MissionClose{
		OK: true, MissionID: slots.MissionID, EndsAt: sortie.FormatTime(slots.EndsAt), Accepted: slots.Accepted,
		Unpaid: slots.Accepted - slots.Paid - slots.Deferred, Undecided: slots.Reserved, Closing: slots.Closing || slots.ClosedAt != nil,
	}, nil
}

// endedFacts is the data of the event that an operator ended a mission early.
type endedFacts struct {
	DraftID   string `json:"draftId"`
	MissionID string `json:"missionId"`
	EndsAt    string `json:"endsAt"`
	Reason    string `json:"reason"`
}

// endEarly ends a mission and returns the detail for the audit log, nil if the mission had ended.
func (tx *writeTx) endEarly(d *draftState, reason string) (map[string]any, error) {
	if err := mayEnd(d); err != nil {
		return nil, err
	}
	before, err := tx.SlotsOf(d.draft.ID)
	if err != nil {
		return nil, err
	}
	ended, err := tx.EndEarly(d.draft.ID)
	if err != nil || !ended {
		return nil, err
	}
	now := sortie.FormatTime(tx.Now)
	err = tx.addWalletEvent(before.Creator, d.draft.ID, sortie.EventMissionEnded, endedFacts{
		DraftID: d.draft.ID, MissionID: d.draft.MissionID, EndsAt: now, Reason: reason,
	})
	return map[string]any{
		"missionId": d.draft.MissionID, "reason": reason, "endedAt": now, "wouldHaveEndedAt": sortie.FormatTime(before.EndsAt),
		"accepted": before.Accepted, "undecided": before.Reserved,
	}, err
}

// mayEnd refuses a mission that an operator cannot end early, and explains what to do instead.
func mayEnd(d *draftState) error {
	shown := d.draft.State.View()
	refuse := func(format string, args ...any) error {
		return sortie.NewError(sortie.CodeWrongState, format, args...).Detail("reviewStatus", shown.Review)
	}
	switch {
	case d.funding != nil && d.funding.Closed != nil:
		return refuse("the money of this mission left the contract in transaction %s; there is nothing to close", d.funding.Closed.Transaction)
	case shown.Review == sortie.ReviewRejected:
		return refuse("this mission was rejected; its money, if it has any, goes back without this")
	case shown.Published:
		return nil
	case shown.Review == sortie.ReviewInReview:
		return refuse("this mission is not published; to give its money back, reject it: sortie review reject %s", d.draft.ID)
	case shown.Review == sortie.ReviewApproved:
		return refuse("this mission is approved and published when its funding is final; close it then")
	default:
		return refuse("this mission is not funded; to keep it from being published, reject it: sortie review reject %s", d.draft.ID)
	}
}
