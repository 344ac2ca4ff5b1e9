package service

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

// Missions whose reward is above the contract's daily cap cannot be paid. They must not delay other
// payouts of their token.
func TestRewardsAboveTheDailyCapHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	c := startMoneyChain(t)
	s := openMoneyService(t, c, "sqlite:"+t.TempDir()+"/sortie.db", t.TempDir())
	defer s.stop()
	s.capUSDC(big.NewInt(10_000_000))
	var large []string
	for i := range 4 {
		large = append(large, s.accepted(s.published("1000", 1), moneyContributors[i])[0])
	}
	small := s.accepted(s.published("2.5", 1), moneyContributors[5])[0]
	const period = time.Hour
	s.run(period)
	payout, err := s.store.PayoutOf(s.ctx, small)
	s.must(err)
	if payout.Status != sortie.PayoutPaid {
		t.Errorf("payout of 2.5 USDC below a cap of 10 USDC: got %s after %s, want paid", payout.Status, period)
	}
	for _, id := range large {
		payout, err := s.store.PayoutOf(s.ctx, id)
		s.must(err)
		if payout.Status != sortie.PayoutQueued {
			t.Errorf("payout of 1000 USDC above the cap: got %s, want queued", payout.Status)
		}
	}
	s.capUSDC(maxUint256)
	s.run(period / 3)
	for _, id := range large {
		payout, err := s.store.PayoutOf(s.ctx, id)
		s.must(err)
		if payout.Status != sortie.PayoutPaid {
			t.Errorf("payout of 1000 USDC after the cap was raised: got %s, want paid", payout.Status)
		}
	}
}

// A settlement that the daily cap made smaller must not make later settlements of its mission
// smaller.
func TestTheDailyCapDoesNotMakeLaterSettlementsSmall(t *testing.T) {
	t.Parallel()
	c := startMoneyChain(t)
	s := openMoneyService(t, c, "sqlite:"+t.TempDir()+"/sortie.db", t.TempDir())
	defer s.stop()
	s.capUSDC(big.NewInt(2_500_000))
	mission := s.published("2.5", 4)
	ids := s.accepted(mission, moneyContributors[3:7]...)
	s.run(20 * time.Minute)
	s.capUSDC(maxUint256)
	s.run(20 * time.Minute)
	settlements := make(map[int64]int)
	for _, id := range ids {
		payout, err := s.store.PayoutOf(s.ctx, id)
		s.must(err)
		if payout.Status != sortie.PayoutPaid {
			t.Errorf("payout of %s: got %s, want paid", id, payout.Status)
		}
		settlements[payout.Settlement]++
	}
	if len(settlements) != 2 {
		t.Errorf("payouts by settlement: got %v, want one below the cap and the other three in a second settlement", settlements)
	}
}

func (s *moneyService) capUSDC(limit *big.Int) {
	s.t.Helper()
	s.chain.transact(s.t, devnet.WalletByRole(devnet.RoleDeployer).Address, s.chain.deployment.Factory,
		factoryBinding.PackSetDailyCap(common.Address(s.chain.deployment.USDC), limit))
}

// published creates a mission in USDC that takes submissions.
func (s *moneyService) published(reward string, target int) moneyDraft {
	s.t.Helper()
	creator := devnet.WalletByRole(devnet.RoleCreator).Address
	view, _, err := s.app.CreateDraft(s.ctx, creator, rand.Text(),
		fmt.Appendf(nil, `{"title":"Photo of the tower","reward":{"token":"USDC","amount":%s},"targetCount":%d}`, reward, target))
	s.must(err)
	full, err := s.app.Mission(s.ctx, creator, view.DraftID)
	s.must(err)
	s.chain.transact(s.t, creator, full.Quote.FactoryAddress, full.Quote.Calldata)
	s.mine(moneyFinality)
	s.follow()
	_, err = s.operators.Approve(s.ctx, moneyOperator, view.DraftID, "")
	s.must(err)
	s.mine(1)
	s.follow()
	return moneyDraft{view.DraftID, view.MissionID, creator}
}

// accepted submits and accepts a file of each contributor and waits until the acceptances are
// final.
func (s *moneyService) accepted(mission moneyDraft, contributors ...sortie.Address) (ids []string) {
	s.t.Helper()
	for _, contributor := range contributors {
		declared, file, err := s.declare(contributor, mission.missionID)
		s.must(err)
		s.submit(declared, file)
		ids = append(ids, declared.SubmissionID)
	}
	s.pass(moneyHold)
	s.due()
	return ids
}

// run runs the service and the chain for the given time.
func (s *moneyService) run(lasting time.Duration) {
	s.t.Helper()
	for begin := s.clock(); s.clock().Sub(begin) < lasting; {
		s.pass(18 * time.Second)
		s.due()
		s.send()
		s.mine(1)
		s.follow()
	}
}
