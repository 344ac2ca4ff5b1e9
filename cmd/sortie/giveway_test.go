package main

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/devnet"
)

// Missions whose reward is above the contract's daily cap cannot be paid. They do not keep others of their token from being paid.
func TestRewardsAboveTheDailyCapHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	c := startMoneyChain(t)
	s := openMoneyService(t, c, "sqlite:"+t.TempDir()+"/sortie.db", t.TempDir())
	defer s.stop()
	creator := devnet.WalletByRole(devnet.RoleCreator).Address
	publish := func(amount string) moneyDraft {
		t.Helper()
		view, _, err := s.app.CreateDraft(s.ctx, creator, rand.Text(),
			fmt.Appendf(nil, `{"title":"Photo of the tower","reward":{"token":"USDC","amount":%s},"targetCount":1}`, amount))
		s.must(err)
		full, err := s.app.Mission(s.ctx, creator, view.DraftID)
		s.must(err)
		c.transact(t, creator, full.Quote.FactoryAddress, full.Quote.Calldata)
		s.mine(moneyFinality)
		s.follow()
		_, err = s.app.Approve(s.ctx, moneyOperator, view.DraftID, "")
		s.must(err)
		s.mine(1)
		s.follow()
		return moneyDraft{view.DraftID, view.MissionID, creator}
	}
	accept := func(mission moneyDraft, contributor sortie.Address) string {
		t.Helper()
		declared, file, err := s.declare(contributor, mission.missionID)
		s.must(err)
		s.submit(declared, file)
		s.pass(moneyHold)
		s.due()
		return declared.SubmissionID
	}
	c.transact(t, devnet.WalletByRole(devnet.RoleDeployer).Address, c.deployment.Factory,
		factoryBinding.PackSetDailyCap(common.Address(c.deployment.USDC), big.NewInt(10_000_000)))
	var greedy []string
	for i := range 4 {
		greedy = append(greedy, accept(publish("1000"), moneyContributors[i]))
	}
	modest := accept(publish("2.5"), moneyContributors[5])
	const patience = time.Hour
	for begin := s.clock(); s.clock().Sub(begin) < patience; {
		s.pass(18 * time.Second)
		s.due()
		s.send()
		s.mine(1)
		s.follow()
	}
	payout, err := s.store.PayoutOf(s.ctx, modest)
	s.must(err)
	if payout.Status != sortie.PayoutPaid {
		t.Errorf("the payout of 2.5 USDC is %s after %s, want paid: the cap of 10 USDC has room for it", payout.Status, patience)
	}
	for _, id := range greedy {
		payout, err := s.store.PayoutOf(s.ctx, id)
		s.must(err)
		if payout.Status != sortie.PayoutQueued {
			t.Errorf("a payout of 1000 USDC is %s, want queued", payout.Status)
		}
	}
	c.transact(t, devnet.WalletByRole(devnet.RoleDeployer).Address, c.deployment.Factory,
		factoryBinding.PackSetDailyCap(common.Address(c.deployment.USDC), maxUint256))
	for begin := s.clock(); s.clock().Sub(begin) < patience/3; {
		s.pass(18 * time.Second)
		s.due()
		s.send()
		s.mine(1)
		s.follow()
	}
	for _, id := range greedy {
		payout, err := s.store.PayoutOf(s.ctx, id)
		s.must(err)
		if payout.Status != sortie.PayoutPaid {
			t.Errorf("a payout of 1000 USDC is %s when the cap is raised, want paid", payout.Status)
		}
	}
}
