package follower

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie/internal/chaintest"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// testChain is a chain in memory with nodes that can lie, and a follower of it.
type testChain struct {
	t        testing.TB
	clock    *chaintest.Clock
	chain    *chaintest.Chain
	nodes    []*chaintest.Node
	ledger   *memoryLedger
	follower *Follower
}

const testDrafts = 6

func newTestChain(t testing.TB, nodeCount int, finality Finality) *testChain {
	t.Helper()
	r := &testChain{t: t, clock: chaintest.NewClock()}
	r.chain = chaintest.NewChain(r.clock.Now)
	var drafts []onchain.Terms
	for n := range testDrafts {
		drafts = append(drafts, chaintest.Terms(n))
	}
	r.ledger = newMemoryLedger(r.clock.Now, drafts...)
	var urls []string
	for range nodeCount {
		node := chaintest.NewNode(t, r.chain)
		r.nodes, urls = append(r.nodes, node), append(urls, node.URL)
	}
	r.follower = New(Config{
		Nodes: nodesOn(t, urls...), Ledger: r.ledger, ChainID: chaintest.ChainID, Finality: finality, Clock: r.clock.Now,
		Logger: slog.New(slog.DiscardHandler),
	})
	return r
}

// settle converges until there is nothing left to do.
func (r *testChain) settle() error {
	for range 1000 {
		progress, err := r.follower.Converge(context.Background())
		if err != nil {
			return err
		}
		if !progress.More {
			return nil
		}
	}
	return errors.New("it never comes to rest")
}

func (r *testChain) mustSettle() {
	r.t.Helper()
	if err := r.settle(); err != nil {
		r.t.Fatal(err)
	}
}

// later moves the clock, so that delayed work is retried.
func (r *testChain) later() { r.clock.Advance(3 * time.Second) }

// canonical fails the test unless the ledger has exactly the events of the chain.
func (r *testChain) canonical() {
	r.t.Helper()
	want := r.chain.Events(r.t, r.ledger.position.Start)
	if got := r.ledger.rows(); !slices.Equal(got, want) {
		r.t.Fatalf("the ledger has %d rows, the chain %d:\n%s\nwant\n%s", len(got), len(want), got, want)
	}
	if tip, head := r.ledger.position.Tip.Number, r.chain.Head(); tip != head {
		r.t.Fatalf("got tip %d, want the head %d", tip, head)
	}
}

func (r *testChain) alarms() []string {
	var kinds []string
	for _, alarm := range r.follower.Status().Alarms {
		kinds = append(kinds, alarm.Kind)
	}
	return kinds
}

func TestFollowingFromFundingToLock(t *testing.T) {
	t.Parallel()
	for _, nodeCount := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(nodeCount), func(t *testing.T) {
			t.Parallel()
			r := newTestChain(t, nodeCount, Finalized)
			r.chain.MineEmpty(10)
			r.mustSettle()
			r.canonical()
			r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)), chaintest.PaymentLog(chaintest.Terms(1), 1))
			r.mustSettle()
			r.canonical()
			if depth := r.ledger.depthOf(1); depth != "seen" {
				t.Errorf("depth after one block: got %q, want seen", depth)
			}
			r.chain.Mine()
			r.mustSettle()
			if depth := r.ledger.depthOf(1); depth != "confirmed" {
				t.Errorf("depth after two blocks: got %q, want confirmed", depth)
			}
			r.chain.Finalize(10)
			r.chain.Mine()
			r.mustSettle()
			if depth := r.ledger.depthOf(1); depth != "confirmed" {
				t.Errorf("depth before its block is final: got %q, want confirmed", depth)
			}
			r.chain.Finalize(11)
			r.later()
			r.mustSettle()
			if depth := r.ledger.depthOf(1); depth != "locked" {
				t.Errorf("depth after its block is final: got %q, want locked", depth)
			}
			r.chain.Mine(chaintest.ClosingLog(chaintest.Terms(1)))
			r.chain.Finalize(r.chain.Head())
			r.mustSettle()
			if depth := r.ledger.depthOf(1); depth != "refunded" {
				t.Errorf("depth after its closing is final: got %q, want refunded", depth)
			}
			if alarms := r.alarms(); len(alarms) > 0 {
				t.Errorf("got alarms %v, want none", r.follower.Status().Alarms)
			}
		})
	}
}

func TestFinalityOfANumberOfBlocks(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2, 4)
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	for want := range []string{"seen", "confirmed", "confirmed", "locked"} {
		r.mustSettle()
		got := r.ledger.depthOf(1)
		if expected := []string{"seen", "confirmed", "confirmed", "locked"}[want]; got != expected {
			t.Errorf("with %d blocks it is %q, want %q", want+1, got, expected)
		}
		r.chain.Mine()
	}
}

func TestLateFundingIsCaughtUpWith(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.chain.MineEmpty(3)
	r.mustSettle()
	r.chain.MineEmpty(3000)
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	for range 1500 {
		r.chain.Mine(chaintest.PaymentLog(chaintest.Terms(1), 1), chaintest.PaymentLog(chaintest.Terms(1), 2))
	}
	r.chain.Finalize(r.chain.Head() - 10)
	r.mustSettle()
	r.canonical()
	if r.ledger.depthOf(1) != "locked" {
		t.Errorf("depth: got %q, want locked", r.ledger.depthOf(1))
	}
	if asked := r.nodes[0].Count("eth_getLogs"); asked > 40 {
		t.Errorf("got %d requests for logs of 4,500 blocks, want fewer", asked)
	}
}

// Random chains with random reorganizations always end in the same rows.
func TestRowsAreThoseOfTheCanonicalChain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(p *rapid.T) {
		nodeCount := rapid.IntRange(1, 2).Draw(p, "nodes")
		r := newTestChain(t, nodeCount, Finalized)
		next := 0
		logs := func() (logs []*types.Log) {
			for range rapid.IntRange(0, 2).Draw(p, "logs") {
				next++
				if draft := chaintest.Terms(next % testDrafts); next%3 == 0 {
					logs = append(logs, chaintest.FundingLog(draft))
				} else {
					logs = append(logs, chaintest.PaymentLog(draft, next))
				}
			}
			return logs
		}
		for range rapid.IntRange(1, 12).Draw(p, "steps") {
			switch rapid.IntRange(0, 4).Draw(p, "what") {
			case 0:
				r.chain.Mine(logs()...)
			case 1:
				for range rapid.SampledFrom([]int{1, 5, 70, 150}).Draw(p, "blocks") {
					r.chain.Mine(logs()...)
				}
			case 2:
				if room := int(r.chain.Head() - r.chain.Final); room > 0 {
					r.chain.Reorganize(rapid.IntRange(1, room).Draw(p, "depth"), logs()...)
				}
			case 3:
				r.chain.Finalize(rapid.Uint64Range(r.chain.Final, r.chain.Head()).Draw(p, "final"))
			case 4:
				node := rapid.SampledFrom(r.nodes).Draw(p, "node")
				node.SetLie(chaintest.Lie{Lag: rapid.Uint64Range(0, 5).Draw(p, "lag")})
			}
			if rapid.Bool().Draw(p, "settle") {
				if err := r.settle(); err != nil {
					p.Fatal(err)
				}
			} else if _, err := r.follower.Converge(context.Background()); err != nil {
				p.Fatal(err)
			}
			r.later()
		}
		for _, node := range r.nodes {
			node.SetLie(chaintest.Lie{})
		}
		r.chain.Mine()
		r.later()
		if err := r.settle(); err != nil {
			p.Fatal(err)
		}
		r.canonical()
		if slices.Contains(r.ledger.incidentKinds(), "finality_broken") {
			p.Fatal("finality was never broken")
		}
	})
}
