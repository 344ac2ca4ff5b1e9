package api

import (
	"encoding/json"
	"net/http"
	"slices"
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
			t.Errorf("the creator is not told why: %+v", doctor)
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
			t.Errorf("another answer:\n%s\n%s", first.body, again.body)
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

// A reorganization below finality halts everything that moves money until an operator clears the
// incident.
func TestHaltAndClear(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		incident := s.halt()
		draft := s.createInReview("k1")
		s.chain.finalize()
		refused := s.decide(reviewer, draft.DraftID, "approve", "")
		if approvedAnyway := refused.StatusCode == http.StatusOK; approvedAnyway && s.status(draft.DraftID).Published {
			t.Errorf("published while halted: %s", refused.body)
		}
		clear := func(signer sortie.Signer, id, body string) answer {
			t.Helper()
			return s.send(testRequest{method: http.MethodPost, target: incidentsPath + "/" + id + "/clear", body: body, signer: signer})
		}
		mustBe(t, "clear by a creator", clear(creator, incident, goodReason), http.StatusForbidden)
		mustBe(t, "clear another", clear(reviewer, neighbour(incident), goodReason), http.StatusNotFound)
		mustBe(t, "clear without a reason", clear(reviewer, incident, `{}`), http.StatusUnprocessableEntity)
		cleared := clear(reviewer, incident, goodReason)
		mustBe(t, "clear", cleared, http.StatusOK)
		if got := decode[sortie.IncidentCleared](t, cleared); got.ID != incident || got.Halted {
			t.Errorf("clear: got %+v, want the incident and no halt", got)
		}
		if again := clear(colleague, incident, goodReason); again.StatusCode != http.StatusConflict || again.code() != sortie.CodeWrongState {
			t.Errorf("cleared again: %d %s", again.StatusCode, again.body)
		}
		overview := decode[sortie.ChainOverview](t, s.send(testRequest{target: chainPath, signer: reviewer}))
		if overview.Halted || slices.ContainsFunc(overview.Incidents, func(i sortie.Incident) bool { return i.ID == incident }) {
			t.Errorf("overview after the clear: got %+v, want no incident and no halt", overview)
		}
	})
}

func TestChainOverview(t *testing.T) {
	t.Parallel()
	progress := "2026-02-02T02:51:51.204Z"
	following := &sortie.FollowerStatus{Node: "node.example", Lag: 1, LastProgress: &progress, Alarms: []sortie.ChainAlarm{
		{Kind: "nodes_disagree", Detail: "about block 7", Since: progress, Count: 2},
	}}
	s := newService(t, serviceOptions{config: func(config *Config) { config.Follower = func() *sortie.FollowerStatus { return following } }})
	before := decode[sortie.ChainOverview](t, s.send(testRequest{target: chainPath, signer: reviewer}))
	if before.Position != nil || before.Halted || before.LastReconcile != nil || before.Follower.Alarms[0].Kind != "nodes_disagree" {
		t.Errorf("overview at the start: got %+v, want no position and the alarm of the follower", before)
	}
	s.chain.mine()
	asked := s.send(testRequest{method: http.MethodPost, target: reconcilePath, signer: reviewer})
	mustBe(t, "reconcile", asked, http.StatusAccepted)
	if s.chain.reconciles.Load() != 1 {
		t.Errorf("%d reconciles", s.chain.reconciles.Load())
	}
	if err := s.ledger.RecordReconcile(t.Context(), sortie.ReconcileReport{Checked: 3, Repaired: 1, Alarms: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	after := decode[sortie.ChainOverview](t, s.send(testRequest{target: chainPath, signer: reviewer}))
	if after.Position == nil || after.Position.Tip != 101 || after.ChainID != testDomain.ChainID || after.LastReconcile == nil || after.LastReconcile.Repaired != 1 {
		t.Errorf("overview after a block: got %+v, want position 101 and the report", after)
	}
	for _, entry := range decode[sortie.AuditPage](t, s.send(testRequest{target: auditPath, signer: reviewer})).Entries {
		if entry.ID == 0 || entry.Action == "" {
			t.Errorf("audit entry: got %+v, want an id and an action", entry)
		}
	}
}

// Confirm-funding makes the follower read the chain; the hint in its body is not trusted.
func TestConfirmFunding(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		draft := s.create("k1", goodMission)
		target := listPath + "/" + draft.DraftID + "/confirm-funding"
		for i, body := range []string{"", "{}", `{"transactionHash":"0x` + strings.Repeat("ab", 32) + `"}`} {
			a := s.send(testRequest{method: http.MethodPost, target: target, body: body})
			mustBe(t, "confirm", a, http.StatusOK)
			check := decode[sortie.FundingCheck](t, a)
			if check.Funding.Seen || check.FundingStatus != sortie.FundingPending || check.NextAction != sortie.ActionSendTransaction || check.DraftID != draft.DraftID {
				t.Errorf("confirm with body %q: got %+v, want a pending funding", body, check)
			}
			if s.chain.woken.Load() != int64(i+1) {
				t.Errorf("woken %d times after %d requests", s.chain.woken.Load(), i+1)
			}
		}
		for body, code := range map[string]sortie.Code{
			`{"transactionHash":"0x12"}`: sortie.CodeValidationFailed, `{"hash":"0x12"}`: sortie.CodeValidationFailed, `[]`: sortie.CodeInvalidJSON,
		} {
			if a := s.send(testRequest{method: http.MethodPost, target: target, body: body}); a.code() != code || s.chain.woken.Load() != 3 {
				t.Errorf("%s: %d %s, woken %d times", body, a.StatusCode, a.body, s.chain.woken.Load())
			}
		}
		s.chain.mine(fundingOf(draft))
		check := decode[sortie.FundingCheck](t, s.send(testRequest{method: http.MethodPost, target: target}))
		if !check.Funding.Seen || *check.Funding.BlockNumber != 101 || *check.Funding.TransactionHash != sortie.MissionKey("funding of "+draft.MissionID) {
			t.Errorf("confirm after the funding: got %+v, want the transaction in block 101", check)
		}
		before := s.chain.woken.Load()
		mustBe(t, "of another", s.send(testRequest{method: http.MethodPost, target: target, signer: stranger}), http.StatusNotFound)
		if s.chain.woken.Load() != before {
			t.Error("a stranger woke the follower")
		}
	})
}
