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
		a := openTestApp(t, database, testAppOptions{})
		ctx := context.Background()
		approved, rejected := a.fund(alice, "a", mission.DepthConfirmed), a.create(bob, "b")
		_, err := a.operators.Approve(ctx, reviewer, approved.ID, "")
		a.must(err)
		_, err = a.operators.Reject(ctx, colleague, rejected.ID, "No.")
		a.must(err)
		a.must(a.ledger.ReportIncident(ctx, "test", "Look.", false))
		a.clearIncidents()
		_, err = a.operators.RequestReconcile(ctx, reviewer)
		a.must(err)
		a.must(a.ledger.RecordReconcile(ctx, sortie.ReconcileReport{Checked: 3, Repaired: 1}))
		a.must(a.ledger.RecordReconcile(ctx, sortie.ReconcileReport{Checked: 3})) // nothing was done: nothing to say

		var got []string
		for page := (Page{Limit: 2}); ; {
			list, err := a.operators.Audit(ctx, reviewer, page)
			a.must(err)
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
		if jobs := a.count(`SELECT COUNT(*) FROM test_jobs WHERE name = 'reconcile'`); jobs != 1 {
			t.Errorf("got %d reconcile jobs, want 1", jobs)
		}
	})
}

func TestTheChainAtAGlance(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		ctx := context.Background()
		overview, err := a.operators.ChainOverview(ctx, reviewer)
		a.must(err)
		if !overview.OK || overview.ChainID != testChain || overview.LastReconcile != nil || overview.Halted || overview.Sender.OldestAt != nil || overview.Incidents == nil {
			t.Errorf("at first: %+v", overview)
		}
		draft := a.fund(alice, "k", mission.DepthLocked)
		_, err = a.operators.Reject(ctx, reviewer, draft.ID, "No.")
		a.must(err)
		a.must(a.ledger.StartRefund(ctx, draft.ID))
		a.must(a.ledger.ReportIncident(ctx, "quiet", "Look.", false))
		a.must(a.ledger.ReportIncident(ctx, "loud", "Stop.", true))
		a.must(a.ledger.RecordReconcile(ctx, sortie.ReconcileReport{Checked: 1}))
		a.must(a.ledger.RecordReconcile(ctx, sortie.ReconcileReport{Checked: 2, Repaired: 1, Alarms: []string{"odd"}}))
		overview, err = a.operators.ChainOverview(ctx, reviewer)
		a.must(err)
		if p := overview.Position; p == nil || p.Tip != a.position.Tip.Number || p.TipHash != a.position.Tip.Hash || p.Final != a.position.Final || p.Start != testStart {
			t.Errorf("the position is %+v", p)
		}
		if !overview.Halted || len(overview.Incidents) != 2 || overview.Incidents[0].Kind != "loud" {
			t.Errorf("the incidents are %+v", overview.Incidents)
		}
		if overview.Sender.Queued != 1 || overview.Sender.OldestAt == nil || !slices.Equal(overview.Factories, []sortie.Address{factory}) {
			t.Errorf("got sender %+v, factories %v, want one queued intent and factory %s", overview.Sender, overview.Factories, factory)
		}
		if r := overview.LastReconcile; r == nil || r.Checked != 2 || r.Repaired != 1 || len(r.Alarms) != 1 || r.FinishedAt != sortie.FormatTime(a.clock()) {
			t.Errorf("the last report is %+v", r)
		}
	})
}

func TestIncidentsAreClearedOnce(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	ctx := context.Background()
	for range 3 { // the same one is opened once
		a.must(a.ledger.ReportIncident(ctx, "loud", "Stop.", true))
	}
	a.must(a.ledger.ReportIncident(ctx, "loud", "Stop for another reason.", true))
	incidents, err := a.db.OpenIncidents(ctx)
	if err != nil || len(incidents) != 2 {
		t.Fatalf("open incidents: got %+v, error %v, want two", incidents, err)
	}
	_, err = a.operators.ClearIncident(ctx, reviewer, incidents[0].ID, " ")
	wantCode(t, err, sortie.CodeValidationFailed)
	_, err = a.operators.ClearIncident(ctx, reviewer, "incident_unknown", "Looked.")
	wantCode(t, err, sortie.CodeNotFound)
	for i, stillHalted := range []bool{true, false} {
		cleared, err := a.operators.ClearIncident(ctx, reviewer, incidents[i].ID, "Looked.")
		if err != nil || cleared.Halted != stillHalted {
			t.Errorf("clear incident %d: got %+v, error %v, want halted %t", i, cleared, err, stillHalted)
		}
	}
	_, err = a.operators.ClearIncident(ctx, colleague, incidents[0].ID, "Looked, too.")
	wantCode(t, err, sortie.CodeWrongState)
	if a.wakes != 2 {
		t.Errorf("the follower was woken %d times, want 2", a.wakes)
	}
	a.must(a.ledger.ReportIncident(ctx, "loud", "Stop.", true)) // it happened again
	a.wantIncidents("loud")
}
