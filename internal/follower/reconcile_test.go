package follower

import (
	"errors"
	"math/big"
	"net/http"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/chaintest"
	"github.com/sortie-labs/sortie/internal/onchain"
)

func reconcile(t *testing.T, r *testChain) Report {
	t.Helper()
	report, err := r.follower.Reconcile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestReconcileFindsNothingToDo(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2, Finalized)
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(2)))
	r.chain.Mine(chaintest.ClosingLog(chaintest.Terms(2)))
	r.chain.MineEmpty(3)
	r.mustSettle()
	before := r.ledger.rows()
	report := reconcile(t, r)
	if report.Checked != testDrafts || report.Repaired != 0 || len(report.Alarms) > 0 || report.Block != r.chain.Head() {
		t.Errorf("reconcile: got %+v, want all drafts checked and none repaired", report)
	}
	if !slices.Equal(before, r.ledger.rows()) {
		t.Error("reconcile changed the rows, want them unchanged")
	}
}

// A node that hides logs makes the follower miss a funding.
func TestReconcileAdoptsWhatWasMissed(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.chain.MineEmpty(5)
	r.mustSettle()
	r.nodes[0].SetLie(chaintest.About("eth_getLogs", func([]any, []*types.Log) any { return []*types.Log{} }))
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(2)), chaintest.PaymentLog(chaintest.Terms(2), 1))
	r.chain.Mine(chaintest.ClosingLog(chaintest.Terms(2)))
	r.chain.MineEmpty(5000)
	r.chain.Finalize(r.chain.Head())
	r.mustSettle()
	if len(r.ledger.rows()) != 0 {
		t.Fatal("the ledger has rows, want none while the logs are hidden")
	}
	report := reconcile(t, r)
	if report.Repaired != 0 || len(report.Alarms) != 2 || !slices.Contains(r.ledger.incidentKinds(), IncidentLogMissing) {
		t.Errorf("reconcile while the logs are hidden: got %+v and incidents %v, want two alarms and log_missing", report, r.ledger.incidentKinds())
	}
	r.nodes[0].SetLie(chaintest.Lie{})
	report = reconcile(t, r)
	if report.Repaired != 2 || len(report.Alarms) > 0 {
		t.Errorf("reconcile: got %+v, want two repaired", report)
	}
	r.later()
	r.mustSettle()
	if r.ledger.depthOf(1) != "locked" || r.ledger.depthOf(2) != "refunded" {
		t.Errorf("depths: got %q and %q, want locked and refunded", r.ledger.depthOf(1), r.ledger.depthOf(2))
	}
	if again := reconcile(t, r); again.Repaired != 0 {
		t.Errorf("second reconcile: got %+v, want none repaired", again)
	}
}

func TestReconcileRetractsWhatEnoughNodesDoNotHave(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2, Finalized)
	r.chain.MineEmpty(5)
	r.mustSettle()
	ghost, err := chaintest.DecodeLog(chaintest.FundingLog(chaintest.Terms(1)))
	if err != nil {
		t.Fatal(err)
	}
	ghost.Block, ghost.BlockHash, ghost.Transaction = 3, onchain.Block{}.Hash, onchain.Block{Hash: [32]byte{9}}.Hash
	r.ledger.add(ghost)

	r.nodes[1].SetLie(chaintest.Lie{HTTP: func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }})
	report := reconcile(t, r)
	if report.Repaired != 0 || len(report.Alarms) != 1 || r.ledger.depthOf(1) == "" {
		t.Errorf("reconcile with one of two nodes: got %+v, want one alarm and none repaired", report)
	}
	if !slices.Contains(r.alarms(), AlarmQuorumMissing) {
		t.Errorf("got alarms %v, want quorum_missing", r.alarms())
	}
	r.nodes[1].SetLie(chaintest.Lie{})
	report = reconcile(t, r)
	if report.Repaired != 1 || len(report.Alarms) > 0 || r.ledger.depthOf(1) != "" {
		t.Errorf("reconcile: got %+v and depth %q, want one repaired and no funding", report, r.ledger.depthOf(1))
	}
	r.canonical()
}

func TestReconcileReopensWhatIsNotClosed(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2, Finalized)
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	r.chain.MineEmpty(3)
	r.mustSettle()
	ghost, err := chaintest.DecodeLog(chaintest.ClosingLog(chaintest.Terms(1)))
	if err != nil {
		t.Fatal(err)
	}
	ghost.Block, ghost.LogIndex, ghost.Transaction = 2, 8, onchain.Block{Hash: [32]byte{9}}.Hash
	r.ledger.add(ghost)
	r.nodes[1].SetLie(chaintest.About("eth_call", func(_ []any, state string) any { return state[:len(state)-1] + "1" }))
	if report := reconcile(t, r); report.Repaired != 0 || len(report.Alarms) != 1 {
		t.Errorf("reconcile while one of two nodes has it closed: got %+v, want one alarm and none repaired", report)
	}
	r.nodes[1].SetLie(chaintest.Lie{})
	if report := reconcile(t, r); report.Repaired != 1 || len(report.Alarms) > 0 {
		t.Errorf("reconcile: got %+v, want one repaired", report)
	}
	r.canonical()
	if r.ledger.fundings["mission-1"].Closed != nil {
		t.Error("the mission is still closed, want it open")
	}
}

func TestReconcileReportsOtherTerms(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	other := chaintest.Terms(1)
	other.Reward = big.NewInt(1)
	r.chain.Mine(chaintest.FundingLog(other))
	r.chain.Mine()
	r.mustSettle()
	report := reconcile(t, r)
	if report.Repaired != 0 || len(report.Alarms) != 1 || !slices.Contains(r.ledger.incidentKinds(), IncidentTermsDiffer) {
		t.Errorf("reconcile: got %+v and incidents %v, want one alarm and terms_differ", report, r.ledger.incidentKinds())
	}
}

// A node on another fork does not have fundings that are on the chain.
func TestReconcileAsksAboutTheFollowedChain(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.chain.MineEmpty(3)
	fork := r.chain.Fork()
	fork.MineEmpty(10)
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	r.chain.MineEmpty(3)
	r.mustSettle()
	r.nodes[0].Serve(fork)
	report, err := r.follower.Reconcile(t.Context())
	if err == nil || report.Checked > 0 || r.ledger.depthOf(1) == "" {
		t.Errorf("reconcile on another fork: got %+v, %v, want an error and nothing changed", report, err)
	}
}

func TestReconcileNeedsANode(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	if _, err := r.follower.Reconcile(t.Context()); !errors.Is(err, onchain.ErrNotFound) {
		t.Errorf("reconcile before the first position: got %v, want ErrNotFound", err)
	}
	r.mustSettle()
	r.nodes[0].SetLie(chaintest.AnswersWith(500, ""))
	if _, err := r.follower.Reconcile(t.Context()); !errors.Is(err, chain.ErrUnreachable) {
		t.Errorf("reconcile without a node: got %v, want unreachable", err)
	}
}

// A log with a receipt that the contract state contradicts.
func TestAForgedLogOutlivesNoLie(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.chain.MineEmpty(100)
	r.mustSettle()
	r.chain.MineEmpty(200)
	r.chain.Finalize(r.chain.Head() - 1)
	target := r.chain.Blocks[150]
	log := chaintest.FundingLog(chaintest.Terms(1))
	log.BlockNumber, log.BlockHash, log.TxHash = target.Number, target.Hash, chaintest.RandomHash()
	bloom := types.CreateBloom(&types.Receipt{Logs: []*types.Log{log}})
	r.nodes[0].SetLie(chaintest.Lie{Result: func(method string, params []any, result any) any {
		switch {
		case method == "eth_getLogs" && wide(params) > 1:
			return []*types.Log{log}
		case method == "eth_getBlockByNumber" && params[0] == chain.HexNumber(target.Number):
			result.(map[string]any)["logsBloom"] = bloom
		case method == "eth_getTransactionReceipt":
			return chaintest.ReceiptJSON(target, log)
		}
		return result
	}})
	r.mustSettle()
	if r.ledger.depthOf(1) != "seen" {
		t.Errorf("depth: got %q, want seen", r.ledger.depthOf(1))
	}
	if !slices.Contains(r.alarms(), AlarmBadAnswer) {
		t.Errorf("got alarms %v, want bad_answer", r.alarms())
	}
	r.nodes[0].SetLie(chaintest.Lie{})
	r.later()
	r.mustSettle()
	r.canonical()
	r.later()
	r.mustSettle()
	if alarms := r.alarms(); len(alarms) > 0 {
		t.Errorf("got alarms %v, want none", alarms)
	}
}

// missedIn returns a chain whose ledger missed the fundings of some drafts, in a block that was set
// aside, and does not list them as open missions.
func missedIn(t *testing.T, drafts int, missed ...int) *testChain {
	t.Helper()
	r := newTestChain(t, 1, Finalized)
	r.promise(drafts)
	r.mustSettle()
	r.nodes[0].SetLie(chaintest.About("eth_getLogs", func([]any, []*types.Log) any { return []*types.Log{} }))
	var logs []*types.Log
	for _, n := range missed {
		logs = append(logs, chaintest.FundingLog(chaintest.Terms(n)))
	}
	block := r.chain.Mine(logs...)
	r.chain.MineEmpty(2)
	r.chain.Finalize(r.chain.Head())
	r.mustSettle()
	r.nodes[0].SetLie(chaintest.Lie{})
	r.ledger.listless = true
	if err := r.ledger.SetAside(t.Context(), chaintest.ChainID, onchain.Block{Number: block.Number}, "a test"); err != nil {
		t.Fatal(err)
	}
	return r
}

// After events were set aside all unfunded drafts are compared, in several runs if needed.
func TestReconcileComparesAllDraftsAfterASetAside(t *testing.T) {
	t.Parallel()
	const drafts = maxPassPages*passPage + 3
	r := missedIn(t, drafts, 1, drafts-1)
	first := reconcile(t, r)
	if first.Repaired != 1 || !first.More || first.Checked != maxPassPages*passPage {
		t.Errorf("the first run: got %+v, want one of %d repaired and more to do", first, maxPassPages*passPage)
	}
	second := reconcile(t, r)
	if second.Repaired != 1 || second.More || second.Checked != 3 {
		t.Errorf("the second run: got %+v, want one of 3 repaired and nothing more to do", second)
	}
	if third := reconcile(t, r); third.Checked != 0 || third.More {
		t.Errorf("the third run: got %+v, want nothing to do", third)
	}
	if slices.Contains(r.ledger.passes, false) {
		t.Errorf("the pages are %v, want all settled", r.ledger.passes)
	}
}

// The contract's state before the block that was set aside does not count.
func TestAFullPassWaitsForTheBlockThatWasSetAside(t *testing.T) {
	t.Parallel()
	r := missedIn(t, testDrafts, 1)
	if err := r.ledger.SetAside(t.Context(), chaintest.ChainID, onchain.Block{Number: r.chain.Head() + 1}, "a test"); err != nil {
		t.Fatal(err)
	}
	if report := reconcile(t, r); report.Checked != 0 || len(r.ledger.passes) != 0 || report.More {
		t.Errorf("before the block is followed: got %+v and pages %v, want none compared", report, r.ledger.passes)
	}
	r.chain.MineEmpty(1)
	r.mustSettle()
	if report := reconcile(t, r); report.Checked != testDrafts || report.Repaired != 1 {
		t.Errorf("when it is followed: got %+v, want one of %d repaired", report, testDrafts)
	}
}

// A page with an event that could not be adopted is not settled, for any reason.
func TestAFullPassIsNotSettledByWhatIsNotAdopted(t *testing.T) {
	t.Parallel()
	for name, hinder := range map[string]func(*testChain){
		"the chain moves meanwhile": func(r *testChain) { r.ledger.refusal = onchain.ErrConflict },
		"no node gives the log": func(r *testChain) {
			r.nodes[0].SetLie(chaintest.About("eth_getLogs", func([]any, []*types.Log) any { return []*types.Log{} }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := missedIn(t, testDrafts, 3)
			hinder(r)
			reconcile(t, r)
			if want := []bool{true, false, true}; !slices.Equal(r.ledger.passes, want) {
				t.Errorf("pages settled: got %v, want %v", r.ledger.passes, want)
			}
		})
	}
}
