package api

import (
	"net/http"
	"slices"
	"testing"

	"github.com/sortie-labs/sortie"
)

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
			t.Errorf("cleared again: got %d %s, want 409 wrong_state", again.StatusCode, again.body)
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
