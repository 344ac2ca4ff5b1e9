package e2e

import (
	"encoding/json"
	"math/big"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/testusdc"
)

// paying is the environment of a service that pays at once.
var paying = []string{"SORTIE_PAYOUT_INTERVAL=0s", "SORTIE_ACCEPTANCE_HOLD=0s"}

// Accepted submissions are paid without a request, the mission is closed when all payouts are
// final, and its creator gets the sums.
func TestAcceptedWorkIsPaidAndTheMissionCloses(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, append(chain.keepingFiles(sqliteIn(t), t.TempDir()), paying...))
	mission := f.publish(photoMission(2))
	reward, _ := new(big.Int).SetString(mission.quote.RewardPerSubmissionBaseUnits, 10)
	submissions := []submission{f.submit("contributor1", mission, photo(1)), f.submit("contributor2", mission, photo(2))}
	before := make([]*big.Int, len(submissions))
	for i, s := range submissions {
		before[i] = f.balance(s.contributor.Wallet())
	}
	f.mineUntil(func() bool {
		for _, s := range submissions {
			if f.own(s).Payout.Status != sortie.PayoutPaid {
				return false
			}
		}
		return true
	})
	for i, s := range submissions {
		if got := new(big.Int).Sub(f.balance(s.contributor.Wallet()), before[i]); got.Cmp(reward) != 0 {
			t.Errorf("contributor %d has %s more, want %s", i+1, got, reward)
		}
		if payout := f.own(s).Payout; payout.TransactionHash == nil {
			t.Errorf("the payout %+v names no transaction", payout)
		}
		f.checkEventsAbout(s.id, sortie.EventSubmissionAccepted, sortie.EventPayoutSent, sortie.EventPayoutPaid)
	}
	f.mineUntil(func() bool { return len(f.completions(mission)) == 1 })
	done := f.completions(mission)[0]
	total := new(big.Int).Mul(reward, big.NewInt(2)).String()
	if done.Funded != total || done.Paid != total || done.Deferred != "0" || done.Refund != "0" {
		t.Errorf("the mission ended with %+v, want %s funded and paid, nothing deferred or refunded", done, total)
	}
	if n := chain.closings(mission.missionID); n != 1 {
		t.Errorf("%d closings, want 1", n)
	}
}

// completion is the data of mission.completed.
type completion struct {
	Funded   string `json:"fundedBaseUnits"`
	Paid     string `json:"paidBaseUnits"`
	Deferred string `json:"deferredBaseUnits"`
	Refund   string `json:"refundBaseUnits"`
}

func (f *following) completions(d drafted) (found []completion) {
	f.t.Helper()
	for event, err := range f.creator.AllEvents(f.ctx, sortie.PageQuery{}) {
		if err != nil {
			f.t.Fatal(err)
		}
		if event.Type == sortie.EventMissionCompleted && event.MissionID == d.missionID {
			var sums completion
			if err := json.Unmarshal(event.Data, &sums); err != nil {
				f.t.Fatal(err)
			}
			found = append(found, sums)
		}
	}
	return found
}

// While a token refuses every transfer, nothing is settled, because payments would become deferred
// credits. When it accepts transfers again, they are paid.
func TestPayoutsWaitWhileTheTokenIsPaused(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, append(chain.keepingFiles(sqliteIn(t), t.TempDir()), paying...))
	mission := f.publish(photoMission(1))
	usdc, token := chain.Tokens[sortie.TokenUSDC].Address, testusdc.NewTestUSDC()
	chain.transact("deployer", usdc, token.PackPause())
	chain.mine(1)
	f.awaitTip()
	s := f.submit("contributor1", mission, photo(1))
	f.service.await(t, "word of the pause", func() bool {
		overview, err := f.operator.Chain(f.ctx)
		return err == nil && overview.Sender.Queued > 0 && f.own(s).Payout.Status == sortie.PayoutQueued && f.metric("sortie_sender_alarms", `kind="unprepared"`) == 1
	})
	chain.transact("deployer", usdc, token.PackUnpause())
	chain.mine(1)
	f.mineUntil(func() bool { return f.own(s).Payout.Status == sortie.PayoutPaid })
	f.checkEventsAbout(s.id, sortie.EventSubmissionAccepted, sortie.EventPayoutSent, sortie.EventPayoutPaid)
}

// The service recognizes a redeemed receipt: it pays the other slots only.
func TestARedeemedReceiptIsNotPaidAgain(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, append(chain.keepingFiles(sqliteIn(t), t.TempDir()), "SORTIE_SENDER=")) // so that this test is first
	mission := f.publish(photoMission(2))
	redeemed, paid := f.submit("contributor1", mission, photo(1)), f.submit("contributor2", mission, photo(2))
	for _, s := range []submission{redeemed, paid} {
		f.service.await(t, "receipt", func() bool { return f.own(s).Receipt != nil })
	}
	f.redeems(mission, redeemed, f.own(redeemed).Receipt)
	f.mineUntil(func() bool { return f.own(redeemed).Payout.Status == sortie.PayoutPaid })
	f.environment = append(append(f.environment, "SORTIE_SENDER=dev:8"), paying...)
	f.restart()
	f.mineUntil(func() bool { return len(f.completions(mission)) == 1 })
	f.checkEventsAbout(redeemed.id, sortie.EventSubmissionAccepted, sortie.EventPayoutSent, sortie.EventPayoutPaid)
	if mined := chain.minedBy("sender"); mined != 2 {
		t.Errorf("the service sent %d transactions, want a settlement and a close", mined)
	}
	payments := 0
	for _, log := range chain.followedLogs() {
		if log.Topics[0] == factoryABI.Events["SubmissionPaid"].ID {
			payments++
		}
	}
	if payments != 2 {
		t.Errorf("%d payments, want 2", payments)
	}
}
