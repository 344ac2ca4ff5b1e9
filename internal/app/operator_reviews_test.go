package app

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// Every use case of operators refuses other wallets before it reads anything.
func TestOnlyOperatorsOperate(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.fund(alice, "k", mission.DepthConfirmed)
	ctx := context.Background()
	for name, call := range map[string]func() error{
		"approve":   func() error { _, err := a.operators.Approve(ctx, alice, draft.ID, ""); return err },
		"reject":    func() error { _, err := a.operators.Reject(ctx, alice, draft.ID, "No."); return err },
		"reviews":   func() error { _, err := a.operators.Reviews(ctx, alice, Page{}); return err },
		"detail":    func() error { _, err := a.operators.ReviewDetail(ctx, alice, draft.ID); return err },
		"audit":     func() error { _, err := a.operators.Audit(ctx, alice, Page{}); return err },
		"chain":     func() error { _, err := a.operators.ChainOverview(ctx, alice); return err },
		"reconcile": func() error { _, err := a.operators.RequestReconcile(ctx, alice); return err },
		"clear":     func() error { _, err := a.operators.ClearIncident(ctx, alice, "x", "y"); return err },
		"zero":      func() error { _, err := a.operators.Approve(ctx, sortie.Address{}, draft.ID, ""); return err },
	} {
		if err := call(); sortie.ErrorCode(err) != sortie.CodeWalletNotAllowed {
			t.Errorf("%s: got error %v, want code %s", name, err, sortie.CodeWalletNotAllowed)
		}
	}
	a.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone})
}

func TestADecisionIsMadeOnce(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	ctx := context.Background()
	draft := a.fund(alice, "k", mission.DepthConfirmed)
	first, err := a.operators.Reject(ctx, reviewer, draft.MissionID, " The place is private. ")
	a.must(err)
	decision := first.Review.Decision
	if decision == nil || decision.DecidedBy != reviewer.String() || decision.Reason != "The place is private." || first.Review.ReviewStatus != sortie.ReviewRejected {
		t.Errorf("decided %+v", first.Review)
	}
	// The same request again gets the same answer and changes nothing.
	again, err := a.operators.Reject(ctx, reviewer, draft.ID, "The place is private.")
	if err != nil || *again.Review.Decision != *decision {
		t.Errorf("again: %+v, %v, want %v", again.Review.Decision, err, *decision)
	}
	for name, call := range map[string]func() error{
		"another reason": func() error { _, err := a.operators.Reject(ctx, reviewer, draft.ID, "Another."); return err },
		"another operator": func() error {
			_, err := a.operators.Reject(ctx, colleague, draft.ID, "The place is private.")
			return err
		},
		"the contrary": func() error {
			_, err := a.operators.Approve(ctx, reviewer, draft.ID, "The place is private.")
			return err
		},
	} {
		err := call()
		var coded *sortie.Error
		if sortie.ErrorCode(err) != sortie.CodeWrongState || !asError(err, &coded) || coded.Details["decidedBy"] != reviewer.String() {
			t.Errorf("%s: got error %v, want code %s, decided by %s", name, err, sortie.CodeWrongState, reviewer)
		}
	}
	if jobs := a.refundJobs(draft); jobs != 1 {
		t.Errorf("%d refund jobs, want 1", jobs)
	}
	if entries := a.count(`SELECT COUNT(*) FROM audit WHERE subject = $1`, draft.ID); entries != 1 {
		t.Errorf("%d audit entries, want 1", entries)
	}
}

func asError(err error, target **sortie.Error) bool {
	coded, ok := err.(*sortie.Error)
	*target = coded
	return ok
}

func TestWhatCannotBeDecided(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	ctx := context.Background()
	unfunded, seen := a.create(alice, "unfunded"), a.fund(alice, "seen", mission.DepthSeen)
	for _, draft := range []store.Draft{unfunded, seen} {
		_, err := a.operators.Approve(ctx, reviewer, draft.ID, "")
		wantCode(t, err, sortie.CodeWrongState)
	}
	for _, id := range []string{"draft_00000000000000000000000000", "nothing-00000000", "", "\x00", "../etc"} {
		_, err := a.operators.Approve(ctx, reviewer, id, "")
		wantCode(t, err, sortie.CodeNotFound)
		_, err = a.operators.ReviewDetail(ctx, reviewer, id)
		wantCode(t, err, sortie.CodeNotFound)
	}
	for _, reason := range []string{"", "  ", strings.Repeat("x", 1001), "\u202e"} {
		_, err := a.operators.Reject(ctx, reviewer, unfunded.ID, reason)
		wantCode(t, err, sortie.CodeValidationFailed)
	}
	a.wantState(unfunded, mission.Created())
}

func TestTheListOfReviews(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	ctx := context.Background()
	a.create(alice, "unfunded")
	var drafts []store.Draft
	for i, wallet := range []sortie.Address{alice, bob, alice, bob, alice} {
		draft := a.create(wallet, fmt.Sprint(i))
		a.extend([]onchain.Event{fundingOf(draft)})
		drafts = append(drafts, draft)
	}
	a.bury(drafts[0], mission.DepthConfirmed)
	_, err := a.operators.Approve(ctx, reviewer, drafts[1].ID, "") // decided: not in the list
	a.must(err)
	drafts = append(drafts[:1], drafts[2:]...)
	var got []string
	for page := (Page{Limit: 3}); ; {
		list, err := a.operators.Reviews(ctx, colleague, page)
		a.must(err)
		if !list.OK || list.Summary.ReturnedReviews != len(list.Reviews) || len(list.Reviews) > 3 {
			t.Fatalf("the page is %+v", list.Summary)
		}
		for _, review := range list.Reviews {
			got = append(got, review.DraftID)
		}
		if list.Summary.NextCursor == nil {
			break
		}
		page.Cursor = *list.Summary.NextCursor
	}
	for i, draft := range drafts {
		if i >= len(got) || got[i] != draft.ID {
			t.Fatalf("listed %v, want the drafts in review, oldest first", got)
		}
	}
	if len(got) != len(drafts) {
		t.Errorf("listed %d, want %d", len(got), len(drafts))
	}
	_, err = a.operators.Audit(ctx, reviewer, Page{Cursor: a.app.cursors.seal("reviews", 1)})
	wantCode(t, err, sortie.CodeInvalidCursor)
}

func TestAReviewShowsWhatADecisionNeeds(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.fund(alice, "k", mission.DepthConfirmed)
	detail, err := a.operators.ReviewDetail(context.Background(), reviewer, draft.MissionID)
	a.must(err)
	review := detail.Review
	if !detail.OK || review.Creator != alice || review.Title != draft.Title || review.TotalBudget.Amount != "10" || review.TotalBudget.BaseUnits != "10000000" {
		t.Errorf("the review is %+v", review)
	}
	if review.Status != sortie.ListFundedPendingReview || review.Decision != nil || review.Funding.Confirmations != testConfirmations || review.Funding.Locked {
		t.Errorf("the review is %+v", review)
	}
	if string(review.NormalizedMission) != string(draft.Mission) || len(review.Warnings) == 0 {
		t.Errorf("the mission is %s, the warnings %q", review.NormalizedMission, review.Warnings)
	}
}
