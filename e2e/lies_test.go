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

// lie is something that a node does wrong.
type lie struct {
	name  string
	begin func(l *liedTo) behaviour
	// fools: it gets a mission that nobody funded before the operator, who approves it.
	fools bool
	// seen: it gets such a mission as far as having been seen, and no further.
	seen bool
	// quiet: an honest node on a slow or young chain would do the same, and nobody is woken for
	// that at once.
	quiet bool
	// spares: what the node says about other missions is true, and they go on.
	spares bool
	// refund: a refund is due, too, and must wait.
	refund bool
	// slow: it takes a timeout to see through it, so that only long runs try it.
	slow bool
	// shallow: nothing becomes final during the lie, unless somebody believes it.
	shallow bool
}

// worst is where the lie may get a mission that nobody funded.
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

// broken are the lies that need no knowledge of the service, only of JSON-RPC.
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

// ofTwo are the lies of a node that another one contradicts.
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

// ofOne are the lies of a node that nobody contradicts, and that can be seen through all the same.
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

// forged shows the forged log, and as much around it as the lie needs.
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

// One of two nodes lies, and it is the one asked first. Nothing is published and nothing sent on
// its word, the service goes on serving and says what is wrong, and all goes on by itself when the
// lie ends.
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

// A node that leaves a funding out of its answers hides it for as long as nobody compares. Then the
// money is found.
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
		t.Fatalf("the draft stands at %v: nothing is hidden", got)
	}
	node.behave(behaviour{})
	if err := f.operator.Reconcile(f.ctx); err != nil {
		t.Fatal(err)
	}
	f.awaitView(draft, viewInReview)
}

// finalDepth is how far below the head the chain of these tests is final.
const finalDepth = 8

// liedTo is a service with a node that lies.
type liedTo struct {
	*following
	liar    *proxy
	others  []*proxy
	forgery *forgery
}

// endure begins a lie at a moment when a mission is about to be published, and looks at what the
// service makes of it.
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
		t.Errorf("while the node lies, %s stands at %v, want %v", publishable.missionID, got, viewApproved)
	}
	if got := l.view(victim); got != viewQuoted && got != lie.worst() {
		t.Errorf("while the node lies, %s, which nobody funded, stands at %v, at worst %v", victim.missionID, got, lie.worst())
	}
	if seen := l.happened(victim, sortie.EventFundingDetected); seen && lie.worst() == viewQuoted {
		t.Errorf("the funding of %s was seen, and nobody funded it", victim.missionID)
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

// happened reads in the creator's events whether something ever happened to a draft.
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

// in reports to a test of its own for a while.
func (l *liedTo) in(t *testing.T) (back func()) {
	outer := l.t
	l.t, l.chain.t = t, t
	return func() { l.t, l.chain.t = outer, outer }
}

// sent counts the transactions that were handed to any node.
func (l *liedTo) sent() int {
	sent := l.liar.count("eth_sendRawTransaction")
	for _, other := range l.others {
		sent += other.count("eth_sendRawTransaction")
	}
	return sent
}

// awaitAlarm waits until the operator can know of more than there was before.
func (l *liedTo) awaitAlarm(before float64) {
	l.t.Helper()
	l.service.await(l.t, "alarm", func() bool {
		return l.health().Parts["chain"] != "ok" && l.metric("sortie_chain_alarms", "") > 0 && l.metric("sortie_chain_alarms_total", "") > before
	})
	for _, alarm := range l.overview().Follower.Alarms {
		l.t.Logf("alarm %s: %.200s", alarm.Kind, alarm.Detail)
	}
}

// checkMemory fails when the service has taken in what no node can mean.
func (l *liedTo) checkMemory() {
	l.t.Helper()
	// In kB. Answers are cut at 32 MiB; several at a time, and a collector that gets no time on a
	// busy machine, leave some of them in memory at once. A gigabyte that was read would be more.
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
