package e2e

import (
	"net/http"
	"testing"

	"github.com/sortie-labs/sortie"
)

// While an operator has halted payouts, no process signs a new settlement; the service stays
// healthy, and refunds are sent.
func TestHaltedPayoutsAreNotSigned(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, append(chain.keepingFiles(sqliteIn(t), t.TempDir()), paying...))
	mission := f.publish(photoMission(2))
	operator := f.client("operator")
	if _, err := operator.HaltPayouts(t.Context(), "The books are compared."); err != nil {
		t.Fatal(err)
	}
	worked := f.submit("contributor1", mission, photo(1))
	f.mineUntil(func() bool { return f.own(worked).Payout.Status == sortie.PayoutQueued })
	before := f.metric("sortie_sender_transactions_total", "")

	rejected := f.funded()
	f.reject(rejected)
	f.mineUntil(func() bool { return chain.closings(rejected.missionID) == 1 }) // the sender works
	detail, err := operator.Payout(t.Context(), worked.id)
	if err != nil || detail.Payout.Status != sortie.PayoutQueued || len(detail.WaitsFor) == 0 || detail.WaitsFor[0].Code != sortie.WaitsForResume {
		t.Errorf("the payout while halted: got %+v, %v; want it queued, waiting for the resume", detail, err)
	}
	if got := f.metric("sortie_sender_transactions_total", ""); got != before+1 {
		t.Errorf("transactions while halted: got %v, want the one of the refund after %v", got, before)
	}
	if got := f.metric("sortie_payouts_halted", ""); got != 1 {
		t.Errorf("sortie_payouts_halted: got %v, want 1", got)
	}
	if got := f.health(); got.code != http.StatusOK || got.Parts["payouts"] != "halted" || got.Status != "degraded" {
		t.Errorf("/healthz: got %+v, want 200, degraded, with payouts halted", got)
	}

	f.restart() // the halt is kept
	if overview := f.overview(); overview.PayoutHalt == nil {
		t.Error("after a restart payouts are not halted, want the halt kept")
	}
	if _, err := f.client("operator").ResumePayouts(t.Context(), "They are right."); err != nil {
		t.Fatal(err)
	}
	f.mineUntil(func() bool { return f.own(worked).Payout.Status == sortie.PayoutPaid })
	if got := f.metric("sortie_payouts_total", `"paid"`); got != 1 {
		t.Errorf("sortie_payouts_total of paid: got %v, want 1", got)
	}
}
