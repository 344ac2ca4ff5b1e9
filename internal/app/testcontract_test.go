package app

import (
	"context"
	"errors"
	"maps"
	"math/big"
	"sync"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// testContract is the contract on the chain that a test makes: its state after every block, by the
// block's hash.
type testContract struct {
	mu     sync.Mutex
	states map[sortie.Hash]*testContractState
	fail   error          // instead of an answer
	asked  func(keys int) // before an answer
	extra  *big.Int       // of the factory's balance: what others have there
	answer func(onchain.ContractMission) onchain.ContractMission
}

type testContractState struct {
	missions map[sortie.Hash]onchain.ContractMission
	credits  map[sortie.Address]*big.Int
	balance  *big.Int
}

func newTestContract() *testContract {
	return &testContract{states: make(map[sortie.Hash]*testContractState), extra: new(big.Int)}
}

func (t *testContract) at(block sortie.Hash) *testContractState {
	if t.states[block] == nil {
		t.states[block] = &testContractState{missions: map[sortie.Hash]onchain.ContractMission{}, credits: map[sortie.Address]*big.Int{}, balance: new(big.Int)}
	}
	return t.states[block]
}

// see applies the blocks of a step.
func (t *testContract) see(step onchain.Advance) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.at(step.After.Hash)
	for _, block := range step.Blocks {
		state := &testContractState{missions: maps.Clone(before.missions), credits: maps.Clone(before.credits), balance: new(big.Int).Set(before.balance)}
		for _, event := range step.Events {
			if event.Block == block.Number {
				state.apply(&event)
			}
		}
		t.states[block.Hash] = state
		before = state
	}
}

func (s *testContractState) apply(event *onchain.Event) {
	m := s.missions[event.MissionKey]
	credit := func(account sortie.Address, amount *big.Int) {
		if s.credits[account] == nil {
			s.credits[account] = new(big.Int)
		}
		s.credits[account] = new(big.Int).Add(s.credits[account], amount)
	}
	switch event.Kind {
	case onchain.EventMissionFunded:
		f := event.Funded
		m = onchain.ContractMission{Exists: true, Creator: f.Creator, Token: f.Token, Reward: f.Reward, Target: f.TargetCount.Uint64()}
		s.balance.Add(s.balance, new(big.Int).Mul(f.Reward, f.TargetCount))
	case onchain.EventSubmissionPaid:
		m.Paid++
		s.balance.Sub(s.balance, m.Reward)
	case onchain.EventPayoutDeferred:
		m.Paid++
		credit(event.Payment.Recipient, m.Reward)
	case onchain.EventMissionClosed:
		m.Closed = event.Closed.Reason
		if event.Closed.RefundDeferred {
			credit(m.Creator, event.Closed.Refund)
		} else {
			s.balance.Sub(s.balance, event.Closed.Refund)
		}
	}
	s.missions[event.MissionKey] = m
}

// claim pays out an account's credit, in all blocks: claims are not followed.
func (t *testContract) claim(account sortie.Address) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, state := range t.states {
		if credit := state.credits[account]; credit != nil {
			state.balance.Sub(state.balance, credit)
			delete(state.credits, account)
		}
	}
}

var errNoState = errors.New("header not found")

func (t *testContract) state(block sortie.Hash, questions int) (*testContractState, error) {
	if asked := t.asked; asked != nil {
		asked(questions)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fail != nil {
		return nil, t.fail
	}
	if t.states[block] == nil {
		return nil, errNoState
	}
	return t.states[block], nil
}

func (t *testContract) MissionsAt(_ context.Context, block sortie.Hash, keys []onchain.MissionRef) (missions []onchain.ContractMission, err error) {
	state, err := t.state(block, len(keys))
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		m := state.missions[key.MissionKey]
		if m.Reward == nil {
			m.Reward = new(big.Int)
		}
		if t.answer != nil {
			m = t.answer(m)
		}
		missions = append(missions, m)
	}
	return missions, nil
}

func (t *testContract) BalancesAt(_ context.Context, block sortie.Hash, vaults []onchain.Vault) (balances []*big.Int, err error) {
	state, err := t.state(block, len(vaults))
	if err != nil {
		return nil, err
	}
	for range vaults { // tests have one
		balances = append(balances, new(big.Int).Add(state.balance, t.extra))
	}
	return balances, nil
}

func (t *testContract) CreditsAt(_ context.Context, block sortie.Hash, holders []onchain.CreditHolder) (credits []*big.Int, err error) {
	state, err := t.state(block, len(holders))
	if err != nil {
		return nil, err
	}
	for _, holder := range holders {
		credit := state.credits[holder.Account]
		if credit == nil {
			credit = new(big.Int)
		}
		credits = append(credits, credit)
	}
	return credits, nil
}
