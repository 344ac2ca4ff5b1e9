package e2e

import (
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
)

// During the hold an operator can take an acceptance back, and the creator's link is invalid at
// once. After it the acceptance is final, and the contributor has a receipt that any account can
// redeem without the service.
func TestAcceptanceIsHeldThenPaidByTheContract(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	const long, short = time.Hour, 2 * time.Second
	f := follow(t, chain, append(chain.keepingFiles(sqliteIn(t), t.TempDir()),
		"SORTIE_SENDER=", // only this test pays
		"SORTIE_ACCEPTANCE_HOLD="+long.String()))
	mission := f.publish(photoMission(2))

	revoked := f.submit("contributor1", mission, photo(1))
	f.awaitStatus(revoked, sortie.SubmissionAccepted)
	delivered := f.checkDelivered(mission, revoked, sortie.SubmissionAccepted)
	f.checkHeld(revoked, long)
	if _, err := f.operator.RejectSubmission(f.ctx, revoked.id, "Another contributor's photo."); err != nil {
		t.Fatalf("revoke: %v", err)
	}
	for _, link := range []string{delivered.MediaURL, *delivered.ThumbnailURL} {
		if _, err := f.fetch(link); !isCode(err, sortie.CodeNotFound) {
			t.Errorf("link of a revoked acceptance: got %v, want an error", err)
		}
	}
	if left := f.delivered(mission); len(left) != 0 {
		t.Errorf("deliverables after the acceptance was taken back: got %v, want none", left)
	}
	f.checkEventsAbout(revoked.id, sortie.EventSubmissionAccepted, sortie.EventSubmissionRevoked)

	f.environment = append(f.environment, "SORTIE_ACCEPTANCE_HOLD="+short.String()) // the last value counts
	f.restart()
	final := f.submit("contributor2", mission, photo(2))
	f.awaitStatus(final, sortie.SubmissionAccepted)
	f.service.await(t, "receipt", func() bool { return f.own(final).Receipt != nil })
	f.checkHeld(final, short)
	if _, err := f.operator.RejectSubmission(f.ctx, final.id, "Too late."); !isCode(err, sortie.CodeWrongState) {
		t.Errorf("revoke a final acceptance: got %v, want wrong_state", err)
	}
	f.checkEventsAbout(final.id, sortie.EventSubmissionAccepted)
	f.redeem(mission, final)
}

// checkHeld compares the time at which an acceptance becomes final with the time at which it was
// made.
func (f *following) checkHeld(s submission, hold time.Duration) {
	f.t.Helper()
	seen, err := f.operator.Submission(f.ctx, s.id)
	if err != nil || seen.FinalAt == nil || seen.VerifiedAt == nil {
		f.t.Fatalf("the operator sees %+v: %v", seen, err)
	}
	final, err := time.Parse(time.RFC3339, *seen.FinalAt)
	if err != nil {
		f.t.Fatal(err)
	}
	accepted, err := time.Parse(sortie.SubmissionTime, *seen.VerifiedAt)
	if err != nil {
		f.t.Fatal(err)
	}
	isFinal := seen.Receipt != nil
	if held := final.Sub(accepted); held < hold || !isFinal && held >= hold+time.Second {
		f.t.Errorf("accepted at %s and final at %s, want %s between them", *seen.VerifiedAt, *seen.FinalAt, hold)
	}
	if isFinal == time.Now().Before(final) || isFinal != (seen.Payout.Status == sortie.PayoutQueued) {
		f.t.Errorf("final at %s, but the receipt is %+v and the payout %s", *seen.FinalAt, seen.Receipt, seen.Payout.Status)
	}
}

// redeem sends a receipt to the contract twice, from another account, while the service is down:
// its contributor is paid once.
func (f *following) redeem(d drafted, s submission) {
	f.t.Helper()
	receipt, contributor := f.own(s).Receipt, s.contributor.Wallet()
	f.stop()
	before := f.balance(contributor)
	f.chain.transact("creator2", d.quote.FactoryAddress, receipt.Calldata(receipt.Signature))
	f.chain.transact("creator2", d.quote.FactoryAddress, receipt.Calldata(receipt.Signature))
	f.chain.mine(1)
	reward, _ := new(big.Int).SetString(d.quote.RewardPerSubmissionBaseUnits, 10)
	if paid := new(big.Int).Sub(f.balance(contributor), before); paid.Cmp(reward) != 0 {
		f.t.Errorf("the contributor was paid %s base units, want %s", paid, reward)
	}
	var paid []types.Log
	for _, log := range f.chain.followedLogs() {
		if log.Topics[0] == factoryABI.Events["SubmissionPaid"].ID {
			paid = append(paid, log)
		}
	}
	if len(paid) != 1 {
		f.t.Fatalf("%d payments, want 1", len(paid))
	}
	mission, submission := sortie.MissionKey(d.missionID), sortie.SubmissionKey(s.id)
	recipient := common.BytesToHash(contributor[:])
	if topics := paid[0].Topics; topics[1] != common.Hash(mission) || topics[2] != common.Hash(submission) || topics[3] != recipient {
		f.t.Errorf("paid was %v, want %s for %s to %s", topics, submission, mission, contributor)
	}
}

// balance is an account's balance of test USDC.
func (f *following) balance(account sortie.Address) *big.Int {
	f.t.Helper()
	token := servicetoken.NewServiceToken()
	var answer sortie.Bytes
	f.chain.call(&answer, "eth_call", map[string]any{
		"to": f.chain.Tokens[sortie.TokenUSDC].Address, "data": sortie.Bytes(token.PackBalanceOf(common.Address(account))),
	}, "latest")
	balance, err := token.UnpackBalanceOf(answer)
	if err != nil {
		f.t.Fatal(err)
	}
	return balance
}
