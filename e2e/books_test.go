package e2e

import (
	"database/sql"
	"encoding/json"
	"errors"
	"math/big"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

// solvency returns the operator's solvency report.
func (f *following) solvency() sortie.Solvency {
	f.t.Helper()
	solvency, err := f.operator.Solvency(f.ctx, sortie.PageQuery{})
	if err != nil {
		f.t.Fatal(err)
	}
	return solvency
}

// awaitSolvency waits for the next comparison with this status.
func (f *following) awaitSolvency(want sortie.SolvencyStatus) (found sortie.Solvency) {
	f.t.Helper()
	before := f.solvency()
	f.service.await(f.t, "check of the books that says "+string(want), func() bool {
		found = f.solvency()
		isNew := found.CheckedAt != nil && (before.CheckedAt == nil || *found.CheckedAt != *before.CheckedAt)
		return isNew && found.Status == want
	})
	return found
}

// runSolvency runs the command and returns its output and exit code.
func (f *following) runSolvency() (answer sortie.Solvency, exitCode int) {
	f.t.Helper()
	command := exec.CommandContext(f.ctx, filepath.Join(binaries, "sortie"), "solvency", "--json", "--url", f.service.url, "--wallet", "operator")
	output, err := command.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		f.t.Fatal(err)
	}
	if err := json.Unmarshal(output, &answer); err != nil {
		f.t.Fatalf("sortie solvency printed %q: %v", output, err)
	}
	return answer, command.ProcessState.ExitCode()
}

// The ledger of a mission is public, and its creator and contributors see their sums. An error of
// one unit in the database is found by the next comparison and halts payouts until an operator
// clears the incident.
func TestBooksMismatchHaltsPayouts(t *testing.T) {
	t.Parallel()
	chain, database := startAnvil(t), pgtest.Database(t)
	f := follow(t, chain, slices.Concat(chain.keepingFiles(database, t.TempDir()), paying, []string{"SORTIE_SOLVENCY_INTERVAL=1s"}))
	mission := f.publish(photoMission(2))
	reward, _ := new(big.Int).SetString(mission.quote.RewardPerSubmissionBaseUnits, 10)
	first := f.submit("contributor1", mission, photo(1))
	f.mineUntil(func() bool { return f.own(first).Payout.Status == sortie.PayoutPaid })
	f.checkLedger(mission, first, reward)
	f.checkTotals(mission, first, reward)

	agreed := f.awaitSolvency(sortie.SolvencyAgrees)
	if len(agreed.Missions) != 1 || agreed.Missions[0].Agrees == nil || !*agreed.Missions[0].Agrees || agreed.Missions[0].Chain.PaidAndDeferredBaseUnits != reward.String() {
		t.Errorf("the books of the mission are %+v, want both sides to have %s paid", agreed.Missions, reward)
	}
	if len(agreed.Tokens) != 1 || *agreed.Tokens[0].BalanceBaseUnits != reward.String() || *agreed.Tokens[0].ObligationBaseUnits != reward.String() {
		t.Errorf("the books of the token are %+v, want a balance and an obligation of %s", agreed.Tokens, reward)
	}
	if shown, code := f.runSolvency(); code != 0 || !shown.Agrees {
		t.Errorf("sortie solvency ended with %d and agrees %t, want 0 and true", code, shown.Agrees)
	}

	rows, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rows.Close() })
	plant := func(statement string) {
		t.Helper()
		if _, err := rows.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	plant("UPDATE mission_slots SET paid = paid + 1")
	found := f.awaitSolvency(sortie.SolvencyMismatch)
	if overview := f.overview(); !overview.Halted || !slices.ContainsFunc(overview.Incidents, func(i sortie.Incident) bool {
		return i.Kind == "books_mismatch" && i.Halting && strings.Contains(i.Detail, mission.missionID)
	}) {
		t.Errorf("halted %t with incidents %+v, want a halting books_mismatch of %s; found %+v", overview.Halted, overview.Incidents, mission.missionID, found.Mismatches)
	}
	if shown, code := f.runSolvency(); code != 1 || shown.Agrees {
		t.Errorf("sortie solvency ended with %d and agrees %t, want 1 and false", code, shown.Agrees)
	}
	if agree, mismatches := f.metric("sortie_books_agree", ""), f.metric("sortie_books_mismatches", ""); agree != 0 || mismatches == 0 {
		t.Errorf("the metrics say agree %v and %v mismatches, want 0 and some", agree, mismatches)
	}

	second := f.submit("contributor2", mission, photo(2))
	plant("UPDATE mission_slots SET paid = paid - 1")
	f.awaitSolvency(sortie.SolvencyAgrees)
	chain.mine(3)
	f.awaitTip()
	if status := f.own(second).Payout.Status; !f.overview().Halted || status == sortie.PayoutSent || status == sortie.PayoutPaid {
		t.Errorf("halted %t and a payout %s after the error was corrected, want it halted until an operator clears it", f.overview().Halted, status)
	}
	f.clear()
	f.mineUntil(func() bool { return len(f.completions(mission)) == 1 })
	closed := f.awaitSolvency(sortie.SolvencyAgrees)
	if token := closed.Tokens[0]; token.Database.PaidBaseUnits != new(big.Int).Mul(reward, big.NewInt(2)).String() || *token.BalanceBaseUnits != "0" {
		t.Errorf("at the end the books of the token are %+v, want all of it paid and nothing held", token)
	}
}

// checkLedger reads the ledger without a wallet.
func (f *following) checkLedger(d drafted, paid submission, reward *big.Int) {
	f.t.Helper()
	public, err := sortie.NewPublicClient(f.service.url)
	if err != nil {
		f.t.Fatal(err)
	}
	ledger, err := public.MissionLedger(f.ctx, d.missionID, sortie.PageQuery{})
	if err != nil {
		f.t.Fatal(err)
	}
	funded := new(big.Int).Mul(reward, big.NewInt(2)).String()
	if ledger.FundedBaseUnits != funded || ledger.PaidBaseUnits != reward.String() || ledger.RemainingBaseUnits != reward.String() || ledger.RefundedBaseUnits != "0" || ledger.Final {
		f.t.Errorf("the ledger has %+v, want %s funded, %s paid and remaining", ledger.BookSums, funded, reward)
	}
	if ledger.Funding == nil || !ledger.Funding.Final || ledger.Closing != nil || ledger.MissionKey != sortie.MissionKey(d.missionID) {
		f.t.Errorf("the ledger has funding %+v, closing %+v and key %s", ledger.Funding, ledger.Closing, ledger.MissionKey)
	}
	if len(ledger.Payments) != 1 {
		f.t.Fatalf("the ledger has the payments %+v, want one", ledger.Payments)
	}
	payment := ledger.Payments[0]
	if payment.Recipient != paid.contributor.Wallet() || payment.Status != sortie.PayoutPaid || payment.SubmissionKey != sortie.SubmissionKey(paid.id) || payment.AmountBaseUnits != reward.String() {
		f.t.Errorf("the payment is %+v, want that of %s to %s", payment, paid.id, paid.contributor.Wallet())
	}
	var receipt struct{ Status string }
	f.chain.call(&receipt, "eth_getTransactionReceipt", common.Hash(payment.TransactionHash))
	if receipt.Status != "0x1" {
		f.t.Errorf("the payment's transaction %s has the status %q on the chain, want 0x1", payment.TransactionHash, receipt.Status)
	}
	if _, err := public.MissionLedger(f.ctx, "no-such-mission-7k2m9qx4", sortie.PageQuery{}); sortie.ErrorCode(err) != sortie.CodeNotFound {
		f.t.Errorf("the ledger of an unknown mission: %v, want %s", err, sortie.CodeNotFound)
	}
	unpublished := f.draft()
	if _, err := public.MissionLedger(f.ctx, unpublished.missionID, sortie.PageQuery{}); sortie.ErrorCode(err) != sortie.CodeNotFound {
		f.t.Errorf("the ledger of a draft: %v, want %s", err, sortie.CodeNotFound)
	}
}

// checkTotals compares the sums that the contributor and the creator see.
func (f *following) checkTotals(d drafted, paid submission, reward *big.Int) {
	f.t.Helper()
	earnings, err := paid.contributor.Earnings(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	if len(earnings.Tokens) != 1 || earnings.Tokens[0].Paid.BaseUnits != reward.String() || earnings.Tokens[0].Paid.Payouts != 1 || earnings.Tokens[0].OnTheWay.Payouts != 0 {
		f.t.Errorf("the contributor earned %+v, want %s in one payout", earnings.Tokens, reward)
	}
	doctor, err := f.creator.Doctor(f.ctx, d.draftID)
	if err != nil {
		f.t.Fatal(err)
	}
	if money := doctor.Money; money == nil || money.Spent != reward.String() || money.Committed != "0" || money.Left != reward.String() || money.Refunded != "0" {
		f.t.Errorf("the creator's money is %+v, want %s spent and left", money, reward)
	}
}
