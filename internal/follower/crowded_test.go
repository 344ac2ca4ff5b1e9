package follower

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/chaintest"
)

// promise adds drafts to the ledger, up to a number.
func (r *testChain) promise(below int) {
	for n := len(r.ledger.drafts); n < below; n++ {
		r.ledger.drafts = append(r.ledger.drafts, chaintest.Terms(n))
	}
}

// fundTogether mines a block in which one transaction funds drafts.
func (r *testChain) fundTogether(from, below int) common.Hash {
	transaction := chaintest.RandomHash()
	var logs []*types.Log
	for n := from; n < below; n++ {
		log := chaintest.FundingLog(chaintest.Terms(n))
		log.TxHash = transaction
		logs = append(logs, log)
	}
	r.chain.Mine(logs...)
	return transaction
}

// lock mines until everything mined before is final and confirmed.
func (r *testChain) lock() {
	r.t.Helper()
	r.chain.MineEmpty(3)
	r.chain.Finalize(r.chain.Head() - 1)
	for range 3 {
		r.mustSettle()
		r.later()
	}
}

func (r *testChain) wantLocked(drafts ...int) {
	r.t.Helper()
	for _, n := range drafts {
		if depth := r.ledger.depthOf(n); depth != "locked" {
			r.t.Errorf("mission %d is %q, want locked", n, depth)
		}
	}
}

func (r *testChain) wantIncidents(want ...string) {
	r.t.Helper()
	if got := r.ledger.incidentKinds(); !slices.Equal(got, want) {
		r.t.Errorf("the incidents are %q, want %q", got, want)
	}
}

// A receipt is read once for each depth, for any number of fundings in it, and never if the
// transaction's gas does not bound its size.
func TestManyFundingsInOneTransactionCostOneReceipt(t *testing.T) {
	t.Parallel()
	for fundings, most := range map[int]int{10: 4, 200: 0} {
		r := newTestChain(t, 1, Finalized)
		r.promise(fundings)
		r.mustSettle()
		r.fundTogether(0, fundings)
		r.lock()
		for n := range fundings {
			r.wantLocked(n)
		}
		if got := r.nodes[0].Count("eth_getTransactionReceipt"); got > most {
			t.Errorf("%d fundings: got %d receipts asked for, want at most %d", fundings, got, most)
		}
		r.canonical()
	}
}

// Receipts that are too large, or that the node refuses, are replaced by logs and contract state.
func TestReceiptsThatCannotBeReadHoldNothingUp(t *testing.T) {
	t.Parallel()
	refusing := func(code int) chaintest.Lie {
		return chaintest.About("eth_getTransactionReceipt", func([]any, map[string]any) any { return chaintest.Refuse(code, "response too large") })
	}
	for name, c := range map[string]struct {
		foreign int
		lie     chaintest.Lie
	}{
		"40,000 foreign logs":                     {foreign: 40_000},
		"40,000 foreign logs, the gas is unknown": {foreign: 40_000, lie: chaintest.About("eth_getTransactionByHash", func([]any, map[string]any) any { return nil })},
		"the node refuses by size":                {lie: refusing(-32003)},
		"the node refuses for another reason":     {lie: refusing(-32005)},
		"the node hangs up on every such request": {lie: chaintest.Lie{HTTP: hangsUpOn("eth_getTransactionReceipt")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestChain(t, 2, Finalized)
			r.promise(20)
			r.mustSettle()
			for _, node := range r.nodes {
				node.SetLie(c.lie)
			}
			r.chain.AddForeignLogs(r.fundTogether(0, 3), c.foreign)
			r.chain.Mine(chaintest.FundingLog(chaintest.Terms(3)))
			r.lock()
			r.wantLocked(0, 1, 2, 3)
			r.canonical()
			r.wantIncidents()
			if alarms := r.alarms(); len(alarms) > 0 {
				t.Errorf("the alarms are %v, want none", alarms)
			}
		})
	}
}

func hangsUpOn(text string) func(http.ResponseWriter, *http.Request) bool {
	return func(_ http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), text) {
			panic(http.ErrAbortHandler)
		}
		return false
	}
}

// A node with a forged log and a hidden receipt is contradicted by its contract state.
func TestAForgedFundingWithoutAReceiptIsNotSeen(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.mustSettle()
	r.nodes[0].SetLie(chaintest.Lie{Result: func(method string, _ []any, result any) any {
		switch method {
		case "eth_getTransactionReceipt":
			return chaintest.Refuse(-32003, "response too large")
		case "eth_call":
			return "0x" + strings.Repeat("0", 2*7*chaintest.WordBytes)
		}
		return result
	}})
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	if err := r.settle(); !errors.Is(err, chain.ErrBadAnswer) {
		t.Errorf("got %v, want the answer refused", err)
	}
	if depth := r.ledger.depthOf(1); depth != "" {
		t.Errorf("it is %q, want it not to be seen", depth)
	}
}

// One unverified transaction does not stop the follower. It is found again when the node returns
// its receipt.
func TestAFundingThatStaysUnverifiedIsSetAside(t *testing.T) {
	t.Parallel()
	for _, blocks := range []int{1, 100} { // near the head, and below finality
		r := newTestChain(t, 1, Finalized)
		r.mustSettle()
		r.chain.MineEmpty(blocks)
		hidden := r.fundTogether(1, 2)
		r.nodes[0].SetLie(chaintest.About("eth_getTransactionReceipt", func(params []any, receipt map[string]any) any {
			if common.HexToHash(params[0].(string)) == hidden {
				return nil
			}
			return receipt
		}))
		r.chain.Mine(chaintest.FundingLog(chaintest.Terms(2)))
		r.chain.MineEmpty(blocks)
		r.chain.Finalize(r.chain.Head() - 1)
		r.strive(setAsideTries + 10)
		r.lock()
		r.wantLocked(2)
		if depth := r.ledger.depthOf(1); depth != "" {
			t.Errorf("the hidden one is %q, want it to be set aside", depth)
		}
		r.wantIncidents(IncidentSetAside)

		r.nodes[0].SetLie(chaintest.Lie{})
		if report := reconcile(t, r); report.Repaired != 1 {
			t.Errorf("reconciling repaired %d, want 1: %+v", report.Repaired, report)
		}
		r.lock()
		r.wantLocked(1, 2)
		r.canonical()
	}
}

// strive converges a number of times, with time in between, and ignores failures.
func (r *testChain) strive(times int) {
	for range times {
		_ = r.settle()
		r.clock.Advance(setAsideAfter / 4)
	}
}

// Logs that are too many for one answer are read kind by kind.
func TestLogsThatAreTooLargeTogetherAreReadByKind(t *testing.T) {
	t.Parallel()
	for _, blocks := range []int{0, 100} {
		r := newTestChain(t, 1, Finalized)
		r.mustSettle()
		r.chain.MineEmpty(blocks)
		r.chain.Mine(chaintest.PaymentLog(chaintest.Terms(2), 1), chaintest.FundingLog(chaintest.Terms(1)), chaintest.PaymentLog(chaintest.Terms(2), 2))
		r.chain.MineEmpty(blocks)
		r.chain.Finalize(r.chain.Head())
		r.nodes[0].SetLie(chaintest.About("eth_getLogs", func(_ []any, logs []*types.Log) any {
			if len(logs) > 2 {
				return chaintest.Refuse(-32005, "query returned more than 2 results")
			}
			return logs
		}))
		r.strive(20)
		r.lock()
		r.wantLocked(1)
		r.canonical()
		r.wantIncidents()
	}
}

// Logs that a node refuses kind by kind are set aside; those of other kinds and blocks are not.
func TestLogsThatCannotBeReadAreSetAside(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.mustSettle()
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)), chaintest.PaymentLog(chaintest.Terms(2), 1), chaintest.PaymentLog(chaintest.Terms(2), 2))
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(2)))
	r.nodes[0].SetLie(chaintest.About("eth_getLogs", func(_ []any, logs []*types.Log) any {
		if len(logs) > 1 {
			return chaintest.Refuse(-32003, "response too large")
		}
		return logs
	}))
	r.strive(setAsideTries + 5)
	r.lock()
	r.wantLocked(1, 2)
	r.wantIncidents(IncidentSetAside)
}

// A node without any logs does not cause events to be set aside: the follower is stuck.
func TestANodeWithoutLogsMakesTheFollowerStuck(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.chain.MineEmpty(2)
	r.mustSettle()
	r.nodes[0].SetLie(chaintest.About("eth_getLogs", func([]any, []*types.Log) any { return chaintest.Refuse(-32601, "the method does not exist") }))
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	r.strive(20)
	r.wantIncidents(IncidentStuck)
	if rows := r.ledger.rows(); len(rows) > 0 || r.ledger.position.Tip.Number == r.chain.Head() {
		t.Errorf("the tip is %d of %d with %d rows, want it to wait", r.ledger.position.Tip.Number, r.chain.Head(), len(rows))
	}
	r.nodes[0].SetLie(chaintest.Lie{})
	r.lock()
	r.wantLocked(1)
	r.wantIncidents()
}

// A node that is unreachable or lags does not make the follower stuck.
func TestANodeThatIsAwayDoesNotMakeTheFollowerStuck(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]chaintest.Lie{
		"hangs up": {HTTP: func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }},
		"refuses":  chaintest.AnswersWith(429, "slow down"),
		"lags":     {Lag: 5},
	} {
		r := newTestChain(t, 1, Finalized)
		r.chain.MineEmpty(10)
		r.mustSettle()
		r.nodes[0].SetLie(l)
		r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
		r.strive(40)
		if got := r.ledger.incidentKinds(); len(got) > 0 {
			t.Errorf("%s: the incidents are %q, want none", name, got)
		}
	}
}

// A chain that replaced the followed one makes the follower stuck, while it lasts.
func TestAReplacedChainMakesTheFollowerStuckUntilItIsBack(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.chain.MineEmpty(lieStart)
	r.mustSettle()
	other := chaintest.NewChain(r.clock.Now)
	other.MineEmpty(100)
	r.nodes[0].Serve(other)
	r.strive(20)
	r.wantIncidents(IncidentStuck)
	r.nodes[0].Serve(r.chain)
	r.mustSettle()
	r.wantIncidents()
}

// Items that one of two nodes contradicts do not stop the others. They open an incident.
func TestContradictedFundingsDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	const contradicted = 3 * confirmPage
	r := newTestChain(t, 2, Finalized)
	r.promise(contradicted + 1)
	r.mustSettle()
	var logs []*types.Log
	for n := range contradicted {
		logs = append(logs, chaintest.FundingLog(chaintest.Terms(n)))
	}
	hidden := r.chain.Mine(logs...)
	r.nodes[1].SetLie(chaintest.About("eth_getTransactionReceipt", func(_ []any, receipt map[string]any) any {
		if receipt["blockHash"] == hidden.Hash {
			return nil
		}
		return receipt
	}))
	r.lock()
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(contradicted)))
	r.lock()
	r.wantLocked(contradicted)
	if depth := r.ledger.depthOf(0); depth != "confirmed" {
		t.Errorf("a contradicted one is %q, want confirmed", depth)
	}
	for range unverifiedTries {
		r.clock.Advance(unverifiedAfter)
		r.mustSettle()
	}
	r.wantIncidents(IncidentUnverified)
	r.nodes[1].SetLie(chaintest.Lie{})
	r.later()
	r.mustSettle()
	r.wantLocked(0, contradicted-1)
}

// Nodes answer a batch up to a number of bytes, and refuse the rest of it, as go-ethereum does, or
// all of it.
func TestAnswersThatAreTooLargeTogetherAreSplit(t *testing.T) {
	t.Parallel()
	const limit = 20_000
	for name, l := range map[string]chaintest.Lie{
		"the rest is refused": envelope(func(replies []map[string]any) any {
			size := 0
			for _, reply := range replies {
				text, _ := json.Marshal(reply)
				if size += len(text); size > limit && len(replies) > 1 {
					delete(reply, "result")
					reply["error"] = map[string]any{"code": -32003, "message": "response too large"}
				}
			}
			return single(replies)
		}),
		"all is refused": envelope(func(replies []map[string]any) any {
			if text, _ := json.Marshal(replies); len(text) > limit && len(replies) > 1 {
				return map[string]any{"id": nil, "error": map[string]any{"code": -32003, "message": "response too large"}}
			}
			return single(replies)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestChain(t, 1, Finalized)
			r.mustSettle()
			r.nodes[0].SetLie(l)
			for i := range 100 {
				r.chain.Mine(chaintest.PaymentLog(chaintest.Terms(2), i), chaintest.PaymentLog(chaintest.Terms(3), i))
			}
			r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
			for range 3 { // no step fails
				r.mustSettle()
				r.later()
			}
			r.lock()
			r.wantLocked(1)
			r.canonical()
		})
	}
}

// single is the answer to a request without a batch.
func single(replies []map[string]any) any {
	if len(replies) == 1 {
		return replies[0]
	}
	return replies
}

// endStep returns a function that ends the current step, as its timeout would.
func (r *testChain) endStep() func() {
	var mutex sync.Mutex
	end := func() {}
	r.follower.within = func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		mutex.Lock()
		defer mutex.Unlock()
		end = cancel
		return ctx, cancel
	}
	return func() {
		mutex.Lock()
		defer mutex.Unlock()
		end()
	}
}

// hangsOn is a lie that does not answer a method before the step times out.
func hangsOn(method string, endStep func()) chaintest.Lie {
	return chaintest.Lie{HTTP: func(_ http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		if !bytes.Contains(body, []byte(method)) {
			return false
		}
		endStep()
		<-r.Context().Done()
		return true
	}}
}

// Nodes with new blocks that use up the time of each step without returning logs make the follower
// stuck.
func TestStepsThatUseUpTheirTimeMakeTheFollowerStuck(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2, Finalized)
	r.chain.MineEmpty(2)
	r.mustSettle()
	end := r.endStep()
	for _, node := range r.nodes {
		node.SetLie(hangsOn("eth_getLogs", end))
	}
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	r.strive(20)
	r.wantIncidents(IncidentStuck)
	for _, node := range r.nodes {
		node.SetLie(chaintest.Lie{})
	}
	r.lock()
	r.wantLocked(1)
	r.wantIncidents()
}

// A step that the caller ends does not count.
func TestAStepThatTheCallerEndsDoesNotMakeTheFollowerStuck(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.chain.MineEmpty(2)
	r.mustSettle()
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	for range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		r.nodes[0].SetLie(hangsOn("eth_getLogs", cancel))
		if _, err := r.follower.Converge(ctx); err == nil {
			t.Error("a step that was ended: got no error, want one")
		}
		cancel()
		r.clock.Advance(cannotFollowAfter)
	}
	r.wantIncidents()
}

// A block that one node cannot prove is passed although another node uses up the time of each step.
func TestAnObstacleIsPassedWhenStepsUseUpTheirTime(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2, Finalized)
	r.mustSettle()
	hidden := r.fundTogether(1, 2)
	first := slices.IndexFunc(r.nodes, func(n *chaintest.Node) bool { return n.URL == r.follower.current.Name() })
	if first < 0 {
		t.Fatal("the node that served last: got none, want one of the two")
	}
	r.nodes[first].SetLie(chaintest.About("eth_getTransactionReceipt", func(params []any, receipt map[string]any) any {
		if common.HexToHash(params[0].(string)) == hidden {
			return nil
		}
		return receipt
	}))
	r.nodes[1-first].SetLie(hangsOn("eth_", r.endStep()))
	for range setAsideTries {
		r.follower.moved = r.clock.Now() // so that the last used node is first
		_ = r.settle()
		r.clock.Advance(setAsideAfter / 4)
	}
	r.follower.moved = r.clock.Now()
	_ = r.settle()
	r.wantIncidents(IncidentSetAside)
}
