package mission

import (
	"slices"

	"github.com/sortie-labs/sortie"
)

// SubmissionState is what decides which way a submission may go.
type SubmissionState struct {
	Status   sortie.SubmissionStatus
	Uploaded bool // the file is here, whole
	Final    bool // its acceptance can no longer be taken back
}

// SubmissionEvent is something that may move a submission.
type SubmissionEvent string

// The events. Those of the checks come once, when the file was looked at.
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

// HoldsReservation reports whether a submission in this status keeps a place of its mission free
// for itself.
func HoldsReservation(status sortie.SubmissionStatus) bool {
	return status == sortie.SubmissionPending || status == sortie.SubmissionFlagged
}

// HoldsSlot reports whether a submission in this status counts among the accepted ones, which
// creators see.
func HoldsSlot(status sortie.SubmissionStatus) bool {
	return status == sortie.SubmissionAccepted || status == sortie.SubmissionCurationAccepted
}

// NextSubmission gives the status after an event.
//
// The error is a [*sortie.Error] of code wrong_state with details.status and details.event, which
// says what to do.
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
	case ChecksRejected: // also of a file that is not the declared one, which never counts as uploaded
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

// nuance is what a reader must know beside the status.
func (s SubmissionState) nuance() string {
	switch {
	case s.Status == sortie.SubmissionPending && !s.Uploaded:
		return " and its file is not uploaded"
	case HoldsSlot(s.Status) && s.Final:
		return " for good"
	}
	return ""
}

// advice says what to do about an event that is refused.
func (s SubmissionState) advice(event SubmissionEvent) string {
	switch {
	case s.Status == sortie.SubmissionRejected || s.Status == sortie.SubmissionWithdrawn:
		return "nothing changes it any more, a new one can be declared"
	case HoldsSlot(s.Status) && s.Final:
		return "it takes its slot and is paid, and cannot be taken back"
	case event == ContributorWithdrew:
		return "it can be withdrawn before it is accepted only"
	case s.Status == sortie.SubmissionPending && slices.Contains([]SubmissionEvent{OperatorAccepted, OperatorRejected, OperatorFlagged}, event):
		return "wait until its file was checked, then decide again"
	case event == OperatorFlagged && s.Status == sortie.SubmissionFlagged:
		return "it waits for a person already, accept or reject it"
	default:
		return "read it again, somebody has decided about it already"
	}
}
