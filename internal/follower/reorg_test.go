package follower

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/chaintest"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

func TestAReorganizationTakesBackAndBringsAgain(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.chain.MineEmpty(10)
	r.mustSettle()
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)), chaintest.FundingLog(chaintest.Terms(2)))
	r.chain.MineEmpty(3)
	r.mustSettle()
	if r.ledger.depthOf(1) != "confirmed" || r.ledger.depthOf(2) != "confirmed" {
		t.Fatalf("depths: got %q and %q, want confirmed twice", r.ledger.depthOf(1), r.ledger.depthOf(2))
	}
	r.chain.Reorganize(4, chaintest.FundingLog(chaintest.Terms(2)))
	r.mustSettle()
	r.canonical()
	if r.ledger.depthOf(1) != "" || r.ledger.depthOf(2) != "confirmed" {
		t.Errorf("depths after the reorganization: got %q and %q, want none and confirmed", r.ledger.depthOf(1), r.ledger.depthOf(2))
	}
	if status := r.follower.Status(); status.Reorgs != 1 || status.DeepestReorg != 4 {
		t.Errorf("got %d reorganizations, the deepest of %d blocks, want 1 of 4", status.Reorgs, status.DeepestReorg)
	}
}

// Of final blocks only some are stored.
func TestAReorganizationBelowWhatWasCaughtUpWith(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.mustSettle()
	for i := range 400 {
		if i%50 == 7 {
			r.chain.Mine(chaintest.PaymentLog(chaintest.Terms(1), i))
		} else {
			r.chain.Mine()
		}
	}
	r.chain.Finalize(r.chain.Head())
	r.mustSettle()
	if len(r.ledger.blocks) > 200 {
		t.Fatalf("the ledger has %d blocks, want at most 200", len(r.ledger.blocks))
	}
	r.chain.Final = 0
	r.chain.Reorganize(120, chaintest.PaymentLog(chaintest.Terms(2), 1))
	r.mustSettle()
	r.canonical()
	if !slices.Contains(r.ledger.incidentKinds(), "finality_broken") {
		t.Error("no incident finality_broken, want one")
	}
}

func TestFinalityIsBrokenOnlyByEnoughNodes(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2, 3)
	r.chain.MineEmpty(20)
	r.mustSettle()
	r.chain.Finalize(0)
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	r.chain.MineEmpty(6)
	r.mustSettle()
	r.later()
	r.mustSettle()
	if r.ledger.depthOf(1) != "locked" {
		t.Fatalf("depth: got %q, want locked", r.ledger.depthOf(1))
	}
	before := r.ledger.rows()

	// One node replaces final blocks.
	forged := r.chain.Fork()
	forged.Reorganize(7)
	forged.MineEmpty(4)
	r.nodes[0].Serve(forged)
	r.nodes[1].SetLie(chaintest.Lie{HTTP: func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }})
	if err := r.settle(); !errors.Is(err, chain.ErrNoQuorum) {
		t.Errorf("replaced final blocks on one of two nodes: got %v, want ErrNoQuorum", err)
	}
	if !slices.Equal(before, r.ledger.rows()) || len(r.ledger.incidentKinds()) > 0 {
		t.Errorf("rows after one of two nodes replaced final blocks: got %v, want them unchanged", r.ledger.rows())
	}

	// The other node agrees.
	r.nodes[1].SetLie(chaintest.Lie{})
	r.nodes[1].Serve(forged)
	r.chain = forged
	r.later()
	r.mustSettle()
	r.canonical()
	if !slices.Equal(r.ledger.incidentKinds(), []string{"finality_broken"}) {
		t.Errorf("got incidents %v, want finality_broken", r.ledger.incidentKinds())
	}
	if r.ledger.depthOf(1) != "" {
		t.Errorf("depth: got %q, want no funding", r.ledger.depthOf(1))
	}
	if final, head := r.ledger.position.Final, forged.Head(); final > head-2 {
		t.Errorf("after finality broke: got final block %d of %d, want at least two lower", final, head)
	}
	forged.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	forged.MineEmpty(4)
	r.recoverDespite("finality_broken")
}

func (r *testChain) recoverDespite(incident string) {
	r.t.Helper()
	r.ledger.incidents = slices.DeleteFunc(r.ledger.incidents, func(kind string) bool { return kind == incident })
	r.recover()
}

// Two nodes agree against the followed one.
func TestFinalityIsNotBrokenAgainstTheOthers(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 3, 3)
	r.chain.MineEmpty(20)
	r.mustSettle()
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	r.chain.MineEmpty(6)
	r.mustSettle()
	r.later()
	r.mustSettle()
	forged := r.chain.Fork()
	forged.Reorganize(7)
	forged.MineEmpty(4)
	r.nodes[0].Serve(forged)
	if node := r.follower.current; node != r.follower.nodes.InUse()[0] {
		t.Fatalf("following node %s, want the first", node.Name())
	}
	r.mustSettle() // with another node
	r.canonical()
	if !slices.Contains(r.alarms(), AlarmDisagree) || len(r.ledger.incidentKinds()) > 0 || r.ledger.depthOf(1) != "locked" {
		t.Errorf("got alarms %v, incidents %v and depth %q, want nodes_disagree, none and locked", r.alarms(), r.ledger.incidentKinds(), r.ledger.depthOf(1))
	}
}

// The final block after finality broke is not the one before.
func TestFinalityBeginsAgainWhereItBroke(t *testing.T) {
	t.Parallel()
	for _, nodeCount := range []int{1, 2} {
		r := newTestChain(t, nodeCount, Finalized)
		r.chain.MineEmpty(20)
		r.chain.Finalize(20)
		r.mustSettle()
		r.later()
		r.mustSettle()
		if r.ledger.position.Final != 20 {
			t.Fatalf("%d nodes: got final block %d, want 20", nodeCount, r.ledger.position.Final)
		}
		r.chain.Finalize(8)
		r.chain.Reorganize(10, chaintest.FundingLog(chaintest.Terms(1)))
		r.later()
		r.mustSettle()
		r.canonical()
		if final := r.ledger.position.Final; final > 10 || r.ledger.depthOf(1) == "locked" {
			t.Errorf("%d nodes: got final block %d and depth %q, want at most 10 and not locked", nodeCount, final, r.ledger.depthOf(1))
		}
		r.chain.Finalize(r.chain.Head())
		r.recoverDespite("finality_broken")
	}
}

func TestABlockRangeIsCutAfterBlocks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s blockRange
		for i := range rapid.Uint64Range(0, 20).Draw(t, "blocks") {
			s.blocks = append(s.blocks, onchain.Block{Number: i + 1})
			for j := range rapid.Uint64Range(0, 9).Draw(t, "events") {
				s.events = append(s.events, onchain.Event{Block: i + 1, LogIndex: j})
			}
		}
		whole, limit := s, rapid.IntRange(1, 30).Draw(t, "limit")
		var blocks []onchain.Block
		var events []onchain.Event
		for first := true; first || len(s.blocks) > 0; first = false {
			after := s.after
			piece := s.cut(limit)
			if len(piece.events) > limit && len(piece.blocks) > 1 {
				t.Fatalf("got a part with %d events of %d blocks, want at most the limit", len(piece.events), len(piece.blocks))
			}
			if piece.after != after || s.after != piece.tip() {
				t.Fatalf("got a part from %d to %d, then one from %d, want no gap", after.Number, piece.tip().Number, s.after.Number)
			}
			for _, event := range piece.events {
				if event.Block <= after.Number || event.Block > piece.tip().Number {
					t.Fatalf("got an event of block %d in blocks %d to %d, want it in its part", event.Block, after.Number+1, piece.tip().Number)
				}
			}
			blocks, events = append(blocks, piece.blocks...), append(events, piece.events...)
		}
		if !slices.Equal(blocks, whole.blocks) || !slices.Equal(events, whole.events) {
			t.Fatal("the parts differ from the whole range, want the same")
		}
	})
}

func TestALaggingNodeIsNoReorganization(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2, Finalized)
	r.chain.MineEmpty(10)
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	r.mustSettle()
	r.nodes[0].SetLie(chaintest.Lie{Lag: 3})
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(2)))
	r.mustSettle() // the other node answers
	r.canonical()
	if status := r.follower.Status(); status.Reorgs != 0 || status.Node != r.follower.nodes.InUse()[1].Name() {
		t.Errorf("got %d reorganizations and node %s, want none and the second node", status.Reorgs, status.Node)
	}
	r.nodes[1].SetLie(chaintest.Lie{Lag: 3})
	progress, err := r.follower.Converge(t.Context())
	if err != nil || progress.Blocks != 0 || progress.Reorg != 0 {
		t.Errorf("converge while all nodes lag: got %+v, %v, want no change", progress, err)
	}
	r.canonical()
}

func TestANodeThatIsStuckIsLeftForAnother(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2, Finalized)
	r.chain.MineEmpty(10)
	r.mustSettle()
	stuck := r.chain.Fork()
	r.nodes[0].Serve(stuck)
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	r.clock.Advance(suspectAfter + 1)
	r.mustSettle()
	r.canonical()
}

// Another process moves the position, or the database fails, during a step.
func TestALedgerThatRefusesLosesNothing(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.chain.MineEmpty(5)
	r.mustSettle()
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	r.ledger.failure = store.ErrUnavailable
	if err := r.settle(); !errors.Is(err, store.ErrUnavailable) || !slices.Contains(r.alarms(), AlarmLedger) {
		t.Errorf("database failure: got %v and alarms %v, want unavailable and ledger", err, r.alarms())
	}
	r.ledger.failure = onchain.ErrConflict
	if err := r.settle(); !errors.Is(err, onchain.ErrConflict) {
		t.Errorf("concurrent move: got %v, want ErrConflict", err)
	}
	r.ledger.failure = nil
	r.chain.Finalize(r.chain.Head())
	r.recover()
}

// Two followers on one ledger, as after a lost lease: conflicts do no harm.
func TestTwoFollowersOfOneLedger(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(p *rapid.T) {
		r := newTestChain(t, 1, Finalized)
		other := New(r.follower.config)
		for i := range 10 {
			var logs []*types.Log
			if rapid.Bool().Draw(p, "log") {
				logs = append(logs, chaintest.PaymentLog(chaintest.Terms(1), i))
			}
			if depth := rapid.IntRange(0, 3).Draw(p, "depth"); depth > 0 && uint64(depth) < r.chain.Head() {
				r.chain.Reorganize(depth, logs...)
			} else {
				r.chain.Mine(logs...)
			}
			follower := r.follower
			if rapid.Bool().Draw(p, "other") {
				follower = other
			}
			if _, err := follower.Converge(t.Context()); err != nil {
				p.Fatal(err)
			}
		}
		for range 3 {
			for _, follower := range []*Follower{r.follower, other} {
				if _, err := follower.Converge(t.Context()); err != nil {
					p.Fatal(err)
				}
			}
		}
		r.canonical()
	})
}

func TestFollowingBeginsBeforeTheFirstDraft(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2, Finalized)
	for range 200 { // a block a minute
		r.clock.Advance(60e9)
		r.chain.Mine(chaintest.PaymentLog(chaintest.Terms(1), 1))
	}
	r.ledger.interest = r.clock.Now().Add(-30 * 60e9)
	r.chain.Finalize(r.chain.Head())
	r.mustSettle()
	r.canonical()
	if start := r.ledger.position.Start; start != 200-90 {
		t.Errorf("following began after block %d, want 110", start)
	}

	disagreeing := newTestChain(t, 2, Finalized)
	disagreeing.nodes[1].Serve(chaintest.NewChain(disagreeing.clock.Now))
	if err := disagreeing.settle(); !errors.Is(err, chain.ErrNodesDisagree) || disagreeing.ledger.started {
		t.Errorf("begin between two chains: got %v, want ErrNodesDisagree and no position", err)
	}

	outvoted := newTestChain(t, 3, Finalized)
	forged := outvoted.nodes[0]
	forged.Serve(chaintest.NewChain(outvoted.clock.Now))
	outvoted.mustSettle() // with another node
	outvoted.canonical()
	if !slices.Contains(outvoted.alarms(), AlarmDisagree) {
		t.Errorf("got alarms %v, want nodes_disagree", outvoted.alarms())
	}
}

func TestFactoriesMayBeAdded(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.ledger.factories = nil
	r.chain.MineEmpty(3)
	r.mustSettle()
	if asked := r.nodes[0].Count("eth_getLogs"); asked != 0 {
		t.Errorf("got %d requests for logs without a factory, want 0", asked)
	}
	second := chaintest.Terms(2)
	second.Factory[0] = 0xfa
	r.ledger.drafts[2] = second
	r.ledger.factories = append(r.ledger.factories, chaintest.Factory, second.Factory)
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)), chaintest.FundingLog(second))
	stranger := chaintest.Terms(3)
	stranger.Factory[0] = 0xfb
	r.chain.MineEmpty(2)
	r.mustSettle()
	r.canonical()
	r.chain.Mine(chaintest.FundingLog(stranger))
	r.mustSettle()
	if len(r.ledger.rows()) != 2 || r.ledger.depthOf(2) != "confirmed" {
		t.Errorf("got %d rows and second depth %q, want 2 and confirmed", len(r.ledger.rows()), r.ledger.depthOf(2))
	}
}
