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

// As long as an acceptance is held, an operator can take it back: the creator's link is dead at
// once. Afterwards nobody can, and the contributor has a receipt that the contract pays, whoever
// brings it, without the service.
func TestAcceptanceIsHeldThenPaidByTheContract(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	const long, short = time.Hour, 2 * time.Second
	f := follow(t, chain, append(chain.keepingFiles(sqliteIn(t), t.TempDir()),
		"SORTIE_SENDER=", // so that nobody but this test pays
		"SORTIE_ACCEPTANCE_HOLD="+long.String()))
	mission := f.publish(photoMission(2))

	revoked := f.submit("contributor1", mission, photo(1))
	f.awaitStatus(revoked, sortie.SubmissionAccepted)
	delivered := f.checkDelivered(mission, revoked, sortie.SubmissionAccepted)
	f.checkHeld(revoked, long)
	if _, err := f.operator.RejectSubmission(f.ctx, revoked.id, "Somebody else's photo."); err != nil {
		t.Fatalf("revoke: %v", err)
	}
	for _, link := range []string{delivered.MediaURL, *delivered.ThumbnailURL} {
		if _, err := f.fetch(link); !isCode(err, sortie.CodeNotFound) {
			t.Errorf("the link of what was taken back: %v", err)
		}
	}
	if left := f.delivered(mission); len(left) != 0 {
		t.Errorf("taken back and delivered all the same: %v", left)
	}
	f.checkEventsAbout(revoked.id, sortie.EventSubmissionAccepted, sortie.EventSubmissionRevoked)

	f.environment = append(f.environment, "SORTIE_ACCEPTANCE_HOLD="+short.String()) // the last one counts
	f.restart()
	final := f.submit("contributor2", mission, photo(2))
	f.awaitStatus(final, sortie.SubmissionAccepted)
	f.service.await(t, "receipt", func() bool { return f.own(final).Receipt != nil })
	f.checkHeld(final, short)
	if _, err := f.operator.RejectSubmission(f.ctx, final.id, "Too late."); !isCode(err, sortie.CodeWrongState) {
		t.Errorf("revoke what is final: %v", err)
	}
	f.checkEventsAbout(final.id, sortie.EventSubmissionAccepted)
	f.redeem(mission, final)
}

// checkHeld compares when an acceptance becomes final with when it was made, of which the second is
// told.
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

// redeem has a stranger bring a receipt to the contract, twice, while the service is away: its
// contributor is paid once.
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

// balance is what an account has of the test dollars.
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
