package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/sortie-labs/sortie"
)

// lie is a fault of a node.
type lie struct {
	name  string
	begin func(l *liedTo) behaviour
	// fools: an unfunded mission reaches the review, and the operator approves it.
	fools bool
	// seen: the funding of such a mission is seen, but not confirmed.
	seen bool
	// quiet: an honest node on a slow or young chain would do the same, so there is no alarm at
	// once.
	quiet bool
	// spares: the node's answers about other missions are true, and they proceed.
	spares bool
	// refund: a refund is due too, and must wait.
	refund bool
	// slow: detecting it takes a timeout, so only long runs include it.
	slow bool
	// shallow: nothing becomes final during the lie, unless the service believes it.
	shallow bool
}

// worst is the furthest state that the lie may give an unfunded mission.
func (l lie) worst() view {
	switch {
	case l.fools:
		return viewApproved
	case l.seen:
		return viewSeen
	default:
		return viewQuoted
	}
}

// broken are lies at the level of JSON-RPC.
var broken = []lie{
	{name: "HTML", refund: true, begin: func(*liedTo) behaviour { return html(200) }},
	{name: "500 with HTML", begin: func(*liedTo) behaviour { return html(500) }},
	{name: "429", begin: func(*liedTo) behaviour { return tooManyRequests() }},
	{name: "truncated answers", refund: true, begin: func(*liedTo) behaviour { return truncated() }},
	{name: "empty answers", begin: func(*liedTo) behaviour { return empty() }},
	{name: "silence", slow: true, begin: func(*liedTo) behaviour { return silence() }},
	{name: "hung up", begin: func(*liedTo) behaviour { return hangsUp() }},
	{name: "a gigabyte", begin: func(*liedTo) behaviour { return endless() }},
	{name: "other ids", begin: func(*liedTo) behaviour { return otherIDs() }},
	{name: "wrong chain", refund: true, begin: func(*liedTo) behaviour {
		return behaviour{before: func(_ context.Context, call rpcCall) *rpcAnswer {
			if call.Method == "eth_chainId" {
				return answered("0x1")
			}
			return nil
		}}
	}},
	{name: "frozen head", quiet: true, begin: func(l *liedTo) behaviour { return cappedAt(l.chain, uint64(l.chain.head().Number)) }},
	{name: "head back", quiet: true, begin: func(l *liedTo) behaviour { return cappedAt(l.chain, uint64(l.chain.head().Number)-30) }},
}

// ofTwo are lies of a node that another node contradicts.
var ofTwo = append([]lie{
	{name: "forged funding, in every detail", fools: true, spares: true, begin: func(l *liedTo) behaviour {
		return behaviour{after: func(_ context.Context, call rpcCall, answer *rpcAnswer) {
			l.forgery.showLog(call, answer, appended)
			l.forgery.showBloom(call, answer)
			l.forgery.showReceipt(call, answer)
			l.forgery.showMission(call, answer)
		}}
	}},
	{name: "forged finalized", quiet: true, shallow: true, begin: func(l *liedTo) behaviour {
		return behaviour{before: func(_ context.Context, call rpcCall) *rpcAnswer {
			if call.Method == "eth_getBlockByNumber" && string(call.Params[0]) == `"finalized"` {
				return askChain(l.chain, "eth_getBlockByNumber", "latest", false)
			}
			return nil
		}}
	}},
	{name: "forged receipt", begin: func(l *liedTo) behaviour {
		return behaviour{after: func(_ context.Context, call rpcCall, answer *rpcAnswer) {
			if call.Method == "eth_getTransactionReceipt" {
				altered(answer, func(receipt object) { receipt.set("status", "0x0") })
			}
		}}
	}},
}, broken...)

// ofOne are lies of a single node that can be detected nevertheless.
var ofOne = append([]lie{
	{name: "log outside the bloom", begin: func(l *liedTo) behaviour {
		return l.forged(appended, false)
	}},
	{name: "log without a receipt", seen: true, begin: func(l *liedTo) behaviour {
		return l.forged(appended, true)
	}},
	{name: "log and receipt without a mission", seen: true, spares: true, begin: func(l *liedTo) behaviour {
		return l.forged(appended, true, l.forgery.showReceipt)
	}},
	{name: "log of another contract", begin: func(l *liedTo) behaviour {
		return l.forged(func(logs []object, log object) []object {
			return append(logs, log.set("address", l.chain.wallet("contributor1")))
		}, true, l.forgery.showReceipt, l.forgery.showMission)
	}},
	{name: "log with too few topics", begin: func(l *liedTo) behaviour {
		return l.forged(func(logs []object, log object) []object {
			var topics []string
			_ = json.Unmarshal(log["topics"], &topics)
			return append(logs, log.set("topics", topics[:3]))
		}, true, l.forgery.showReceipt, l.forgery.showMission)
	}},
	{name: "log with short data", begin: func(l *liedTo) behaviour {
		return l.forged(func(logs []object, log object) []object {
			var data hexutil.Bytes
			_ = json.Unmarshal(log["data"], &data)
			return append(logs, log.set("data", data[:len(data)-32]))
		}, true, l.forgery.showReceipt, l.forgery.showMission)
	}},
	{name: "removed log", begin: func(l *liedTo) behaviour {
		return l.forged(func(logs []object, log object) []object { return append(logs, log.set("removed", true)) },
			true, l.forgery.showReceipt, l.forgery.showMission)
	}},
	{name: "log twice", begin: func(l *liedTo) behaviour {
		return l.forged(func(logs []object, log object) []object { return append(logs, log, log) },
			true, l.forgery.showReceipt, l.forgery.showMission)
	}},
	{name: "links that do not hold", begin: func(*liedTo) behaviour {
		return onBlocks("", func(block object) { block.set("parentHash", "0x"+strings.Repeat("12", 32)) })
	}},
	{name: "finalized above the head", begin: func(l *liedTo) behaviour {
		return onBlocks("finalized", func(block object) { block.set("number", hexutil.Uint64(1<<40)) })
	}},
	{name: "no finalized block", quiet: true, begin: func(*liedTo) behaviour {
		return behaviour{before: func(_ context.Context, call rpcCall) *rpcAnswer {
			if call.Method == "eth_getBlockByNumber" && string(call.Params[0]) == `"finalized"` {
				return refused(-32602, "unknown block tag")
			}
			return nil
		}}
	}},
	{name: "forged receipt", begin: func(l *liedTo) behaviour {
		return behaviour{after: func(_ context.Context, call rpcCall, answer *rpcAnswer) {
			if call.Method == "eth_getTransactionReceipt" {
				altered(answer, func(receipt object) { receipt.set("status", "0x0") })
			}
		}}
	}},
}, broken...)

// forged shows the forged log and the rest of the forgery that the lie needs.
func (l *liedTo) forged(change func([]object, object) []object, inBloom bool, more ...func(rpcCall, *rpcAnswer)) behaviour {
	return behaviour{after: func(_ context.Context, call rpcCall, answer *rpcAnswer) {
		l.forgery.showLog(call, answer, change)
		if inBloom {
			l.forgery.showBloom(call, answer)
		}
		for _, show := range more {
			show(call, answer)
		}
	}}
}

// The first of two nodes lies. Nothing is published or sent because of it, the service keeps
// answering and raises an alarm, and everything proceeds when the lie ends.
func TestOneOfTwoNodesLies(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t, "--slots-in-an-epoch", "4")
	liar, honest := startProxy(t, chain.RPCURL), startProxy(t, chain.RPCURL)
	l := &liedTo{following: follow(t, chain, chain.serviceEnvironment(sqliteIn(t), "finalized", liar.url, honest.url)), liar: liar, others: []*proxy{honest}}
	for _, lie := range ofTwo {
		t.Run(lie.name, func(t *testing.T) { l.endure(t, lie) })
	}
	l.awaitHealth()
}

// The only node lies.
func TestTheOnlyNodeLies(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t, "--slots-in-an-epoch", "4")
	liar := startProxy(t, chain.RPCURL)
	l := &liedTo{following: follow(t, chain, chain.serviceEnvironment(sqliteIn(t), "finalized", liar.url)), liar: liar}
	for _, lie := range ofOne {
		t.Run(lie.name, func(t *testing.T) { l.endure(t, lie) })
	}
	l.awaitHealth()
}

// A node that omits a funding from its logs hides it until the next reconcile finds it.
func TestHiddenFundingIsAdopted(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	node := startProxy(t, chain.RPCURL)
	f := follow(t, chain, chain.serviceEnvironment(sqliteIn(t), "8", node.url))
	draft := f.draft()
	node.behave(behaviour{after: func(_ context.Context, call rpcCall, answer *rpcAnswer) {
		if call.Method == "eth_getLogs" && answer.Result != nil {
			answer.Result = json.RawMessage("[]")
		}
	}})
	chain.fund("creator", draft.quote)
	chain.mine(3)
	f.awaitTip()
	if got := f.view(draft); got != viewQuoted {
		t.Fatalf("view of the draft: got %v, want the funding hidden", got)
	}
	node.behave(behaviour{})
	if err := f.operator.Reconcile(f.ctx); err != nil {
		t.Fatal(err)
	}
	f.awaitView(draft, viewInReview)
}

// finalDepth is the number of blocks after which a block is final in these tests.
const finalDepth = 8

// liedTo is a service with a node that lies.
type liedTo struct {
	*following
	liar    *proxy
	others  []*proxy
	forgery *forgery
}

// endure starts a lie when a mission is about to be published, and checks the service.
func (l *liedTo) endure(t *testing.T, lie lie) {
	if lie.slow && os.Getenv(soakVariable) == "" {
		t.Skipf("takes a minute: set %s", soakVariable)
	}
	defer l.in(t)()
	publishable, refundable, victim := l.funded(), l.funded(), l.draft()
	l.chain.mine(1)
	l.awaitView(publishable, viewInReview)
	l.awaitView(refundable, viewInReview)
	l.approve(publishable)
	l.awaitTip()
	sent, alarms := l.sent(), l.metric("sortie_chain_alarms_total", "")

	l.forgery = forge(l.chain, victim)
	l.liar.behave(lie.begin(l))
	if lie.refund {
		l.reject(refundable)
	}
	if lie.shallow {
		l.chain.mine(2)
	} else {
		l.chain.mine(2 * finalDepth)
	}
	l.liar.awaitRequests(3, l.service)
	if lie.fools {
		l.awaitView(victim, viewInReview)
		l.approve(victim)
	}
	if !lie.quiet {
		l.awaitAlarm(alarms)
	}
	l.draft()
	if got := l.view(publishable); got != viewApproved && !lie.spares {
		t.Errorf("view of %s while the node lies: got %v, want %v", publishable.missionID, got, viewApproved)
	}
	if got := l.view(victim); got != viewQuoted && got != lie.worst() {
		t.Errorf("view of %s, which is not funded, while the node lies: got %v, want at most %v", victim.missionID, got, lie.worst())
	}
	if seen := l.happened(victim, sortie.EventFundingDetected); seen && lie.worst() == viewQuoted {
		t.Errorf("the funding of %s was seen, but it is not funded", victim.missionID)
	}
	if now := l.sent(); now != sent {
		t.Errorf("%d transactions were sent on the word of the liar", now-sent)
	}
	l.checkMemory()

	l.liar.behave(behaviour{})
	if lie.shallow {
		l.chain.mine(2 * finalDepth)
	}
	l.awaitView(publishable, viewPublished)
	l.awaitView(victim, viewQuoted)
	if lie.refund {
		l.mineUntilView(refundable, viewRefunded)
	}
}

// awaitHealth waits until all alarms have ended by themselves.
func (l *liedTo) awaitHealth() {
	l.t.Helper()
	l.service.await(l.t, "good health", func() bool { return l.health().Status == "ok" && l.metric("sortie_chain_alarms", "") == 0 })
}

// happened reports whether the creator has an event of this type about a draft.
func (l *liedTo) happened(d drafted, kind sortie.EventType) bool {
	l.t.Helper()
	for event, err := range l.creator.AllEvents(l.ctx, sortie.PageQuery{}) {
		if err != nil {
			l.t.Fatal(err)
		}
		if event.DraftID == d.draftID && event.Type == kind {
			return true
		}
	}
	return false
}

// in reports to a subtest while fn runs.
func (l *liedTo) in(t *testing.T) (back func()) {
	outer := l.t
	l.t, l.chain.t = t, t
	return func() { l.t, l.chain.t = outer, outer }
}

// sent counts the transactions that were sent to any node.
func (l *liedTo) sent() int {
	sent := l.liar.count("eth_sendRawTransaction")
	for _, other := range l.others {
		sent += other.count("eth_sendRawTransaction")
	}
	return sent
}

// awaitAlarm waits until there are more alarms or incidents than before.
func (l *liedTo) awaitAlarm(before float64) {
	l.t.Helper()
	l.service.await(l.t, "alarm", func() bool {
		return l.health().Parts["chain"] != "ok" && l.metric("sortie_chain_alarms", "") > 0 && l.metric("sortie_chain_alarms_total", "") > before
	})
	for _, alarm := range l.overview().Follower.Alarms {
		l.t.Logf("alarm %s: %.200s", alarm.Kind, alarm.Detail)
	}
}

// checkMemory fails if the service has read an oversized answer.
func (l *liedTo) checkMemory() {
	l.t.Helper()
	// In kB. Answers are cut at 32 MiB; on a busy machine several of them may be in memory at once.
	// A gigabyte would exceed the limit.
	const limit = 800 << 10
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.service.command.Process.Pid))
	if err != nil {
		return // not on this system
	}
	for line := range strings.Lines(string(status)) {
		var peak int
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &peak); err == nil && peak > limit {
			l.t.Errorf("the service took %d MB", peak>>10)
		}
	}
}
