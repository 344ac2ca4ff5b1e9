package mission

import (
	"slices"

	"github.com/sortie-labs/sortie"
)

// SubmissionState is the part of a submission that determines which events are allowed.
type SubmissionState struct {
	Status   sortie.SubmissionStatus
	Uploaded bool // the whole file has arrived
	Final    bool // its acceptance can no longer be revoked
}

// SubmissionEvent is an event that may change a submission's status.
type SubmissionEvent string

// The events. The events of the checks occur once, after the file was checked.
const (
	ChecksAccepted      SubmissionEvent = "checks_accepted"
	ChecksFlagged       SubmissionEvent = "checks_flagged"
	ChecksRejected      SubmissionEvent = "checks_rejected"
	ReservationExpired  SubmissionEvent = "reservation_expired" // nothing was uploaded in time
	ContributorWithdrew SubmissionEvent = "contributor_withdrew"
	OperatorAccepted    SubmissionEvent = "operator_accepted"
	OperatorRejected    SubmissionEvent = "operator_rejected"
	OperatorFlagged     SubmissionEvent = "operator_flagged"
	MoneyLeft           SubmissionEvent = "money_left" // the mission's money left the contract before the acceptance was final
)

// SubmissionEvents lists every event.
func SubmissionEvents() []SubmissionEvent {
	return []SubmissionEvent{
		ChecksAccepted, ChecksFlagged, ChecksRejected, ReservationExpired, ContributorWithdrew,
		OperatorAccepted, OperatorRejected, OperatorFlagged, MoneyLeft,
	}
}

// SubmissionStatuses lists every status of a submission.
func SubmissionStatuses() []sortie.SubmissionStatus {
	return []sortie.SubmissionStatus{
		sortie.SubmissionPending, sortie.SubmissionFlagged, sortie.SubmissionAccepted, sortie.SubmissionCurationAccepted,
		sortie.SubmissionRejected, sortie.SubmissionWithdrawn,
	}
}

// HoldsReservation reports whether a submission in this status holds a reservation of its mission.
func HoldsReservation(status sortie.SubmissionStatus) bool {
	return status == sortie.SubmissionPending || status == sortie.SubmissionFlagged
}

// HoldsSlot reports whether a submission in this status counts as accepted and is shown to the
// creator.
func HoldsSlot(status sortie.SubmissionStatus) bool {
	return status == sortie.SubmissionAccepted || status == sortie.SubmissionCurationAccepted
}

// NextSubmission returns the status after an event.
//
// The error is a [*sortie.Error] of code wrong_state with details.status and details.event. Its
// message says what to do.
func NextSubmission(from SubmissionState, event SubmissionEvent) (sortie.SubmissionStatus, error) {
	next, allowed := from.after(event)
	if allowed {
		return next, nil
	}
	return from.Status, sortie.NewError(sortie.CodeWrongState, "The submission is %s%s: %s.", from.Status, from.nuance(), from.advice(event)).
		Detail("status", from.Status).Detail("event", event)
}

func (s SubmissionState) after(event SubmissionEvent) (next sortie.SubmissionStatus, allowed bool) {
	const pending, flagged = sortie.SubmissionPending, sortie.SubmissionFlagged
	revocable := HoldsSlot(s.Status) && !s.Final
	uploaded := s.Status == pending && s.Uploaded
	switch event {
	case ChecksAccepted:
		return sortie.SubmissionAccepted, uploaded
	case ChecksFlagged:
		return flagged, uploaded
	case ChecksRejected: // also if the file differs from the declaration, which never counts as uploaded
		return sortie.SubmissionRejected, s.Status == pending
	case ReservationExpired:
		return sortie.SubmissionRejected, s.Status == pending && !s.Uploaded
	case ContributorWithdrew:
		return sortie.SubmissionWithdrawn, HoldsReservation(s.Status)
	case OperatorAccepted:
		return sortie.SubmissionCurationAccepted, s.Status == flagged
	case OperatorRejected:
		return sortie.SubmissionRejected, uploaded || s.Status == flagged || revocable
	case OperatorFlagged:
		return flagged, uploaded || revocable
	case MoneyLeft:
		return sortie.SubmissionRejected, revocable
	}
	return s.Status, false
}

// nuance returns what a reader must know in addition to the status.
func (s SubmissionState) nuance() string {
	switch {
	case s.Status == sortie.SubmissionPending && !s.Uploaded:
		return " and its file is not uploaded"
	case HoldsSlot(s.Status) && s.Final:
		return " for good"
	}
	return ""
}

// advice returns what to do about a refused event.
func (s SubmissionState) advice(event SubmissionEvent) string {
	switch {
	case s.Status == sortie.SubmissionRejected || s.Status == sortie.SubmissionWithdrawn:
		return "this is final, declare a new submission"
	case HoldsSlot(s.Status) && s.Final:
		return "it has its slot, is paid and cannot be revoked"
	case event == ContributorWithdrew:
		return "it can only be withdrawn before it is accepted"
	case s.Status == sortie.SubmissionPending && slices.Contains([]SubmissionEvent{OperatorAccepted, OperatorRejected, OperatorFlagged}, event):
		return "wait until its file is checked, then decide again"
	case event == OperatorFlagged && s.Status == sortie.SubmissionFlagged:
		return "it already waits for an operator, accept or reject it"
	default:
		return "read it again, it was already decided"
	}
}
