package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
)

const (
	reviewsPath   = "/api/operator/reviews"
	decidePath    = "/api/operator/missions"
	auditPath     = "/api/operator/audit"
	chainPath     = "/api/operator/chain"
	reconcilePath = "/api/operator/chain/reconcile"
	incidentsPath = "/api/operator/incidents"
	eventsPath    = "/api/external/events"
)

const goodReason = `{"reason":"The place is private."}`

// decide sends an operator's decision.
func (s *testService) decide(signer sortie.Signer, id, verdict, body string) answer {
	s.t.Helper()
	return s.send(testRequest{method: http.MethodPost, target: decidePath + "/" + id + "/" + verdict, body: body, signer: signer})
}

func (s *testService) status(id string) sortie.MissionStatus {
	s.t.Helper()
	return decode[sortie.MissionStatus](s.t, s.send(testRequest{target: listPath + "/" + id}))
}

// eventTypes returns the types of the creator's events, oldest first.
func (s *testService) eventTypes() string {
	s.t.Helper()
	var types []string
	for _, event := range decode[sortie.EventPage](s.t, s.send(testRequest{target: eventsPath})).Events {
		types = append(types, string(event.Type))
	}
	return strings.Join(types, " ")
}

func mustJSON(t testing.TB, value any) []byte {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// A mission from its draft to its publication, as its creator and its reviewer see it.
func TestFromDraftToPublication(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		draft := s.create("k1", goodMission)
		doctor := func() sortie.Doctor {
			t.Helper()
			return decode[sortie.Doctor](t, s.send(testRequest{target: listPath + "/" + draft.MissionID + "/doctor"}))
		}
		wantDoctor := func(health sortie.Health, party sortie.Party, confirmations uint64, locked bool) {
			t.Helper()
			if d := doctor(); d.Health != health || d.WaitingOn != party || d.Funding.Confirmations != confirmations || d.Funding.Locked != locked || d.Funding.Required != 2 {
				t.Errorf("%+v, want %s, waiting on %s with %d confirmations", d, health, party, confirmations)
			}
		}
		wantDoctor(sortie.HealthWaiting, sortie.PartyCreator, 0, false)
		mustBe(t, "an approval before the funding", s.decide(reviewer, draft.DraftID, "approve", ""), http.StatusConflict)

		s.chain.mine(fundingOf(draft))
		wantDoctor(sortie.HealthWaiting, sortie.PartyChain, 1, false)
		if status := s.status(draft.DraftID); status.NextAction != sortie.ActionWaitForConfirmation {
			t.Errorf("seen: %+v", status)
		}
		s.chain.mine()
		wantDoctor(sortie.HealthWaiting, sortie.PartyOperator, 2, false)
		page := decode[sortie.ReviewPage](t, s.send(testRequest{target: reviewsPath, signer: reviewer}))
		if len(page.Reviews) != 1 || page.Reviews[0].DraftID != draft.DraftID || page.Reviews[0].Creator != creator.Address() || page.Reviews[0].Decision != nil {
			t.Errorf("in review: %+v", page)
		}

		approved := s.decide(reviewer, draft.MissionID, "approve", "")
		mustBe(t, "approve", approved, http.StatusOK)
		if review := decode[sortie.ReviewDetail](t, approved).Review; review.ReviewStatus != sortie.ReviewApproved || review.Published || review.Decision.DecidedBy != reviewer.Address().String() {
			t.Errorf("approved: %+v", review)
		}
		wantDoctor(sortie.HealthWaiting, sortie.PartyChain, 2, false)
		s.chain.finalize()
		if status := s.status(draft.DraftID); !status.Published || status.NextAction != sortie.ActionFetchDeliverables {
			t.Errorf("published: %+v", status)
		}
		if d := doctor(); d.Health != sortie.HealthReady || !d.Funding.Locked || len(d.Blockers) != 0 {
			t.Errorf("published: %+v", d)
		}
		if got := s.eventTypes(); got != "draft.created funding.detected funding.confirmed mission.approved mission.published" {
			t.Errorf("events %s", got)
		}
		if page := decode[sortie.ReviewPage](t, s.send(testRequest{target: reviewsPath, signer: reviewer})); len(page.Reviews) != 0 {
			t.Errorf("still in review: %+v", page)
		}
	})
}

func TestFromRejectionToRefund(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		draft := s.createInReview("k1")
		rejected := s.decide(reviewer, draft.DraftID, "reject", `{"reason":" The place\r\nis private. "}`)
		mustBe(t, "reject", rejected, http.StatusOK)
		review := decode[sortie.ReviewDetail](t, rejected).Review
		if review.ReviewStatus != sortie.ReviewRejected || review.Decision.Reason != "The place\nis private." || len(s.chain.refunds) != 1 {
			t.Errorf("%+v, refunds %v", review, s.chain.refunds)
		}
		doctor := decode[sortie.Doctor](t, s.send(testRequest{target: listPath + "/" + draft.DraftID + "/doctor"}))
		if doctor.Health != sortie.HealthRejected || !strings.Contains(string(mustJSON(t, doctor)), "The place\\nis private.") {
			t.Errorf("doctor: got %+v, want the reason of the rejection", doctor)
		}
		s.chain.mine(refundOf(draft))
		s.chain.finalize()
		if status := s.status(draft.DraftID); status.FundingStatus != sortie.FundingRefunded || status.NextAction != sortie.ActionNone {
			t.Errorf("refunded: %+v", status)
		}
		page := decode[sortie.EventPage](t, s.send(testRequest{target: eventsPath}))
		last := page.Events[len(page.Events)-1]
		if last.Type != sortie.EventRefundConfirmed || !strings.Contains(string(last.Data), `"refundBaseUnits":"10000000"`) {
			t.Errorf("last event: got %+v %s, want the refund", last, last.Data)
		}
		unfunded := s.create("k2", goodMission)
		mustBe(t, "reject unfunded", s.decide(reviewer, unfunded.DraftID, "reject", goodReason), http.StatusOK)
		s.chain.mine(fundingOf(unfunded)) // too late, and not lost
		s.chain.mine()
		if status := s.status(unfunded.DraftID); status.NextAction != sortie.ActionWaitForRefund || len(s.chain.refunds) != 2 {
			t.Errorf("funded after rejection: %+v, refunds %v", status, s.chain.refunds)
		}
	})
}

// A decision is made once. The operator who repeats it gets the same answer; other operators get a
// conflict that names it.
func TestDecisionsAreMadeOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		draft := s.createInReview("k1")
		first := s.decide(reviewer, draft.DraftID, "reject", goodReason)
		again := s.decide(reviewer, draft.MissionID, "reject", goodReason)
		mustBe(t, "reject", first, http.StatusOK)
		mustBe(t, "reject again", again, http.StatusOK)
		if string(first.body) != string(again.body) {
			t.Errorf("decision sent again:\ngot  %s\nwant %s", again.body, first.body)
		}
		for name, a := range map[string]answer{
			"for another reason":    s.decide(reviewer, draft.DraftID, "reject", `{"reason":"Other."}`),
			"by another operator":   s.decide(colleague, draft.DraftID, "reject", goodReason),
			"the other way":         s.decide(reviewer, draft.DraftID, "approve", ""),
			"by another, the other": s.decide(colleague, draft.DraftID, "approve", ""),
		} {
			if a.StatusCode != http.StatusConflict || a.code() != sortie.CodeWrongState || a.details()["decidedBy"] != reviewer.Address().String() || a.details()["reviewStatus"] != "rejected" {
				t.Errorf("%s: got %d %s, want 409 wrong_state that names the first decision", name, a.StatusCode, a.body)
			}
			checkError(t, a)
		}
		log := decode[sortie.AuditPage](t, s.send(testRequest{target: auditPath, signer: colleague}))
		if len(log.Entries) != 1 || log.Entries[0].Action != "mission.rejected" || log.Entries[0].Subject != draft.DraftID || log.Entries[0].Actor != reviewer.Address().String() {
			t.Errorf("audit log %+v", log.Entries)
		}
		if len(s.chain.refunds) != 1 {
			t.Errorf("refunds %v", s.chain.refunds)
		}
	})
}

// A reason must have visible text, within the documented length.
func TestReasonsOfDecisions(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	draft := s.createInReview("k1")
	longest := *newContract(t).document.Components.Schemas["Reason"].Value.Properties["reason"].Value.MaxLength
	long := strings.Repeat("入", int(longest))
	for body, want := range map[string]string{
		`{}`:                           "validation_failed",
		`{"reason":" \n "}`:            "validation_failed",
		`{"reason":"` + long + `x"}`:   "validation_failed",
		`{"reason":"a\u001b[2Jb"}`:     "validation_failed",
		`{"reason":"paid \u202e ton"}`: "validation_failed",
		`{"reason":5}`:                 "validation_failed",
		`{"reason":"x","force":true}`:  "validation_failed",
		`{"reason":"x","reason":"y"}`:  "invalid_json",
		`["x"]`:                        "invalid_json",
		`{"reason":"x"`:                "invalid_json",
	} {
		if a := s.decide(reviewer, draft.DraftID, "reject", body); string(a.code()) != want {
			t.Errorf("reject %.60s: %d %s", body, a.StatusCode, a.body)
		}
		if body == `{}` || strings.Contains(body, `" \n "`) {
			continue // an approval needs none
		}
		if a := s.decide(reviewer, draft.DraftID, "approve", body); string(a.code()) != want {
			t.Errorf("approve %.60s: %d %s", body, a.StatusCode, a.body)
		}
	}
	if status := s.status(draft.DraftID); status.ReviewStatus != sortie.ReviewInReview {
		t.Errorf("status: got %+v, want in_review", status)
	}
	a := s.decide(reviewer, draft.DraftID, "approve", `{"reason":"`+long+`"}`)
	if review := decode[sortie.ReviewDetail](t, a).Review; a.StatusCode != http.StatusOK || review.Decision.Reason != long {
		t.Errorf("approve with the longest reason: got %d %.300s, want 200 and the reason", a.StatusCode, a.body)
	}
}
