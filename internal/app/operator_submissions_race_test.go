package app

import (
	"context"
	"fmt"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// Operators and the contributor change one submission concurrently, and the end of the hold a
// revocation. One of them wins, the others get an error, and the counters are right.
func TestDecisionsAboutASubmissionRace(t *testing.T) {
	t.Parallel()
	const rounds = 10
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, curated)
		ctx := context.Background()
		draft := s.publish("k", 2*rounds, "")
		before := s.app.Stats().Submissions
		for round := range rounds {
			wallet := contributor(round)
			id := s.submitQuickly(wallet, draft, fmt.Sprint(round))
			failures := together(
				func() error {
					_, err := s.operators.AcceptSubmission(ctx, testBase, by(reviewer), id, "Yes.")
					return err
				},
				func() error {
					_, err := s.operators.RejectSubmission(ctx, testBase, by(colleague), id, "No.")
					return err
				},
				func() error { _, err := s.app.Withdraw(ctx, wallet, id); return err },
				func() error { return s.app.CheckSubmission(ctx, id) },
			)
			s.wantWinners(id, failures)
			if s.submission(id).Status != sortie.SubmissionCurationAccepted {
				continue
			}
			s.pass(testHold)
			failures = together(
				func() error {
					_, err := s.operators.FlagSubmission(ctx, testBase, by(colleague), id, "Wait.")
					return err
				},
				func() error { return doDue(ctx, s.ledger) },
				func() error { return doDue(ctx, s.ledger) },
			)
			s.must(failures[1])
			s.must(failures[2])
			submission := s.stored(id)
			if flagged := failures[0] == nil; flagged == (submission.Slot != nil) || flagged != (submission.Status == sortie.SubmissionFlagged) {
				t.Fatalf("flagged %t (%v), and the slot is %v", flagged, failures[0], submission.Slot)
			}
		}
		s.wantCountsOf(draft.ID)
		after := s.app.Stats().Submissions
		if after["flagged"]-before["flagged"] < rounds || after["expired"] != 0 || int(after[OutcomeFinal]) != s.slots(draft).Finals {
			t.Errorf("outcomes %v", after)
		}
	})
}

// wantWinners checks that all decisions without an error were the same.
func (s *testMedia) wantWinners(id string, failures []error) {
	s.t.Helper()
	outcomes := []sortie.SubmissionStatus{sortie.SubmissionCurationAccepted, sortie.SubmissionRejected, sortie.SubmissionWithdrawn}
	status := s.submission(id).Status
	for i, want := range outcomes {
		// An acceptance may be rejected right after it, so that both succeed.
		overruled := i == 0 && status == sortie.SubmissionRejected
		switch err := failures[i]; {
		case err == nil && status != want && !overruled:
			s.t.Fatalf("decided %s, and it is %s", want, status)
		case err != nil && sortie.ErrorCode(err) != sortie.CodeWrongState:
			s.t.Fatal(err)
		}
	}
	s.must(failures[3])
}

// wantCountsOf compares the counters of a mission with its submissions.
func (s *testMedia) wantCountsOf(draftID string) {
	s.t.Helper()
	var reserved, accepted int
	for _, status := range mission.SubmissionStatuses() {
		number := s.count(`SELECT COUNT(*) FROM submissions WHERE draft_id = $1 AND status = $2`, draftID, string(status))
		switch {
		case mission.HoldsReservation(status):
			reserved += number
		case mission.HoldsSlot(status):
			accepted += number
		}
	}
	finals := s.count(`SELECT COUNT(*) FROM submissions WHERE draft_id = $1 AND slot IS NOT NULL`, draftID)
	slots := s.slots(s.read(draftID))
	if slots.Reserved != reserved || slots.Accepted != accepted || slots.Finals != finals {
		s.t.Errorf("%d reserved, %d accepted, %d final; counted are %d, %d, %d", reserved, accepted, finals, slots.Reserved, slots.Accepted, slots.Finals)
	}
	if delivered := s.count(`SELECT COUNT(*) FROM deliverables WHERE draft_id = $1`, draftID); delivered != accepted {
		s.t.Errorf("%d deliverables of %d acceptances, want %v", delivered, accepted, accepted)
	}
}
