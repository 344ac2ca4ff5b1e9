package app

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

func TestTheAuditLogIsComplete(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openWorld(t, database, worldOptions{})
		ctx := context.Background()
		approved, rejected := w.fund(alice, "a", mission.DepthConfirmed), w.create(bob, "b")
		_, err := w.operators.Approve(ctx, reviewer, approved.ID, "")
		w.must(err)
		_, err = w.operators.Reject(ctx, colleague, rejected.ID, "No.")
		w.must(err)
		w.must(w.ledger.ReportIncident(ctx, "test", "Look.", false))
		w.clearIncidents()
		_, err = w.operators.RequestReconcile(ctx, reviewer)
		w.must(err)
		w.must(w.ledger.RecordReconcile(ctx, sortie.ReconcileReport{Checked: 3, Repaired: 1}))
		w.must(w.ledger.RecordReconcile(ctx, sortie.ReconcileReport{Checked: 3})) // nothing was done: nothing to say

		var got []string
		for page := (Page{Limit: 2}); ; {
			list, err := w.operators.Audit(ctx, reviewer, page)
			w.must(err)
			for _, entry := range list.Entries {
				got = append(got, fmt.Sprintf("%s %s", entry.Actor, entry.Action))
			}
			if list.Summary.NextCursor == nil {
				break
			}
			page.Cursor = *list.Summary.NextCursor
		}
		want := []string{
			"chain chain.repaired", reviewer.String() + " chain.reconcile_requested", reviewer.String() + " incident.cleared",
			colleague.String() + " mission.rejected", reviewer.String() + " mission.approved",
		}
		if !slices.Equal(got, want) {
			t.Errorf("the log is\n%q, want\n%q", got, want)
		}
		if jobs := w.count(`SELECT COUNT(*) FROM test_jobs WHERE name = 'reconcile'`); jobs != 1 {
			t.Errorf("%d reconcile jobs", jobs)
		}
	})
}

func TestTheChainAtAGlance(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openWorld(t, database, worldOptions{})
		ctx := context.Background()
		overview, err := w.operators.ChainOverview(ctx, reviewer)
		w.must(err)
		if !overview.OK || overview.ChainID != testChain || overview.LastReconcile != nil || overview.Halted || overview.Sender.OldestAt != nil || overview.Incidents == nil {
			t.Errorf("at first: %+v", overview)
		}
		draft := w.fund(alice, "k", mission.DepthLocked)
		_, err = w.operators.Reject(ctx, reviewer, draft.ID, "No.")
		w.must(err)
		w.must(w.ledger.StartRefund(ctx, draft.ID))
		w.must(w.ledger.ReportIncident(ctx, "quiet", "Look.", false))
		w.must(w.ledger.ReportIncident(ctx, "loud", "Stop.", true))
		w.must(w.ledger.RecordReconcile(ctx, sortie.ReconcileReport{Checked: 1}))
		w.must(w.ledger.RecordReconcile(ctx, sortie.ReconcileReport{Checked: 2, Repaired: 1, Alarms: []string{"odd"}}))
		overview, err = w.operators.ChainOverview(ctx, reviewer)
		w.must(err)
		if p := overview.Position; p == nil || p.Tip != w.position.Tip.Number || p.TipHash != w.position.Tip.Hash || p.Final != w.position.Final || p.Start != testStart {
			t.Errorf("the position is %+v", p)
		}
		if !overview.Halted || len(overview.Incidents) != 2 || overview.Incidents[0].Kind != "loud" {
			t.Errorf("the incidents are %+v", overview.Incidents)
		}
		if overview.Sender.Queued != 1 || overview.Sender.OldestAt == nil || !slices.Equal(overview.Factories, []sortie.Address{factory}) {
			t.Errorf("%+v, %v", overview.Sender, overview.Factories)
		}
		if r := overview.LastReconcile; r == nil || r.Checked != 2 || r.Repaired != 1 || len(r.Alarms) != 1 || r.FinishedAt != sortie.FormatTime(w.clock()) {
			t.Errorf("the last report is %+v", r)
		}
	})
}

func TestIncidentsAreClearedOnce(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	ctx := context.Background()
	for range 3 { // the same one is opened once
		w.must(w.ledger.ReportIncident(ctx, "loud", "Stop.", true))
	}
	w.must(w.ledger.ReportIncident(ctx, "loud", "Stop for another reason.", true))
	incidents, err := w.db.OpenIncidents(ctx)
	if err != nil || len(incidents) != 2 {
		t.Fatalf("%+v, %v", incidents, err)
	}
	_, err = w.operators.ClearIncident(ctx, reviewer, incidents[0].ID, " ")
	wantCode(t, err, sortie.CodeValidationFailed)
	_, err = w.operators.ClearIncident(ctx, reviewer, "incident_unknown", "Looked.")
	wantCode(t, err, sortie.CodeNotFound)
	for i, stillHalted := range []bool{true, false} {
		cleared, err := w.operators.ClearIncident(ctx, reviewer, incidents[i].ID, "Looked.")
		if err != nil || cleared.Halted != stillHalted {
			t.Errorf("%d: %+v, %v", i, cleared, err)
		}
	}
	_, err = w.operators.ClearIncident(ctx, colleague, incidents[0].ID, "Looked, too.")
	wantCode(t, err, sortie.CodeWrongState)
	if w.wakes != 2 {
		t.Errorf("the follower was woken %d times", w.wakes)
	}
	w.must(w.ledger.ReportIncident(ctx, "loud", "Stop.", true)) // it happened again
	w.wantIncidents("loud")
}
