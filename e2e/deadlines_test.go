package e2e

import (
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

// A mission that cannot be published in time lapses, in review or approved but not locked: it
// cannot be approved, and the service refunds it without a decision.
//
// The service's clock cannot be set, so the test moves the deadlines in its rows into the past,
// before the newest block.
func TestLapsedMissionsAreRefunded(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	database := pgtest.Database(t)
	f := follow(t, chain, chain.serviceEnvironment(database, "8"))
	undecided, approved := f.funded(), f.funded()
	f.chain.mine(1)
	f.awaitView(undecided, viewInReview)
	f.awaitView(approved, viewInReview)
	f.approve(approved)
	f.stop()
	past := time.Now().Add(-time.Hour).UnixMicro()
	changed, err := openRows(t, database).ExecContext(f.ctx, `UPDATE drafts SET publish_by = $1 WHERE publish_by IS NOT NULL`, past)
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := changed.RowsAffected(); err != nil || rows != 2 {
		t.Fatalf("%d missions wait for their publication, %v; want 2", rows, err)
	}
	f.service = startServe(t, f.environment...)
	for _, late := range []drafted{undecided, approved} { // no block is mined before both are rejected
		f.awaitView(late, viewRejectedFunded)
	}
	for _, late := range []drafted{undecided, approved} {
		f.mineUntilView(late, viewRefunded)
		if closings := f.chain.closings(late.missionID); closings != 1 {
			t.Errorf("%s was closed %d times, want once", late.missionID, closings)
		}
		review, err := f.operator.Review(f.ctx, late.draftID)
		if err != nil || review.Decision == nil || review.Decision.DecidedBy != "expiry" {
			t.Errorf("the review of %s is %+v, %v; want a rejection by expiry", late.missionID, review.Decision, err)
		}
		if _, err := f.operator.Approve(f.ctx, late.draftID, ""); !isCode(err, sortie.CodeWrongState) {
			t.Errorf("approve %s: got %v, want %s", late.missionID, err, sortie.CodeWrongState)
		}
	}
	if overview := f.overview(); overview.Halted || len(overview.Incidents) != 0 {
		t.Errorf("the incidents are %+v, want none", overview.Incidents)
	}
}
