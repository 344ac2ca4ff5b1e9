package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/contracts/bind/testusdc"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

const (
	stormVariable = "SORTIE_PAYOUT_STORM" // number of acceptances, for example 1000; empty: a few
	stormFinality = 24                    // deeper than every reorganization
	deepestReorg  = 20
)

// Every slot is paid exactly once under all failures: transactions are dropped, nodes accept them
// and answer with an error, the chain is reorganized, gas costs ten times as much, a token is
// paused, a recipient is denylisted and processes are killed. At the end the chain has one payment
// for each slot, every mission is closed, and no unit is lost. A long run: SORTIE_PAYOUT_STORM=1000
// go test ./e2e -run TestPayoutStorm -v -timeout 60m
func TestPayoutStorm(t *testing.T) {
	t.Parallel()
	t.Run("one process on SQLite", func(t *testing.T) {
		t.Parallel()
		startStorm(t, sqliteIn(t), 1).run()
	})
	t.Run("two processes on PostgreSQL, one of them killed at a time", func(t *testing.T) {
		t.Parallel()
		startStorm(t, pgtest.Database(t), 2).run()
	})
}

// storm is a service of one or more processes that pays during failures.
type storm struct {
	*following // the first process, which clients use
	members    []*member
	random     *rand.Rand
	missions   []drafted
	rewards    map[string]*big.Int // by mission
	denied     *sortie.Client
	people     []*sortie.Client

	lock     sync.Mutex
	happened map[string]int
	isShut   bool
	sends    int // that arrived
	takes    int // that the node has
}

func startStorm(t *testing.T, database string, processes int) *storm {
	t.Helper()
	chain := startAnvil(t)
	files := t.TempDir()
	s := &storm{random: rand.New(rand.NewPCG(1, uint64(processes))), rewards: make(map[string]*big.Int), happened: make(map[string]int)}
	for range processes {
		node := startProxy(t, chain.RPCURL)
		environment := append(chain.keepingFiles(database, files), "SORTIE_RPC="+node.url, fmt.Sprintf("SORTIE_FINALITY=%d", stormFinality),
			"SORTIE_ACCEPTANCE_HOLD=0s", "SORTIE_PAYOUT_INTERVAL=1s", "SORTIE_RESERVATIONS_PER_ADDRESS=10000")
		s.members = append(s.members, &member{follow(t, chain, environment), node})
	}
	s.following = s.members[0].following
	return s
}

func (s *storm) acceptances() (missions, slots int) {
	number := 40
	if text := os.Getenv(stormVariable); text != "" {
		parsed, err := strconv.Atoi(text)
		if err != nil || parsed < 20 {
			s.t.Fatalf("%s=%q: want a number from 20", stormVariable, text)
		}
		number = parsed
	}
	missions = min(20, number/10)
	return missions, number / missions
}

func (s *storm) run() {
	missions, slots := s.acceptances()
	s.t.Logf("%d missions of %d slots", missions, slots)
	s.giveServiceTokens()
	before := s.sum()
	s.publishAll(missions, slots)
	submissions := s.submitAll(slots)
	s.storm(missions * slots)
	s.calm()
	s.growUntil(func() { s.chain.mine(1) }, func() bool { return s.completed() == missions })
	s.check(submissions, missions*slots, before)
}

// giveServiceTokens gives the creator the second token.
func (s *storm) giveServiceTokens() {
	token, service := s.chain.Tokens[sortie.TokenService].Address, servicetoken.NewServiceToken()
	amount := new(big.Int).Exp(big.NewInt(10), big.NewInt(24), nil)
	s.chain.transact("deployer", token, service.PackTransfer(common.Address(s.chain.wallet("creator")), amount))
	s.chain.transact("creator", token, service.PackApprove(common.Address(s.chain.FactoryAddress), amount))
	s.chain.mine(1)
}

// publishAll publishes missions of both tokens.
func (s *storm) publishAll(missions, slots int) {
	s.t.Helper()
	for i := range missions {
		wanted := photoMission(slots)
		if i%2 == 1 {
			wanted.Reward.Token = sortie.TokenService
		}
		created, err := s.creator.CreateDraft(s.ctx, wanted, fmt.Sprintf("Mission %d", drafts.Add(1)))
		if err != nil {
			s.t.Fatalf("create a draft: %v", err)
		}
		d := drafted{created.DraftID, created.MissionID, "creator", created.FundingQuote}
		s.rewards[d.missionID], _ = new(big.Int).SetString(d.quote.RewardPerSubmissionBaseUnits, 10)
		s.chain.fund(d.creator, d.quote)
		s.missions = append(s.missions, d)
	}
	s.chain.mine(2)
	for _, d := range s.missions {
		s.awaitView(d, viewInReview)
		s.approve(d)
	}
	s.chain.mine(stormFinality)
	for _, d := range s.missions {
		s.awaitView(d, viewPublished)
	}
}

// submitAll fills all slots with photos of a few contributors. The token refuses one of them.
func (s *storm) submitAll(slots int) (all []submission) {
	s.t.Helper()
	for range 5 {
		s.people = append(s.people, s.stranger())
	}
	s.denied = s.people[0]
	s.chain.transact("deployer", s.chain.Tokens[sortie.TokenUSDC].Address, testusdc.NewTestUSDC().PackSetDenylisted(common.Address(s.denied.Wallet()), true))
	s.chain.mine(stormFinality)
	all = make([]submission, len(s.missions)*slots)
	var group errgroup.Group
	group.SetLimit(4)
	for i := range all {
		group.Go(func() (err error) {
			d := s.missions[i%len(s.missions)]
			who := s.people[1+i%(len(s.people)-1)]
			if i == 0 { // the first mission pays USDC
				who = s.denied
			}
			all[i], err = s.tryToDeclare(who, d, photo(i))
			if err == nil {
				err = s.upload(all[i])
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		s.t.Fatalf("submit: %v", err)
	}
	for _, one := range all {
		s.service.await(s.t, "decision about "+one.id, func() bool { return s.own(one).Status != sortie.SubmissionPending })
		if s.own(one).Status == sortie.SubmissionFlagged { // among very many, some are near duplicates
			if _, err := s.operator.AcceptSubmission(s.ctx, one.id, "It is another one."); err != nil {
				s.t.Fatalf("accept %s: %v", one.id, err)
			}
		}
	}
	return all
}

// storm injects failures until there were enough of every kind and at least half is paid.
func (s *storm) storm(payouts int) {
	s.t.Helper()
	for _, m := range s.members {
		m.node.behave(behaviour{before: s.drop, after: s.takeAndRefuse})
	}
	usdc, token := s.chain.Tokens[sortie.TokenUSDC].Address, testusdc.NewTestUSDC()
	paused, baseFee := 0, uint64(1*gwei)
	rounds := 30 + payouts/20
	for round := range rounds {
		switch s.random.IntN(6) {
		case 0:
			depth := uint64(1 + s.random.IntN(deepestReorg))
			s.chain.reorg(depth)
			s.note("reorganizations")
		case 1:
			m := s.members[s.random.IntN(len(s.members))]
			m.restart()
			s.note("kills")
		case 2:
			baseFee = 10 * gwei
			s.note("expensive blocks")
		case 3:
			baseFee = 1 * gwei
		}
		if paused == 0 && round%12 == 6 && s.shut() {
			s.chain.transact("deployer", usdc, token.PackPause())
			s.chain.mineAt(baseFee)
			paused = 4
			s.note("pauses")
		}
		if paused > 0 {
			if paused--; paused == 0 {
				s.unpause()
				s.setShut(false)
			}
		}
		s.chain.mineAt(baseFee)
		s.awaitTip()
	}
	s.unpause()
	s.setShut(false)
}

// unpause ends a pause so that no reorganization reverts it.
func (s *storm) unpause() {
	s.t.Helper()
	s.chain.transact("deployer", s.chain.Tokens[sortie.TokenUSDC].Address, testusdc.NewTestUSDC().PackUnpause())
	s.chain.mine(deepestReorg + 1)
	s.awaitTip()
}

// shut blocks transactions from now on, if none is pending: a payment that is mined while its token
// is paused would become a deferred credit.
func (s *storm) shut() bool {
	s.t.Helper()
	s.setShut(true)
	if !s.poolIsEmpty() {
		s.setShut(false)
		return false
	}
	return true
}

func (s *storm) setShut(shut bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.isShut = shut
}

// poolIsEmpty reports whether no transaction waits to be mined.
func (s *storm) poolIsEmpty() bool {
	s.t.Helper()
	var pool struct{ Pending, Queued string }
	s.chain.call(&pool, "txpool_status")
	return pool.Pending == "0x0" && pool.Queued == "0x0"
}

func (s *storm) note(what string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.happened[what]++
}

// drop discards every third transaction and answers as if the node had accepted it.
func (s *storm) drop(_ context.Context, call rpcCall) *rpcAnswer {
	if call.Method != "eth_sendRawTransaction" {
		return nil
	}
	s.lock.Lock()
	shut := s.isShut
	s.sends++
	drops := shut || s.sends%3 == 0
	s.lock.Unlock()
	if !drops {
		return nil
	}
	s.note("dropped transactions")
	return answered(common.Hash{1})
}

// takeAndRefuse sends the transaction to the node and answers with an error.
func (s *storm) takeAndRefuse(_ context.Context, call rpcCall, answer *rpcAnswer) {
	if call.Method != "eth_sendRawTransaction" || answer.Error != nil {
		return
	}
	s.lock.Lock()
	s.takes++
	refuses := s.takes%3 == 1
	s.lock.Unlock()
	if !refuses {
		return
	}
	s.note("errors after taking")
	answer.Result, answer.Error = nil, json.RawMessage(`{"code":-32000,"message":"internal error"}`)
}

func (s *storm) calm() {
	for _, m := range s.members {
		m.node.behave(behaviour{})
	}
}

func (s *storm) completed() (count int) {
	s.t.Helper()
	for event, err := range s.creator.AllEvents(s.ctx, sortie.PageQuery{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		if event.Type == sortie.EventMissionCompleted {
			count++
		}
	}
	return count
}

// accounts are all accounts that may hold tokens.
func (s *storm) accounts() (all []sortie.Address) {
	all = append(all, s.chain.FactoryAddress, s.chain.wallet("creator"))
	for _, person := range s.people {
		all = append(all, person.Wallet())
	}
	return all
}

// sum is the sum of all balances of both tokens.
func (s *storm) sum() map[sortie.Token]*big.Int {
	s.t.Helper()
	sums := make(map[sortie.Token]*big.Int)
	for name, token := range s.chain.Tokens {
		sums[name] = new(big.Int)
		for _, account := range s.accounts() {
			sums[name].Add(sums[name], s.held(token.Address, account))
		}
	}
	return sums
}

func (s *storm) held(token, account sortie.Address) *big.Int {
	s.t.Helper()
	contract := servicetoken.NewServiceToken()
	var answer sortie.Bytes
	s.chain.call(&answer, "eth_call", map[string]any{"to": token, "data": sortie.Bytes(contract.PackBalanceOf(common.Address(account)))}, "latest")
	held, err := contract.UnpackBalanceOf(answer)
	if err != nil {
		s.t.Fatal(err)
	}
	return held
}

// check compares the chain with the acceptances, and the service's answers with the chain.
func (s *storm) check(submissions []submission, slots int, before map[sortie.Token]*big.Int) {
	s.t.Helper()
	s.t.Logf("what happened: %v", s.happened)
	for _, kind := range []string{"reorganizations", "kills", "dropped transactions", "errors after taking"} {
		if s.happened[kind] == 0 {
			s.t.Errorf("no %s: the test proves too little", kind)
		}
	}
	payments, deferred, closings := make(map[string]int), 0, 0
	for _, log := range s.chain.followedLogs() {
		switch log.Topics[0] {
		case factoryABI.Events["PayoutDeferred"].ID:
			if deferred++; common.BytesToAddress(log.Topics[3][:]) != common.Address(s.denied.Wallet()) {
				s.t.Errorf("a payment to %s was deferred, want that of the denylisted one alone", common.BytesToAddress(log.Topics[3][:]))
			}
			fallthrough
		case factoryABI.Events["SubmissionPaid"].ID:
			payments[log.Topics[1].Hex()+new(big.Int).SetBytes(log.Data[:32]).String()]++
		case factoryABI.Events["MissionClosed"].ID:
			closings++
		}
	}
	histogram := make(map[int]int)
	for _, times := range payments {
		histogram[times]++
	}
	s.t.Logf("payments per slot: %v, of %d slots; %d deferred; %d missions closed; %d transactions", histogram, slots, deferred, closings, s.chain.minedBy("sender"))
	if len(histogram) != 1 || histogram[1] != slots || deferred != 1 || closings != len(s.missions) {
		s.t.Errorf("payments per slot: %v, %d deferred, %d closings; want one for each of %d slots, 1 deferred, %d closings", histogram, deferred, closings, slots, len(s.missions))
	}
	if !s.poolIsEmpty() {
		s.t.Error("transactions still wait to be mined, want none: there may be a gap")
	}
	after := s.sum()
	for token, sum := range before {
		if after[token].Cmp(sum) != 0 {
			s.t.Errorf("all accounts hold %s of %s, want %s", after[token], token, sum)
		}
	}
	usdc := s.chain.Tokens[sortie.TokenUSDC].Address
	credit := s.rewards[s.missions[0].missionID]
	if left := s.held(usdc, s.chain.FactoryAddress); left.Cmp(credit) != 0 {
		s.t.Errorf("the factory holds %s USDC, want the credit of %s", left, credit)
	}
	if left := s.held(s.chain.Tokens[sortie.TokenService].Address, s.chain.FactoryAddress); left.Sign() != 0 {
		s.t.Errorf("the factory holds %s of the service token, want none", left)
	}
	statuses := make(map[sortie.PayoutStatus]int)
	for _, one := range submissions {
		payout := s.own(one).Payout
		statuses[payout.Status]++
		if payout.Status == sortie.PayoutDeferred && payout.Reason == "" {
			s.t.Error("the deferred payout does not say what to do")
		}
	}
	if statuses[sortie.PayoutPaid] != slots-1 || statuses[sortie.PayoutDeferred] != 1 {
		s.t.Errorf("payouts are %v, want %d paid and 1 deferred", statuses, slots-1)
	}
}
