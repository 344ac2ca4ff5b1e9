package e2e

import (
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
)

// sortie runs the program to its end with the given arguments.
func (f *following) sortie(args ...string) (code int, output string) {
	f.t.Helper()
	p := launch(f.t, nil, args...)
	select {
	case <-p.ended:
	case <-time.After(patience):
		f.t.Fatalf("sortie %s did not end after %s", strings.Join(args, " "), patience)
	}
	return p.command.ProcessState.ExitCode(), p.output.String()
}

// A contributor fetches the receipt when the acceptance is final. While the service is down,
// another wallet redeems it, once.
func TestAReceiptIsRedeemedWithoutTheService(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, append(chain.keepingFiles(sqliteIn(t), t.TempDir()),
		"SORTIE_SENDER=", // so that the service sends no payout
		"SORTIE_ACCEPTANCE_HOLD=1h"))
	mission := f.publish(photoMission(3))
	held := f.submit("contributor1", mission, photo(1))
	f.awaitStatus(held, sortie.SubmissionAccepted)
	path := filepath.Join(t.TempDir(), "receipt.json")
	fetch := func(s submission, wallet string) (int, string) {
		return f.sortie("submissions", "receipt", s.id, "--out", path, "--wallet", wallet, "--url", f.service.url)
	}
	if code, output := fetch(held, "contributor1"); code != 5 || !strings.Contains(output, "is accepted, and its receipt is signed when the acceptance is final") {
		t.Errorf("before the acceptance is final: got exit code %d, %q; want 5 and the time", code, output)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was written without a receipt")
	}
	if _, err := f.operator.RejectSubmission(f.ctx, held.id, "It shows another place."); err != nil {
		t.Fatalf("revoke: %v", err)
	}
	if code, output := fetch(held, "contributor1"); code != 5 || !strings.Contains(output, "is rejected, so there will be no receipt") {
		t.Errorf("after a rejection: got exit code %d, %q; want 5", code, output)
	}
	f.environment = append(f.environment, "SORTIE_ACCEPTANCE_HOLD=1ms") // the last value counts
	f.restart()
	final := f.submit("contributor2", mission, photo(2))
	f.service.await(t, "receipt", func() bool { return f.own(final).Receipt != nil })
	if code, output := fetch(final, "contributor1"); code != 3 {
		t.Errorf("the receipt of another contributor: got exit code %d, %q; want 3", code, output)
	}
	if code, output := fetch(final, "contributor2"); code != 0 {
		t.Fatalf("fetch the receipt: got exit code %d, %q; want 0", code, output)
	}
	f.checkReceiptFile(path, mission, final)

	unredeemed := f.submit("contributor3", mission, photo(3))
	f.service.await(t, "second receipt", func() bool { return f.own(unredeemed).Receipt != nil })
	late := filepath.Join(t.TempDir(), "late.json")
	if code, output := f.sortie("submissions", "receipt", unredeemed.id, "--out", late, "--wallet", "contributor3", "--url", f.service.url); code != 0 {
		t.Fatalf("fetch the second receipt: got exit code %d, %q; want 0", code, output)
	}

	f.stop()
	chain.call(nil, "evm_setAutomine", true)
	before := f.balance(final.contributor.Wallet())
	redeem := []string{"redeem", path, "--rpc", chain.RPCURL, "--key", "dev:5", "--yes"}
	if code, output := f.sortie(redeem...); code != 0 || !strings.Contains(output, "\nPaid ") {
		t.Fatalf("redeem: got exit code %d, %q; want 0 and the payment", code, output)
	}
	if code, output := f.sortie(redeem...); code != 5 || !strings.Contains(output, "was redeemed before") {
		t.Errorf("redeem it again: got exit code %d, %q; want 5", code, output)
	}
	reward, _ := new(big.Int).SetString(mission.quote.RewardPerSubmissionBaseUnits, 10)
	if paid := new(big.Int).Sub(f.balance(final.contributor.Wallet()), before); paid.Cmp(reward) != 0 {
		t.Errorf("the contributor was paid %s base units, want %s", paid, reward)
	}
	if code, output := f.sortie("claim", "--rpc", chain.RPCURL, "--factory", chain.FactoryAddress.String(), "--token", "USDC", "--wallet", "contributor2", "--yes"); code != 5 ||
		!strings.Contains(output, "holds no deferred USDC") {
		t.Errorf("claim: got exit code %d, %q; want 5", code, output)
	}

	chain.call(nil, "evm_increaseTime", 181*24*60*60)
	chain.mine(1)
	chain.transact("creator", chain.FactoryAddress, missionfactory.NewMissionFactory().PackReclaim(sortie.MissionKey(mission.missionID)))
	if code, output := f.sortie("redeem", late, "--rpc", chain.RPCURL, "--key", "dev:5", "--yes"); code != 5 || !strings.Contains(output, "the creator reclaimed the mission's money") {
		t.Errorf("redeem after the creator's exit: got exit code %d, %q; want 5", code, output)
	}
}

// checkReceiptFile compares a receipt with its mission and submission.
func (f *following) checkReceiptFile(path string, d drafted, s submission) {
	f.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	var got sortie.Receipt
	if err := json.Unmarshal(text, &got); err != nil {
		f.t.Fatal(err)
	}
	domain := sortie.Domain{ChainID: f.chain.ChainID, Factory: f.chain.FactoryAddress}
	if got.Domain() != domain || got.MissionID != d.missionID || got.SubmissionID != s.id || got.Token != sortie.TokenUSDC ||
		got.AmountBaseUnits != d.quote.RewardPerSubmissionBaseUnits || len(got.DependsOn) == 0 {
		f.t.Errorf("the file holds %s, want all that redeeming needs", text)
	}
	if signer, err := got.Verify(domain); err != nil || signer != f.chain.wallet("settler") {
		f.t.Errorf("signed by %s, %v; want %s", signer, err, f.chain.wallet("settler"))
	}
}
