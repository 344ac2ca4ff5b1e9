package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/pgtest"
)

// handover is how long the second process may take to take over from the first: the lease and one
// read of the chain, with a margin for busy machines.
const handover = time.Minute

// Two processes share a database. One follows and one sends, and the other takes over within
// seconds when it is killed or suspended at any call. Nothing is lost and nothing happens twice.
func TestTwoProcessesTakeOver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*pair){
		"killed in the middle of a range":     func(p *pair) { p.testRange(p.kill) },
		"stopped in the middle of a range":    func(p *pair) { p.testRange(p.suspend) },
		"killed before its transaction left":  func(p *pair) { p.testSend(beforeTheNode, p.kill) },
		"killed after its transaction left":   func(p *pair) { p.testSend(afterTheNode, p.kill) },
		"stopped before its transaction left": func(p *pair) { p.testSend(beforeTheNode, p.suspend) },
		"stopped after its transaction left":  func(p *pair) { p.testSend(afterTheNode, p.suspend) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(startPair(t))
		})
	}
}

// pair is two processes on one database, each with its own proxy to one chain.
type pair struct {
	t        *testing.T
	chain    *anvil
	database string
	members  [2]*member
	resume   func() // continues a suspended process
}

type member struct {
	*following
	node *proxy
}

func startPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t: t, chain: startAnvil(t), database: pgtest.Database(t), resume: func() {}}
	for i := range p.members {
		node := startProxy(t, p.chain.RPCURL)
		p.members[i] = &member{follow(t, p.chain, p.chain.serviceEnvironment(p.database, "8", node.url)), node}
	}
	return p
}

// holdLeader holds the first call of either process. Calls of the other pass.
func (p *pair) holdLeader(method string, when moment, provoke func()) (leader, other *member, release func()) {
	p.t.Helper()
	first, releaseFirst := p.members[0].node.hold(method, when)
	second, releaseSecond := p.members[1].node.hold(method, when)
	provoke()
	select {
	case <-first:
		p.members[1].node.behave(behaviour{})
		return p.members[0], p.members[1], releaseFirst
	case <-second:
		p.members[0].node.behave(behaviour{})
		return p.members[1], p.members[0], releaseSecond
	case <-time.After(patience):
		p.t.Fatalf("neither process calls %s", method)
		return nil, nil, nil
	}
}

// kill kills a process during the held call.
func (p *pair) kill(m *member, release func()) {
	m.service.kill()
	release()
}

// suspend suspends a process during the held call. After resume it gets the answer of that call.
func (p *pair) suspend(m *member, release func()) {
	p.t.Helper()
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(-m.service.command.Process.Pid, s); err != nil {
			p.t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	p.resume = func() {
		signal(syscall.SIGCONT)
		release()
		m.service.awaitReady(p.t)
		m.node.behave(behaviour{})
	}
}

// testRange stops the follower when it has read events that it has not stored yet.
func (p *pair) testRange(takeAway func(*member, func())) {
	p.t.Helper()
	before, during := p.members[0].draft(), p.members[1].draft()
	p.chain.fund("creator", before.quote)
	p.chain.mine(2)
	p.members[1].awaitView(before, viewInReview)

	leader, other, release := p.holdLeader("eth_getLogs", afterTheNode, func() {
		p.chain.fund("creator", during.quote)
		p.chain.mine(1)
	})
	takeAway(leader, release)
	began := time.Now()
	p.chain.mine(1)
	other.awaitView(during, viewInReview)
	p.checkHandover(began)

	p.resume()
	after := other.draft()
	p.chain.fund("creator", after.quote)
	p.chain.mine(2)
	other.awaitView(after, viewInReview)
	p.finish(other)
}

// testSend stops the sender during the first of three refunds.
func (p *pair) testSend(when moment, takeAway func(*member, func())) {
	p.t.Helper()
	missions := make([]drafted, 3)
	for i := range missions {
		missions[i] = p.members[i%2].draft()
		p.chain.fund("creator", missions[i].quote)
	}
	p.chain.mine(2)
	for _, mission := range missions {
		p.members[0].awaitView(mission, viewInReview)
	}
	leader, other, release := p.holdLeader("eth_sendRawTransaction", when, func() {
		for _, mission := range missions {
			p.members[0].reject(mission)
		}
	})
	takeAway(leader, release)
	began := time.Now()
	other.mineUntil(func() bool { return p.chain.minedBy("sender") > 0 })
	p.checkHandover(began)
	other.mineUntil(func() bool { return p.chain.minedBy("sender") >= 2 })
	p.resume()
	for _, mission := range missions {
		other.mineUntilView(mission, viewRefunded)
	}
	for _, mission := range missions {
		if closings := p.chain.closings(mission.missionID); closings != 1 {
			p.t.Errorf("%s was closed %d times", mission.missionID, closings)
		}
	}
	if mined := p.chain.minedBy("sender"); mined != uint64(len(missions)) {
		p.t.Errorf("%d refunds took %d transactions", len(missions), mined)
	}
	p.finish(other)
}

func (p *pair) checkHandover(began time.Time) {
	p.t.Helper()
	took := time.Since(began)
	p.t.Logf("the other process took over within %s", took.Round(time.Millisecond))
	if took > handover {
		p.t.Errorf("want it within %s", handover)
	}
}

// finish compares rows and chain at the end.
func (p *pair) finish(survivor *member) {
	p.t.Helper()
	survivor.awaitTip()
	survivor.checkEvents()
	for _, m := range p.members {
		m.service.kill()
	}
	checkRows(p.t, p.chain, p.database)
}
