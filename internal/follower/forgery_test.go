package follower

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/chaintest"
)

// One of two nodes lies about what money depends on.
func TestLiesOfOneOfTwo(t *testing.T) {
	t.Parallel()
	open := "0x" + hex.EncodeToString(make([]byte, 7*chaintest.WordBytes))
	for name, l := range map[string]chaintest.Lie{
		"the transaction failed":     aboutReceipts(func(receipt map[string]any) { receipt["status"] = "0x0" }),
		"another receipt":            aboutReceipts(func(receipt map[string]any) { receipt["transactionHash"] = chaintest.RandomHash() }),
		"a receipt of another block": aboutReceipts(func(receipt map[string]any) { receipt["blockHash"] = chaintest.RandomHash() }),
		"a receipt without the log":  aboutReceipts(func(receipt map[string]any) { receipt["logs"] = []any{} }),
		"no receipt":                 chaintest.About("eth_getTransactionReceipt", func([]any, map[string]any) any { return nil }),
		"no mission":                 chaintest.About("eth_call", func([]any, string) any { return open }),
		"another mission": chaintest.About("eth_call", func(_ []any, state string) any {
			return strings.Replace(state, "f4241", "f4242", 1) // the reward
		}),
		"another time to reclaim": chaintest.About("eth_call", func(_ []any, state string) any {
			return strings.Replace(state, "6b49d200", "6b49d201", 1)
		}),
		"another block at that height": chaintest.About("eth_getBlockByNumber", func(params []any, block map[string]any) any {
			if params[0] == chain.HexNumber(lieStart+1) {
				block["hash"] = chaintest.RandomHash()
			}
			return block
		}),
		"a mission that is not closed": chaintest.About("eth_call", func(_ []any, state string) any { return state[:len(state)-1] + "0" }),
		"no answer":                    {HTTP: func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestChain(t, 2, Finalized)
			r.chain.MineEmpty(lieStart)
			r.mustSettle()
			refund := name == "a mission that is not closed"
			r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
			if refund {
				r.chain.MineEmpty(2)
				r.chain.Finalize(r.chain.Head() - 1)
				r.mustSettle()
				r.later()
				r.mustSettle()
				if r.ledger.depthOf(1) != "locked" {
					t.Fatalf("depth before the lie: got %q, want locked", r.ledger.depthOf(1))
				}
				r.chain.Mine(chaintest.ClosingLog(chaintest.Terms(1)))
			}
			r.nodes[1].SetLie(l)
			r.chain.MineEmpty(2)
			r.chain.Finalize(r.chain.Head() - 1)
			for range 4 {
				if err := r.settle(); err != nil {
					t.Fatal(err)
				}
				r.later()
			}
			if depth := r.ledger.depthOf(1); depth != "confirmed" && !(refund && depth == "locked") {
				t.Errorf("depth under the lie: got %q, want confirmed", depth)
			}
			if !slices.Contains(r.alarms(), AlarmDisagree) && !slices.Contains(r.alarms(), AlarmQuorumMissing) {
				t.Errorf("got alarms %v, want nodes_disagree or quorum_missing", r.alarms())
			}
			r.canonical()
			r.nodes[1].SetLie(chaintest.Lie{})
			if refund {
				r.later()
				r.mustSettle()
				if r.ledger.depthOf(1) != "refunded" {
					t.Errorf("depth after the lie: got %q, want refunded", r.ledger.depthOf(1))
				}
				return
			}
			r.recover()
		})
	}
}

// A block that is final to one node only is not final.
func TestFinalityIsAskedAgainWhenItMatters(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2, Finalized)
	r.chain.MineEmpty(lieStart)
	r.mustSettle()
	r.nodes[1].SetLie(chaintest.About("eth_getTransactionReceipt", func([]any, map[string]any) any { return nil }))
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	r.chain.MineEmpty(3)
	r.chain.Finalize(r.chain.Head())
	for range 3 {
		r.mustSettle()
		r.later()
	}
	if r.ledger.depthOf(1) != "confirmed" || r.ledger.position.Final != r.chain.Head() {
		t.Fatalf("got depth %q and final block %d, want confirmed and the head", r.ledger.depthOf(1), r.ledger.position.Final)
	}
	r.nodes[1].SetLie(aboutBlocks("finalized", func(block map[string]any) { block["number"] = "0x5" }))
	for range 3 {
		r.mustSettle()
		r.later()
	}
	if r.ledger.depthOf(1) != "confirmed" {
		t.Errorf("depth: got %q, want confirmed", r.ledger.depthOf(1))
	}
	r.nodes[1].SetLie(chaintest.Lie{})
	r.recover()
}

// One of two nodes forges a consistent chain: blocks, logs, blooms, receipts, contract state and
// finality.
func TestAForgedChainPublishesNothing(t *testing.T) {
	t.Parallel()
	for liar := range 2 {
		r := newTestChain(t, 2, Finalized)
		r.chain.MineEmpty(lieStart)
		r.chain.Finalize(lieStart - 2)
		r.mustSettle()
		forged := r.chain.Fork()
		forged.Finalize(forged.Mine(chaintest.FundingLog(chaintest.Terms(1))).Number)
		forged.MineEmpty(5)
		r.nodes[liar].Serve(forged)
		r.chain.MineEmpty(3)
		r.chain.Finalize(r.chain.Head() - 1)
		for range 5 {
			_ = r.settle()
			r.later()
		}
		if depth := r.ledger.depthOf(1); depth == "locked" {
			t.Errorf("forged by node %d: the funding was locked, want it not", liar)
		}
		if r.ledger.position.Final > lieStart-2 {
			t.Errorf("forged by node %d: got final block %d, want none of the forged ones", liar, r.ledger.position.Final)
		}
		if !slices.Contains(r.alarms(), AlarmDisagree) {
			t.Errorf("forged by node %d: got alarms %v, want nodes_disagree", liar, r.alarms())
		}
		r.nodes[liar].Serve(r.chain)
		r.chain.MineEmpty(10)
		r.chain.Finalize(r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1))).Number)
		r.recover()
	}
}

// The honest node is unreachable while the other forges: one node is never enough.
func TestALiarGainsNothingByBeingAlone(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2, 3)
	r.chain.MineEmpty(lieStart)
	r.mustSettle()
	forged := r.chain.Fork()
	forged.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	forged.MineEmpty(20)
	r.nodes[0].Serve(forged)
	r.nodes[1].SetLie(chaintest.Lie{HTTP: func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }})
	for range 5 {
		_ = r.settle()
		r.later()
	}
	if r.ledger.depthOf(1) == "locked" || r.ledger.position.Final > lieStart {
		t.Errorf("got depth %q and final block %d, want neither locked nor a forged block", r.ledger.depthOf(1), r.ledger.position.Final)
	}
	if !slices.Contains(r.alarms(), AlarmQuorumMissing) {
		t.Errorf("got alarms %v, want quorum_missing", r.alarms())
	}
	r.nodes[0].Serve(r.chain)
	r.nodes[1].SetLie(chaintest.Lie{})
	r.chain.MineEmpty(30)
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	r.recover()
}
