package follower

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/chaintest"
)

// Lies that tests combine.

// aboutBlocks changes blocks that are read by a tag, or by number if the tag is empty.
func aboutBlocks(tag string, change func(block map[string]any)) chaintest.Lie {
	return chaintest.About("eth_getBlockByNumber", func(params []any, block map[string]any) any {
		if params[0] == tag || (tag == "" && strings.HasPrefix(params[0].(string), "0x")) {
			change(block)
		}
		return block
	})
}

// aboutLogs changes copies of the logs in each answer.
func aboutLogs(change func(log *types.Log)) chaintest.Lie {
	return chaintest.About("eth_getLogs", func(_ []any, logs []*types.Log) any {
		changed := []*types.Log{}
		for _, log := range logs {
			altered := *log
			altered.Topics, altered.Data = slices.Clone(log.Topics), slices.Clone(log.Data)
			change(&altered)
			changed = append(changed, &altered)
		}
		return changed
	})
}

func aboutReceipts(change func(receipt map[string]any)) chaintest.Lie {
	return chaintest.About("eth_getTransactionReceipt", func(_ []any, receipt map[string]any) any {
		change(receipt)
		return receipt
	})
}

func envelope(change func(replies []map[string]any) any) chaintest.Lie {
	return chaintest.Lie{Envelope: change}
}

// For every lie of a node nothing wrong reaches the ledger, there is an alarm, and following
// continues after the lie.
func TestLiesOfTheOnlyNode(t *testing.T) {
	t.Parallel()
	for _, c := range lies() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newTestChain(t, 1, Finalized)
			r.chain.MineEmpty(lieStart)
			r.chain.Finalize(lieStart - 2)
			r.mustSettle()

			r.nodes[0].SetLie(c.lie)
			r.chain.MineEmpty(1)
			funded := r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
			r.chain.MineEmpty(2)
			r.chain.Finalize(funded.Number)
			if head := r.chain.Head(); head != lieHead {
				t.Fatalf("got head %d, want that of the lie", head)
			}
			r.suffer(c.waits, c.mildly)
			if c.alarm != "" && !slices.Contains(r.alarms(), c.alarm) {
				t.Errorf("the alarms are %v, want %s", r.alarms(), c.alarm)
			}
			if c.alarm != "" && r.ledger.depthOf(1) == "locked" {
				t.Error("the funding was locked under the lie, want it not")
			}

			r.nodes[0].SetLie(chaintest.Lie{})
			r.recover()
		})
	}
}

// The same lies about final blocks, which are read by ranges.
func TestLiesAboutFinalBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range lies() {
		if c.waits > 0 || c.alarm == AlarmClock || strings.HasPrefix(c.name, "a head") || strings.HasPrefix(c.name, "another") ||
			c.name == "the head jumps" {
			continue // those are about the head, which does not matter for final blocks
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newTestChain(t, 1, Finalized)
			r.chain.MineEmpty(lieStart)
			r.chain.Finalize(lieStart - 2)
			r.mustSettle()
			r.nodes[0].SetLie(c.lie)
			r.chain.MineEmpty(100)
			r.chain.Mine(chaintest.PaymentLog(chaintest.Terms(2), 1))
			r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)), chaintest.PaymentLog(chaintest.Terms(2), 2))
			r.chain.MineEmpty(100)
			r.chain.Finalize(r.chain.Head() - 1)
			r.suffer(c.waits, c.mildly)
			if c.alarm != "" && !slices.Contains(r.alarms(), c.alarm) {
				t.Errorf("the alarms are %v, want %s", r.alarms(), c.alarm)
			}
			if c.alarm != "" && r.ledger.depthOf(1) == "locked" {
				t.Error("the funding was locked under the lie, want it not")
			}
			r.nodes[0].SetLie(chaintest.Lie{})
			r.recover()
		})
	}
}

// No receipt is read for a payout: the block's header must be enough.
func TestLiesAboutPayouts(t *testing.T) {
	t.Parallel()
	for _, c := range lies() {
		if !strings.Contains(c.name, "logs") && !strings.Contains(c.name, "topic") && !strings.Contains(c.name, "data") && !strings.Contains(c.name, "bloom") {
			continue
		}
		for _, blocks := range []int{2, 100} {
			r := newTestChain(t, 1, Finalized)
			r.chain.MineEmpty(lieStart)
			r.chain.Finalize(lieStart - 2)
			r.mustSettle()
			r.nodes[0].SetLie(c.lie)
			r.chain.MineEmpty(blocks)
			r.chain.Mine(chaintest.PaymentLog(chaintest.Terms(2), 1), chaintest.PaymentLog(chaintest.Terms(2), 2))
			r.chain.MineEmpty(blocks)
			r.chain.Finalize(r.chain.Head())
			r.suffer(0, false)
			if !slices.Contains(r.alarms(), c.alarm) || len(r.ledger.rows()) > 0 {
				t.Errorf("%s, %d blocks: got alarms %v and rows %v, want the alarm of the lie and no rows", c.name, blocks, r.alarms(), r.ledger.rows())
			}
		}
	}
}

// lieCase is a lie with the expected alarm.
type lieCase struct {
	name   string
	lie    chaintest.Lie
	alarm  string
	waits  time.Duration // before the alarm is expected
	mildly bool          // following continues correctly despite it
}

func lies() []lieCase {
	return []lieCase{
		{name: "hangs up", alarm: AlarmUnreachable, lie: chaintest.Lie{HTTP: func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }}},
		{name: "too many requests", alarm: AlarmUnreachable, lie: chaintest.AnswersWith(429, `slow down`)},
		{name: "too many requests, in JSON", alarm: AlarmNodeError, lie: chaintest.AnswersWith(429, `{"jsonrpc":"2.0","error":{"code":429,"message":"slow down"},"id":null}`)},
		{name: "a page with status 500", alarm: AlarmUnreachable, lie: chaintest.AnswersWith(500, `<html>oops</html>`)},
		{name: "a page with status 200", alarm: AlarmUnreachable, lie: chaintest.AnswersWith(200, `<html>welcome</html>`)},
		{name: "nothing", alarm: AlarmUnreachable, lie: chaintest.AnswersWith(200, ``)},
		{name: "half an answer", alarm: AlarmUnreachable, lie: chaintest.AnswersWith(200, `[{"jsonrpc":"2.0","id":1,"result":{"number":"0x1"`)},
		{name: "a gigabyte", alarm: AlarmUnreachable, lie: chaintest.Lie{HTTP: endless}},
		{name: "other ids", alarm: AlarmBadAnswer, lie: envelope(func(replies []map[string]any) any {
			for i := range replies {
				replies[i]["id"] = i + 100
			}
			return replies
		})},
		{name: "replies in another order", mildly: true, lie: envelope(func(replies []map[string]any) any {
			if len(replies) == 1 {
				return replies[0]
			}
			slices.Reverse(replies)
			return replies
		})},
		{name: "a reply is missing", alarm: AlarmBadAnswer, lie: envelope(func(replies []map[string]any) any { return replies[1:] })},
		{name: "a reply comes twice", alarm: AlarmBadAnswer, lie: envelope(func(replies []map[string]any) any { return append(replies, replies[0]) })},
		{name: "a reply comes twice, another not at all", alarm: AlarmBadAnswer, lie: envelope(func(replies []map[string]any) any {
			return append(slices.Clone(replies[:len(replies)-1]), replies[0])
		})},
		{name: "null for everything", alarm: AlarmBadAnswer, lie: chaintest.Lie{Result: func(string, []any, any) any { return nil }}},
		{name: "null for blocks", alarm: AlarmBadAnswer, lie: chaintest.About("eth_getBlockByNumber", func([]any, map[string]any) any { return nil })},
		{name: "null for logs", alarm: AlarmBadAnswer, lie: chaintest.About("eth_getLogs", func([]any, []*types.Log) any { return nil })},
		{name: "result and error", alarm: AlarmBadAnswer, lie: envelope(func(replies []map[string]any) any {
			for _, reply := range replies {
				reply["error"] = map[string]any{"code": 1, "message": "but"}
			}
			return replies
		})},
		{name: "a refusal for all", alarm: AlarmNodeError, lie: envelope(func([]map[string]any) any {
			return map[string]any{"id": nil, "error": map[string]any{"code": -32005, "message": "batches are\u0000 not\r\nallowed"}}
		})},
		{name: "another shape", alarm: AlarmBadAnswer, lie: envelope(func([]map[string]any) any { return []any{1, "a", nil, []int{}} })},
		{name: "the head goes back 1", alarm: AlarmBehind, waits: 2 * time.Minute, lie: chaintest.Lie{Lag: 5}},
		{name: "the head goes back 1,000", alarm: AlarmBehind, waits: 2 * time.Minute, lie: chaintest.Lie{Lag: 1000}},
		{name: "the head is frozen", alarm: AlarmStalled, waits: 10 * time.Minute, lie: chaintest.Lie{Lag: 4}},
		{name: "the head jumps", alarm: AlarmBadAnswer, lie: aboutBlocks("latest", func(block map[string]any) {
			number, _ := hexutil.DecodeUint64(block["number"].(string))
			block["number"], block["hash"], block["parentHash"] = hexutil.EncodeUint64(number+1_000_000), chaintest.RandomHash(), chaintest.RandomHash()
		})},
		{name: "head and final jump", alarm: AlarmBadAnswer, lie: chaintest.About("eth_getBlockByNumber", func(params []any, block map[string]any) any {
			if !strings.HasPrefix(params[0].(string), "0x") {
				number, _ := hexutil.DecodeUint64(block["number"].(string))
				block["number"], block["hash"], block["parentHash"] = hexutil.EncodeUint64(number+1_000_000), chaintest.RandomHash(), chaintest.RandomHash()
			}
			return block
		})},
		{name: "a day ahead", alarm: AlarmClock, lie: aboutBlocks("latest", func(block map[string]any) {
			seconds, _ := hexutil.DecodeUint64(block["timestamp"].(string))
			block["timestamp"] = hexutil.EncodeUint64(seconds + 86400)
		})},
		{name: "an age ahead", alarm: AlarmClock, lie: aboutBlocks("latest", func(block map[string]any) { block["timestamp"] = "0x7fffffffffffffff" })},
		{name: "parents that do not fit", alarm: AlarmBadAnswer, lie: aboutBlocks("", func(block map[string]any) { block["parentHash"] = chaintest.RandomHash() })},
		{name: "a head that does not fit", alarm: AlarmBadAnswer, lie: aboutBlocks("latest", func(block map[string]any) { block["parentHash"] = chaintest.RandomHash() })},
		{name: "final above the head", alarm: AlarmFinality, mildly: true, lie: aboutBlocks("finalized", func(block map[string]any) { block["number"] = "0xffffff" })},
		{name: "another final head", alarm: AlarmFinality, mildly: true, lie: chaintest.About("eth_getBlockByNumber", func(params []any, block map[string]any) any {
			if params[0] == "finalized" {
				block["number"] = hexutil.EncodeUint64(lieHead)
			}
			return block
		})},
		{name: "nothing is final", alarm: AlarmFinality, mildly: true, lie: aboutBlocks("finalized", func(block map[string]any) { block["number"] = "0x0" })},
		{name: "final goes back", alarm: AlarmFinality, mildly: true, lie: aboutBlocks("finalized", func(block map[string]any) { block["number"] = "0x1" })},
		{name: "no final tag", alarm: AlarmNoFinality, mildly: true, lie: chaintest.About("eth_getBlockByNumber", func(params []any, block map[string]any) any {
			if params[0] == "finalized" {
				return errors.New("unknown tag")
			}
			return block
		})},
		{name: "logs taken back", alarm: AlarmBadAnswer, lie: aboutLogs(func(log *types.Log) { log.Removed = true })},
		{name: "logs twice", alarm: AlarmBadAnswer, lie: chaintest.About("eth_getLogs", func(_ []any, logs []*types.Log) any { return append(slices.Clone(logs), logs...) })},
		{name: "logs of another contract", alarm: AlarmBadAnswer, lie: aboutLogs(func(log *types.Log) { log.Address[0]++ })},
		{name: "one topic more", alarm: AlarmBadAnswer, lie: aboutLogs(func(log *types.Log) { log.Topics = append(log.Topics, common.Hash{}) })},
		{name: "one topic less", alarm: AlarmBadAnswer, lie: aboutLogs(func(log *types.Log) { log.Topics = log.Topics[:len(log.Topics)-1] })},
		{name: "short data", alarm: AlarmBadAnswer, lie: aboutLogs(func(log *types.Log) { log.Data = log.Data[:len(log.Data)-1] })},
		{name: "another amount", alarm: AlarmBadAnswer, lie: aboutLogs(func(log *types.Log) { log.Data[2*chaintest.WordBytes-1] ^= 1 })},
		{name: "the transaction failed", alarm: AlarmBadAnswer, lie: aboutReceipts(func(receipt map[string]any) { receipt["status"] = "0x0" })},
		{name: "another receipt", alarm: AlarmBadAnswer, lie: aboutReceipts(func(receipt map[string]any) { receipt["transactionHash"] = chaintest.RandomHash() })},
		{name: "a receipt of another block", alarm: AlarmBadAnswer, lie: aboutReceipts(func(receipt map[string]any) { receipt["blockHash"] = chaintest.RandomHash() })},
		{name: "a receipt without the log", alarm: AlarmBadAnswer, lie: aboutReceipts(func(receipt map[string]any) { receipt["logs"] = []any{} })},
		{name: "no receipt", alarm: AlarmBadAnswer, lie: chaintest.About("eth_getTransactionReceipt", func([]any, map[string]any) any { return nil })},
		{name: "empty blooms", alarm: AlarmBadAnswer, lie: chaintest.About("eth_getBlockByNumber", func(_ []any, block map[string]any) any {
			block["logsBloom"] = types.Bloom{}
			return block
		})},
		{name: "logs of another block", alarm: AlarmBadAnswer, lie: aboutLogs(func(log *types.Log) { log.BlockHash[0]++ })},
		{name: "logs of a later block", alarm: AlarmBadAnswer, lie: aboutLogs(func(log *types.Log) { log.BlockNumber++ })},
		{name: "a contract without the mission", alarm: AlarmBadAnswer, mildly: true, lie: chaintest.About("eth_call", func([]any, string) any { return "0x" + hex.EncodeToString(make([]byte, 7*chaintest.WordBytes)) })},
		{name: "a contract of another shape", alarm: AlarmBadAnswer, mildly: true, lie: chaintest.About("eth_call", func([]any, string) any { return "0x01" })},
	}
}

const (
	lieStart = 20           // blocks before a lie
	lieHead  = lieStart + 4 // blocks at the lie
)

// suffer converges under a lie for a time, and checks the rows.
func (r *testChain) suffer(wait time.Duration, mildly bool) {
	r.t.Helper()
	for range 3 {
		err := r.settle()
		if mildly && err != nil {
			r.t.Errorf("converge under a harmless lie: got error %v, want none", err)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\r\n\x00") {
			r.t.Errorf("got error %q, want one line", err)
		}
		r.clock.Advance(max(wait/2, 3*time.Second))
	}
	want := r.chain.Events(r.t, r.ledger.position.Start)
	for _, row := range r.ledger.rows() {
		if !slices.Contains(want, row) {
			r.t.Errorf("got row %s in the ledger, want only events of the chain", row)
		}
	}
	if mildly {
		r.canonical()
	}
	if incidents := r.ledger.incidentKinds(); len(incidents) > 0 {
		r.t.Errorf("got incidents %v, want none", incidents)
	}
}

// recover converges after a lie, and checks that there is no alarm.
func (r *testChain) recover() {
	r.t.Helper()
	for range 4 {
		r.later()
		r.chain.Mine()
		r.mustSettle()
	}
	r.canonical()
	for range 5 { // no alarm is raised later
		r.clock.Advance(stallAfter / 4)
		r.chain.Mine()
		r.mustSettle()
	}
	if depth := r.ledger.depthOf(1); depth != "locked" {
		r.t.Errorf("depth after the lie: got %q, want locked", depth)
	}
	if status := r.follower.Status(); len(status.Alarms) > 0 || status.State() != StateOK {
		r.t.Errorf("after the lie: got state %s with alarms %v, want ok without alarms", status.State(), status.Alarms)
	}
	if incidents := r.ledger.incidentKinds(); len(incidents) > 0 {
		r.t.Errorf("incidents after the lie: got %v, want none", incidents)
	}
}

// endless sends a gigabyte as long as the client reads.
func endless(w http.ResponseWriter, r *http.Request) bool {
	_, _ = io.WriteString(w, `[{"jsonrpc":"2.0","id":1,"result":"0x`)
	zeros := []byte(strings.Repeat("0", 1<<20))
	for range 1024 {
		if _, err := w.Write(zeros); err != nil || r.Context().Err() != nil {
			break
		}
	}
	return true
}

func TestANodeThatAnswersTooLateIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.chain.MineEmpty(lieStart)
	r.chain.Finalize(lieStart - 2)
	r.mustSettle()
	r.follower.nodes.InUse()[0].SetTimeout(20 * time.Millisecond) // a shorter timeout than in production
	release := make(chan struct{})
	r.nodes[0].SetLie(chaintest.Lie{HTTP: func(http.ResponseWriter, *http.Request) bool { <-release; return false }})
	r.chain.Finalize(r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1))).Number)
	r.suffer(0, false)
	if !slices.Contains(r.alarms(), AlarmUnreachable) {
		t.Errorf("got alarms %v, want unreachable", r.alarms())
	}
	close(release)
	r.follower.nodes.InUse()[0].SetTimeout(15 * time.Second)
	r.nodes[0].SetLie(chaintest.Lie{})
	r.recover()
}

func TestANodeWithTheWrongCertificateIsNotUsed(t *testing.T) {
	t.Parallel()
	memory := chaintest.NewChain(time.Now)
	server := httptest.NewUnstartedServer(chaintest.NewHandler(memory))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	defer server.Close()
	ledger := newMemoryLedger(time.Now)
	follower := New(Config{Nodes: nodesOn(t, server.URL), Ledger: ledger, ChainID: chaintest.ChainID, Logger: slog.New(slog.DiscardHandler)})
	if _, err := follower.Converge(context.Background()); !errors.Is(err, chain.ErrUnreachable) || ledger.started {
		t.Errorf("converge with a wrong certificate: got %v, want unreachable and no position", err)
	}
}

func TestANodeThatTurnsIntoAnotherChainIsPutOutOfUse(t *testing.T) {
	t.Parallel()
	for _, nodeCount := range []int{1, 2} {
		r := newTestChain(t, nodeCount, Finalized)
		r.chain.MineEmpty(lieStart)
		r.chain.Finalize(lieStart - 2)
		r.mustSettle()
		all := r.follower.nodes.InUse()
		r.nodes[0].SetLie(chaintest.About("eth_chainId", func([]any, string) any { return "0x1" }))
		r.chain.Finalize(r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1))).Number)
		r.suffer(0, nodeCount == 2)
		if !slices.Contains(r.alarms(), AlarmWrongChain) || r.follower.nodes.Problem() == "" {
			t.Errorf("%d nodes: got alarms %v and problem %q, want wrong_chain and a problem", nodeCount, r.alarms(), r.follower.nodes.Problem())
		}
		if r.ledger.depthOf(1) == "locked" {
			t.Errorf("%d nodes: the funding was locked, want it not", nodeCount)
		}
		asked := r.nodes[0].Count("eth_getBlockByNumber")
		_ = r.settle()
		if r.nodes[0].Count("eth_getBlockByNumber") != asked {
			t.Errorf("%d nodes: the node is still asked, want it out of use", nodeCount)
		}
		r.nodes[0].SetLie(chaintest.Lie{})
		for _, node := range all { // as Nodes.Run does once it passes the checks again
			r.follower.nodes.Trust(node)
		}
		if nodeCount == 2 {
			r.clock.Advance(alarmLife + time.Second)
		}
		r.recover()
	}
}

func TestAnotherChainWithTheSameID(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.chain.MineEmpty(lieStart)
	r.chain.Finalize(lieStart - 2)
	r.mustSettle()
	other := chaintest.NewChain(r.clock.Now)
	other.MineEmpty(100)
	other.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	other.Finalize(100)
	right := r.chain
	r.nodes[0].Serve(other)
	r.suffer(0, false)
	if !slices.Contains(r.alarms(), AlarmReplaced) || len(r.ledger.rows()) > 0 {
		t.Errorf("got alarms %v and rows %v, want chain_replaced and no rows", r.alarms(), r.ledger.rows())
	}
	r.nodes[0].Serve(right)
	r.chain.Finalize(r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1))).Number)
	r.recover()
}
