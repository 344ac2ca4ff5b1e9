package app

import (
	"context"
	"slices"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/links"
	"github.com/sortie-labs/sortie/internal/store"
)

// During the hold an operator may revoke an acceptance. From then on its media cannot be read.
func TestAnAcceptanceIsTakenBackDuringTheHold(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		draft := s.publish("k", 1, "")
		accepted := s.submit(bob, draft, "one", photo(1))
		link := s.deliverables(draft, DeliverablesQuery{}).Submissions[0].MediaURL
		if _, err := s.fetch(s.service, link); err != nil {
			t.Fatal(err)
		}
		_, err := s.declare(contributor(1), draft, "two", photo(2))
		wantCode(t, err, sortie.CodeMissionFull)

		for range 2 { // the same decision again is answered the same
			detail, err := s.operators.FlagSubmission(ctx, testBase, by(reviewer), accepted.SubmissionID, "Is that the tower?")
			s.must(err)
			if detail.Submission.Status != sortie.SubmissionFlagged || detail.Submission.DecidedBy != reviewer.String() {
				t.Errorf("flagged %+v", detail.Submission)
			}
		}
		s.wantDead(draft, link)
		s.pass(testHold)
		s.due()
		if s.stored(accepted.SubmissionID).Slot != nil {
			t.Error("a flagged submission became final")
		}

		detail, err := s.operators.AcceptSubmission(ctx, testBase, by(colleague), accepted.SubmissionID, "")
		s.must(err)
		if detail.Submission.Status != sortie.SubmissionCurationAccepted || detail.Submission.FinalAt == nil ||
			*detail.Submission.FinalAt != sortie.FormatTime(s.clock().Add(testHold)) {
			t.Errorf("accepted %+v", detail.Submission)
		}
		delivered := s.deliverables(draft, DeliverablesQuery{}).Submissions
		if len(delivered) != 1 || delivered[0].Verification.Status != sortie.SubmissionCurationAccepted || delivered[0].Verification.Score != 100 {
			t.Errorf("delivered %+v", delivered)
		}
		if _, err := s.fetch(s.service, delivered[0].MediaURL); err != nil {
			t.Error(err)
		}
		_, err = s.operators.AcceptSubmission(ctx, testBase, by(reviewer), accepted.SubmissionID, "Me, too.")
		wantCode(t, err, sortie.CodeWrongState)

		_, err = s.operators.RejectSubmission(ctx, testBase, by(reviewer), accepted.SubmissionID, "It is a poster of the tower.")
		s.must(err)
		s.wantDead(draft, delivered[0].MediaURL)
		if rejected := s.wantStatus(accepted.SubmissionID, sortie.SubmissionRejected); rejected.Reason != "It is a poster of the tower." {
			t.Errorf("rejected %+v, want It is a poster of the tower.", rejected)
		}
		_, err = s.declare(contributor(1), draft, "two", photo(2)) // the slot is free
		s.must(err)
		want := []sortie.EventType{
			sortie.EventSubmissionAccepted, sortie.EventSubmissionRevoked, sortie.EventSubmissionAccepted, sortie.EventSubmissionRevoked,
		}
		if types := s.typesOf(draft); !slices.Equal(types[len(types)-4:], want) {
			t.Errorf("events %v", types)
		}
		if entries := s.count(`SELECT COUNT(*) FROM audit WHERE subject = $1`, accepted.SubmissionID); entries != 3 {
			t.Errorf("%d audit entries of three decisions, want 3", entries)
		}
	})
}

// wantDead checks that a link is refused and nothing is delivered.
func (s *testMedia) wantDead(draft store.Draft, link string) {
	s.t.Helper()
	_, err := s.fetch(s.service, link)
	wantCode(s.t, err, sortie.CodeNotFound)
	if page := s.deliverables(draft, DeliverablesQuery{}); len(page.Submissions) != 0 || page.Summary.AcceptedSubmissions != 0 {
		s.t.Errorf("delivered %+v", page)
	}
}

// In mode curate every submission that passes the checks waits in the queue, oldest first.
func TestTheQueueOfOperators(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, curated)
		ctx := context.Background()
		draft, another := s.publish("k", 9, ""), s.publish("l", 9, "")
		var want []string
		for i := range 5 {
			want = append(want, s.submitQuickly(contributor(i), draft, "x"))
		}
		s.submitQuickly(bob, another, "y")
		var got []string
		for query := (QueueQuery{MissionID: draft.MissionID, Page: Page{Limit: 2}}); ; {
			page, err := s.operators.SubmissionQueue(ctx, testBase, reviewer, query)
			s.must(err)
			for _, submission := range page.Submissions {
				got = append(got, submission.SubmissionID)
				if submission.Status != sortie.SubmissionFlagged || submission.Title != "Photo of the tower" || submission.MediaURL == nil || submission.FinalAt != nil {
					t.Errorf("in the queue: %+v", submission)
				}
			}
			if page.Summary.NextCursor == nil {
				break
			}
			query.Cursor = *page.Summary.NextCursor
			_, err = s.operators.SubmissionQueue(ctx, testBase, reviewer, QueueQuery{Page: query.Page})
			wantCode(t, err, sortie.CodeInvalidCursor) // of another list
		}
		if !slices.Equal(got, want) {
			t.Errorf("queue %v, want %v", got, want)
		}
		all, err := s.operators.SubmissionQueue(ctx, testBase, reviewer, QueueQuery{})
		s.must(err)
		if all.Summary.ReturnedSubmissions != 6 {
			t.Errorf("%d flagged submissions, want 6", all.Summary.ReturnedSubmissions)
		}
		_, err = s.operators.SubmissionQueue(ctx, testBase, reviewer, QueueQuery{MissionID: "nothing-00000000"})
		wantCode(t, err, sortie.CodeNotFound)
	})
}

// A link for operators is not valid for creators, and the other way round.
func TestLinksAreForOneUse(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), curated)
	ctx := context.Background()
	draft := s.publish("k", 2, "")
	flagged := s.submit(bob, draft, "one", photo(1))
	seen, err := s.operators.ReviewedSubmission(ctx, testBase, reviewer, flagged.SubmissionID)
	s.must(err)
	query := s.queryOf(*seen.Submission.MediaURL)
	if _, err := s.fetch(s.service, *seen.Submission.ThumbnailURL); err != nil {
		t.Error(err)
	}
	_, err = s.app.OpenMedia(ctx, flagged.SubmissionID, "original", query)
	wantCode(t, err, sortie.CodeMediaURLInvalid)
	_, err = s.app.OpenMedia(ctx, flagged.SubmissionID, "review-original", query)
	wantCode(t, err, sortie.CodeNotFound)
	_, err = s.app.OpenUpload(ctx, flagged.SubmissionID, links.VariantUploadPut, query)
	wantCode(t, err, sortie.CodeMediaURLInvalid)
	_, err = s.operators.AcceptSubmission(ctx, testBase, by(reviewer), flagged.SubmissionID, "Fine.")
	s.must(err)
	delivered := s.deliverables(draft, DeliverablesQuery{}).Submissions[0]
	_, err = s.operators.OpenReviewMedia(ctx, flagged.SubmissionID, "original", s.queryOf(delivered.MediaURL))
	wantCode(t, err, sortie.CodeMediaURLInvalid)
	_, err = s.app.OpenMedia(ctx, flagged.SubmissionID, "thumbnail", s.queryOf(delivered.MediaURL))
	wantCode(t, err, sortie.CodeMediaURLInvalid)
	s.pass(DefaultLinkTTL)
	_, err = s.fetch(s.service, delivered.MediaURL)
	wantCode(t, err, sortie.CodeMediaURLExpired)
}

// Decisions about submissions need an operator, a reason and a status that allows them.
func TestDecisionsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), curated)
	ctx := context.Background()
	draft := s.publish("k", 3, "")
	flagged := s.submitQuickly(bob, draft, "one")
	declared, err := s.declare(contributor(1), draft, "two", photo(2))
	s.must(err)
	for name, call := range map[string]func(operator sortie.Address) error{
		"queue": func(o sortie.Address) error {
			_, err := s.operators.SubmissionQueue(ctx, testBase, o, QueueQuery{})
			return err
		},
		"show": func(o sortie.Address) error {
			_, err := s.operators.ReviewedSubmission(ctx, testBase, o, flagged)
			return err
		},
		"accept": func(o sortie.Address) error {
			_, err := s.operators.AcceptSubmission(ctx, testBase, by(o), flagged, "")
			return err
		},
		"reject": func(o sortie.Address) error {
			_, err := s.operators.RejectSubmission(ctx, testBase, by(o), flagged, "No.")
			return err
		},
		"flag": func(o sortie.Address) error {
			_, err := s.operators.FlagSubmission(ctx, testBase, by(o), flagged, "No.")
			return err
		},
		"rotate": func(o sortie.Address) error { return s.operators.RotateLinkKeysNow(ctx, by(o), "No.") },
	} {
		if err := call(bob); sortie.ErrorCode(err) != sortie.CodeWalletNotAllowed {
			t.Errorf("%s: got error %v, want code %s", name, err, sortie.CodeWalletNotAllowed)
		}
	}
	for name, refused := range map[string]struct {
		call func() error
		want sortie.Code
	}{
		"no reason": {func() error {
			_, err := s.operators.RejectSubmission(ctx, testBase, by(reviewer), flagged, " ")
			return err
		}, sortie.CodeValidationFailed},
		"no such id": {func() error {
			_, err := s.operators.AcceptSubmission(ctx, testBase, by(reviewer), "sub_00000000000000000000000000", "")
			return err
		}, sortie.CodeNotFound},
		"an odd id": {func() error {
			_, err := s.operators.AcceptSubmission(ctx, testBase, by(reviewer), draft.ID, "")
			return err
		}, sortie.CodeNotFound},
		"not uploaded": {func() error {
			_, err := s.operators.RejectSubmission(ctx, testBase, by(reviewer), declared.SubmissionID, "No.")
			return err
		}, sortie.CodeWrongState},
	} {
		if err := refused.call(); sortie.ErrorCode(err) != refused.want {
			t.Errorf("%s: got error %v, want code %s", name, err, refused.want)
		}
	}
	// A submission that was flagged before its file was read cannot be accepted until the file is
	// read.
	s.upload(declared, photo(2))
	_, err = s.operators.FlagSubmission(ctx, testBase, by(reviewer), declared.SubmissionID, "Wait.")
	s.must(err)
	_, err = s.operators.AcceptSubmission(ctx, testBase, by(reviewer), declared.SubmissionID, "")
	wantCode(t, err, sortie.CodeWrongState)
	s.must(s.app.CheckSubmission(ctx, declared.SubmissionID))
	s.wantStatus(declared.SubmissionID, sortie.SubmissionFlagged)
	_, err = s.operators.AcceptSubmission(ctx, testBase, by(reviewer), declared.SubmissionID, "")
	s.must(err)
}
