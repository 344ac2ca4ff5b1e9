package follower

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie/internal/chaintest"
)

// Nodes limit ranges of blocks in different ways.
func TestRangesShrinkToWhatANodeTakes(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]chaintest.Lie{
		"an error": chaintest.About("eth_getLogs", func(params []any, logs []*types.Log) any {
			if wide(params) > 100 {
				return errors.New("query exceeds max block range 100")
			}
			return logs
		}),
		"a closed connection": {HTTP: func(_ http.ResponseWriter, r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), "fromBlock") && wideText(string(body)) > 100 {
				panic(http.ErrAbortHandler)
			}
			return false
		}},
	} {
		r := newTestChain(t, 1, Finalized)
		r.mustSettle()
		for i := range 3000 {
			if i%100 == 0 {
				r.chain.Mine(chaintest.PaymentLog(chaintest.Terms(1), i))
			} else {
				r.chain.Mine()
			}
		}
		r.chain.Finalize(r.chain.Head())
		r.nodes[0].SetLie(l)
		failures := 0
		for r.settle() != nil {
			if failures++; failures > 100 {
				t.Fatalf("%s: more than 100 failures, want fewer", name)
			}
		}
		r.canonical()
		if failures < 3 {
			t.Errorf("%s: got %d failures, want at least 3", name, failures)
		}
	}
}

// Nodes limit batches at different sizes.
func TestBatchesShrinkToWhatANodeTakes(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 3, 10, 50} {
		r := newTestChain(t, 2, Finalized)
		r.chain.MineEmpty(30)
		limited := envelope(func(replies []map[string]any) any {
			switch {
			case len(replies) > most:
				return map[string]any{"id": nil, "error": map[string]any{"code": -32600, "message": "too many calls"}}
			case len(replies) == 1:
				return replies[0]
			}
			return replies
		})
		for _, node := range r.nodes {
			node.SetLie(limited)
		}
		for range 60 {
			r.chain.Mine(chaintest.PaymentLog(chaintest.Terms(1), 1))
		}
		r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
		r.chain.MineEmpty(200)
		r.chain.Finalize(r.chain.Head() - 1)
		failures := 0
		for r.settle() != nil {
			if failures++; failures > 30 {
				t.Fatalf("with %d calls at a time: more than 30 failures, want fewer", most)
			}
		}
		r.recover()
	}
}

func wide(params []any) uint64 {
	filter := params[0].(map[string]any)
	if filter["fromBlock"] == nil {
		return 1
	}
	from, _ := hexutil.DecodeUint64(filter["fromBlock"].(string))
	to, _ := hexutil.DecodeUint64(filter["toBlock"].(string))
	return to - from + 1
}

func wideText(body string) uint64 {
	field := func(name string) uint64 {
		_, rest, _ := strings.Cut(body, `"`+name+`":"`)
		value, _, _ := strings.Cut(rest, `"`)
		number, _ := hexutil.DecodeUint64(value)
		return number
	}
	return field("toBlock") - field("fromBlock") + 1
}

// A list of logs that a node truncated silently is completed.
func TestListsThatWereCutOffAreCompleted(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1000, 1001, 2500} {
		r := newTestChain(t, 1, Finalized)
		r.mustSettle()
		for i := range 500 {
			logs := make([]*types.Log, 7)
			for j := range logs {
				logs[j] = chaintest.PaymentLog(chaintest.Terms(1), 7*i+j)
			}
			r.chain.Mine(logs...)
		}
		r.chain.Finalize(r.chain.Head())
		cuts := 0
		r.nodes[0].SetLie(chaintest.About("eth_getLogs", func(_ []any, logs []*types.Log) any {
			if len(logs) > limit {
				cuts++
				return logs[:limit]
			}
			return logs
		}))
		r.mustSettle()
		r.canonical()
		if cuts == 0 {
			t.Error("no list was truncated, want some")
		}
	}
}
