package api

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// endingMission returns a mission with an end.
func endingMission(ends time.Time) string {
	return strings.Replace(goodMission, `"targetCount":4`, `"targetCount":4,"endsAt":"`+sortie.FormatTime(ends)+`"`, 1)
}

func (s *testService) mission(draftID string) sortie.MissionStatus {
	s.t.Helper()
	status, err := s.client(creator).Mission(context.Background(), draftID)
	if err != nil {
		s.t.Fatal(err)
	}
	return status
}

// No answer has a quote that is valid after the end of the mission: not a replay, not the status
// and not the list.
func TestNoQuoteIsLiveAfterTheEndOfTheMission(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	ends := s.clock.Now().Add(time.Hour + 90*time.Second)
	body := endingMission(ends)
	created := s.create("k", body)
	endless := s.create("endless", goodMission)
	quotes := func() map[string]sortie.Quote {
		replayed := s.create("k", body)
		if replayed.DraftID != created.DraftID {
			t.Fatalf("the replay gave draft %s, want %s", replayed.DraftID, created.DraftID)
		}
		list, err := s.client(creator).Drafts(context.Background(), sortie.ListQuery{})
		if err != nil || len(list.Drafts) != 2 {
			t.Fatalf("the list is %+v, %v; want two drafts", list, err)
		}
		return map[string]sortie.Quote{
			"replay": replayed.FundingQuote, "status": s.mission(created.DraftID).FundingQuote, "list": list.Drafts[1].FundingQuote,
		}
	}
	ask := sortie.Ask{Creator: creator.Address(), MissionID: created.MissionID, Token: sortie.TokenUSDC, Amount: "2.5", TargetCount: 4}
	for _, at := range []struct {
		name  string
		until time.Duration // before the end
		live  bool
	}{
		{"an hour before the end", time.Hour, true},
		{"a minute before the end", time.Minute, true},
		{"at the end", 0, false},
		{"a day after the end", -24 * time.Hour, false},
	} {
		s.clock.advance(ends.Add(-at.until).Sub(s.clock.Now()))
		for where, quote := range quotes() {
			if deadline := time.Unix(int64(quote.Authorization.Deadline), 0); !deadline.Before(ends) {
				t.Errorf("%s, %s: the deadline is %s, want it before the end, %s", at.name, where, deadline, ends)
			}
			err := sortie.VerifyQuote(quote, ask, s.trust, s.clock.Now())
			if (err == nil) != at.live {
				t.Errorf("%s, %s: the quote's check says %v, want a live quote: %t", at.name, where, err, at.live)
			}
		}
		ask := ask
		ask.MissionID = endless.MissionID
		if err := sortie.VerifyQuote(s.mission(endless.DraftID).FundingQuote, ask, s.trust, s.clock.Now()); err != nil {
			t.Errorf("%s: the quote of a mission without an end: %v, want a live one", at.name, err)
		}
	}
}

// A mission that was funded but not approved before its end cannot be approved. It is refunded
// without a decision.
func TestAMissionThatEndedIsRefundedInsteadOfApproved(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	ends := s.clock.Now().Add(2 * time.Hour)
	draft := s.create("k", endingMission(ends))
	s.chain.mine(fundingOf(draft))
	s.chain.mine()
	s.chain.finalize()
	s.clock.advance(2*time.Hour - time.Second)
	s.due()
	if status := s.mission(draft.DraftID); status.ReviewStatus != sortie.ReviewInReview {
		t.Fatalf("a second before the end the mission is %s, want %s", status.ReviewStatus, sortie.ReviewInReview)
	}
	s.clock.advance(time.Second)
	refused := s.send(testRequest{method: http.MethodPost, target: "/api/operator/missions/" + draft.DraftID + "/approve", signer: reviewer})
	if refused.StatusCode != http.StatusConflict || refused.code() != sortie.CodeWrongState || !strings.Contains(string(refused.body), sortie.FormatTime(ends)) {
		t.Errorf("approve after the end: got %d %s, want 409 wrong_state with the time of the end", refused.StatusCode, refused.body)
	}
	if doctor, err := s.client(creator).Doctor(context.Background(), draft.DraftID); err != nil || doctor.Blockers[0].Code != sortie.BlockerMissionEnded {
		t.Errorf("the doctor says %+v, %v; want %s first", doctor, err, sortie.BlockerMissionEnded)
	}
	s.chain.mine()
	s.due()
	s.wantLapsed(draft)
	again := s.send(testRequest{method: http.MethodPost, target: "/api/operator/missions/" + draft.DraftID + "/approve", signer: reviewer})
	if again.StatusCode != http.StatusConflict || again.details()["decidedBy"] != "expiry" {
		t.Errorf("approve what has lapsed: got %d %s, want 409 decided by expiry", again.StatusCode, again.body)
	}
}

// wantLapsed checks that a mission was rejected, once, because it could not be published in time,
// and that it is refunded.
func (s *testService) wantLapsed(draft sortie.DraftCreated) {
	s.t.Helper()
	status := s.mission(draft.DraftID)
	if status.ReviewStatus != sortie.ReviewRejected || status.NextAction != sortie.ActionWaitForRefund {
		s.t.Fatalf("the mission is %s, next %s; want %s, %s", status.ReviewStatus, status.NextAction, sortie.ReviewRejected, sortie.ActionWaitForRefund)
	}
	if len(s.chain.refunds) != 1 || s.chain.refunds[0] != draft.DraftID {
		s.t.Errorf("the refunds are %v, want one, of %s", s.chain.refunds, draft.DraftID)
	}
	review, err := s.client(reviewer).Review(context.Background(), draft.DraftID)
	if err != nil || review.Decision == nil || review.Decision.DecidedBy != "expiry" || review.Decision.Reason == "" {
		s.t.Errorf("the review is %+v, %v; want a rejection by expiry with its reason", review, err)
	}
}

// A mission without an end runs for 30 days after its publication. It must be published so early
// that everything is paid before its creator may reclaim.
func TestAMissionThatCouldBeReclaimedTooSoonIsRefundedInsteadOfApproved(t *testing.T) {
	t.Parallel()
	const days = 24 * time.Hour
	s := newService(t, serviceOptions{})
	draft, early := s.create("k", goodMission), s.create("early", goodMission)
	funding, another := fundingOf(draft), fundingOf(early)
	reclaim := time.Unix(int64(funding.Funded.ReclaimAfter), 0)
	s.chain.mine(funding, another)
	s.chain.mine()
	s.chain.finalize()
	s.clock.advance(reclaim.Add(-(30+74)*days).Sub(s.clock.Now()) - time.Second)
	s.due()
	if _, err := s.client(reviewer).Approve(context.Background(), early.DraftID, ""); err != nil {
		t.Errorf("approve in time: %v", err)
	}
	s.clock.advance(time.Second)
	refused := s.send(testRequest{method: http.MethodPost, target: "/api/operator/missions/" + draft.DraftID + "/approve", signer: reviewer})
	if refused.StatusCode != http.StatusConflict || refused.code() != sortie.CodeWrongState || refused.details()["reclaimAfter"] != sortie.FormatTime(reclaim) {
		t.Errorf("approve too late: got %d %s, want 409 wrong_state with reclaimAfter %s", refused.StatusCode, refused.body, sortie.FormatTime(reclaim))
	}
	s.chain.mine()
	s.due()
	s.wantLapsed(draft)
	if status := s.mission(early.DraftID); !status.Published {
		t.Errorf("the mission that was approved in time is %+v, want it published", status)
	}
}
