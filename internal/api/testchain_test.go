package api

import (
	"context"
	"encoding/binary"
	"math/big"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// testChain is the chain that the service follows, with two confirmations. It also runs the jobs
// that follow from its events.
type testChain struct {
	t        testing.TB
	now      func() time.Time
	app      *app.App
	ledger   *app.Ledger
	position onchain.Position
	blocks   []onchain.Block // all of them

	woken      atomic.Int64
	reconciles atomic.Int64
	refunds    []string // draft ids

	mu     sync.Mutex
	checks []string // submission ids
}

func (c *testChain) wake() { c.woken.Add(1) }

func (c *testChain) Refund(_ *store.Tx, draftID string) error {
	c.refunds = append(c.refunds, draftID)
	return nil
}

func (c *testChain) Check(_ *store.Tx, submissionID string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checks = append(c.checks, submissionID)
	return nil
}

// check runs the pending checks of submissions.
func (c *testChain) check() {
	c.t.Helper()
	c.mu.Lock()
	waiting := c.checks
	c.checks = nil
	c.mu.Unlock()
	for _, id := range waiting {
		if err := c.app.CheckSubmission(context.Background(), id); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *testChain) Reconcile(*store.Tx) error {
	c.reconciles.Add(1)
	return nil
}

// block returns the block with a number on a fork.
func (c *testChain) block(number uint64, fork byte) onchain.Block {
	hash := sortie.Hash{31: fork}
	binary.BigEndian.PutUint64(hash[:], number)
	return onchain.Block{Number: number, Hash: hash, Time: c.now()}
}

func (c *testChain) begin() {
	c.t.Helper()
	if len(c.blocks) > 0 {
		return
	}
	c.blocks = []onchain.Block{c.block(100, 0)}
	if err := c.ledger.Begin(context.Background(), testDomain.ChainID, c.blocks[0]); err != nil {
		c.t.Fatal(err)
	}
	position, err := c.ledger.Position(context.Background(), testDomain.ChainID)
	if err != nil {
		c.t.Fatal(err)
	}
	c.position = position
}

// mine adds a block with these events and makes the service read it.
func (c *testChain) mine(events ...onchain.Event) {
	c.t.Helper()
	c.begin()
	next := c.block(c.position.Tip.Number+1, 0)
	for i := range events {
		events[i].Block, events[i].BlockHash, events[i].LogIndex = next.Number, next.Hash, uint64(i)
	}
	c.blocks = append(c.blocks, next)
	c.advance(onchain.Advance{After: c.position.Tip, Blocks: []onchain.Block{next}, Events: events, Head: next.Number, Final: c.position.Final})
}

// finalize makes all blocks final.
func (c *testChain) finalize() {
	c.t.Helper()
	c.begin()
	c.advance(onchain.Advance{After: c.position.Tip, Head: c.position.Head, Final: c.position.Tip.Number})
}

// reorganize replaces the last blocks, final or not, by an empty one.
func (c *testChain) reorganize(depth int) {
	c.t.Helper()
	c.blocks = c.blocks[:len(c.blocks)-depth]
	after := c.blocks[len(c.blocks)-1]
	next := c.block(after.Number+1, 1)
	c.blocks = append(c.blocks, next)
	c.advance(onchain.Advance{After: after, Blocks: []onchain.Block{next}, Head: next.Number, Final: min(c.position.Final, after.Number)})
}

func (c *testChain) advance(step onchain.Advance) {
	c.t.Helper()
	ctx := context.Background()
	step.ChainID, step.Was = testDomain.ChainID, c.position
	var err error
	if c.position, err = c.ledger.Advance(ctx, step); err != nil {
		c.t.Fatal(err)
	}
	deepenings, _, err := c.ledger.PendingConfirmations(ctx, testDomain.ChainID, c.position.Head-onchain.DefaultConfirmations+1, c.position.Final, onchain.ConfirmationPlace{})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.ledger.Confirm(ctx, deepenings); err != nil {
		c.t.Fatal(err)
	}
}

// fundingOf returns the event of the contract after a draft was funded.
func fundingOf(draft sortie.DraftCreated) onchain.Event {
	quote := draft.FundingQuote
	reward, _ := new(big.Int).SetString(quote.RewardPerSubmissionBaseUnits, 10)
	return onchain.Event{
		Transaction: sortie.MissionKey("funding of " + draft.MissionID), Factory: quote.FactoryAddress, Kind: onchain.EventMissionFunded,
		MissionKey: sortie.MissionKey(draft.MissionID),
		Funded: &onchain.MissionFunded{
			MissionID: draft.MissionID, Creator: quote.Authorization.Creator, Token: quote.TokenAddress, Reward: reward,
			TargetCount: new(big.Int).SetUint64(quote.TargetCount), Nonce: quote.Authorization.Nonce, ReclaimAfter: quote.Authorization.Deadline + 180*24*3600,
		},
	}
}

// refundOf returns the event of the contract after the service closed a draft's mission.
func refundOf(draft sortie.DraftCreated) onchain.Event {
	total, _ := new(big.Int).SetString(draft.FundingQuote.TotalBudgetBaseUnits, 10)
	return onchain.Event{
		Transaction: sortie.MissionKey("refund of " + draft.MissionID), Factory: draft.FundingQuote.FactoryAddress, Kind: onchain.EventMissionClosed,
		MissionKey: sortie.MissionKey(draft.MissionID), Closed: &onchain.MissionClosed{Refund: total, Reason: 1},
	}
}

// createInReview posts a draft of the creator, funds it and confirms the funding.
func (s *testService) createInReview(key string) sortie.DraftCreated {
	s.t.Helper()
	draft := s.create(key, goodMission)
	s.chain.mine(fundingOf(draft))
	s.chain.mine()
	return draft
}

// halt breaks finality and returns the id of the incident.
func (s *testService) halt() string {
	s.t.Helper()
	s.chain.mine()
	s.chain.mine()
	s.chain.finalize()
	s.chain.reorganize(1)
	overview := decode[sortie.ChainOverview](s.t, s.send(testRequest{target: chainPath, signer: reviewer}))
	i := slices.IndexFunc(overview.Incidents, func(incident sortie.Incident) bool { return incident.Halting })
	if i < 0 {
		s.t.Fatalf("nothing is halted: %+v", overview)
	}
	return overview.Incidents[i].ID
}
