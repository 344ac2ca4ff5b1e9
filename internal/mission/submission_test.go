package mission_test

import (
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// submissionMoves is the protocol's list of moves. Every other move is refused.
var submissionMoves = map[mission.SubmissionState]map[mission.SubmissionEvent]sortie.SubmissionStatus{
	{Status: "pending"}: {
		mission.ChecksRejected: "rejected", mission.ReservationExpired: "rejected", mission.ContributorWithdrew: "withdrawn",
	},
	{Status: "pending", Uploaded: true}: {
		mission.ChecksAccepted: "accepted", mission.ChecksFlagged: "flagged", mission.ChecksRejected: "rejected",
		mission.ContributorWithdrew: "withdrawn", mission.OperatorFlagged: "flagged", mission.OperatorRejected: "rejected",
	},
	{Status: "flagged", Uploaded: true}: {
		mission.ContributorWithdrew: "withdrawn", mission.OperatorAccepted: "curation_accepted", mission.OperatorRejected: "rejected",
	},
	{Status: "accepted", Uploaded: true}: {
		mission.OperatorRejected: "rejected", mission.OperatorFlagged: "flagged", mission.MoneyLeft: "rejected",
	},
	{Status: "curation_accepted", Uploaded: true}: {
		mission.OperatorRejected: "rejected", mission.OperatorFlagged: "flagged", mission.MoneyLeft: "rejected",
	},
}

func TestSubmissionMoves(t *testing.T) {
	t.Parallel()
	moves := 0
	for _, status := range mission.SubmissionStatuses() {
		for _, uploaded := range []bool{false, true} {
			for _, final := range []bool{false, true} {
				from := mission.SubmissionState{Status: status, Uploaded: uploaded, Final: final}
				if (final && !mission.HoldsSlot(status)) || (!uploaded && (status == "flagged" || mission.HoldsSlot(status))) {
					continue // no submission has this state
				}
				for _, event := range append(mission.SubmissionEvents(), "unheard_of") {
					want, allowed := submissionMoves[from][event]
					got, err := mission.NextSubmission(from, event)
					switch {
					case allowed && (err != nil || got != want):
						t.Errorf("%+v after %s: got %s, error %v; want %s", from, event, got, err, want)
					case !allowed && (sortie.ErrorCode(err) != sortie.CodeWrongState || got != status):
						t.Errorf("%+v after %s: got %s, error %v; want wrong_state", from, event, got, err)
					case !allowed && !strings.HasSuffix(err.Error(), "."):
						t.Errorf("%+v after %s: got message %v, want one that says what to do", from, event, err)
					}
					if allowed {
						moves++
					}
				}
			}
		}
	}
	if moves != 18 {
		t.Errorf("allowed moves: got %d, want 18", moves)
	}
}

// Payouts depend on this: no event changes a final acceptance.
func TestFinalAcceptancesStay(t *testing.T) {
	t.Parallel()
	for _, status := range []sortie.SubmissionStatus{sortie.SubmissionAccepted, sortie.SubmissionCurationAccepted} {
		for _, event := range mission.SubmissionEvents() {
			_, err := mission.NextSubmission(mission.SubmissionState{Status: status, Uploaded: true, Final: true}, event)
			if err == nil || !strings.Contains(err.Error(), "for good") {
				t.Errorf("final %s after %s: got error %v, want wrong_state", status, event, err)
			}
		}
	}
}

func TestHoldings(t *testing.T) {
	t.Parallel()
	for status, want := range map[sortie.SubmissionStatus][2]bool{
		"pending": {true, false}, "flagged": {true, false}, "accepted": {false, true}, "curation_accepted": {false, true}, "rejected": {}, "withdrawn": {},
	} {
		if got := [2]bool{mission.HoldsReservation(status), mission.HoldsSlot(status)}; got != want {
			t.Errorf("status %s holds a reservation, a slot: got %v, want %v", status, got, want)
		}
	}
}
