package e2e

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

const (
	gwei         = 1_000_000_000
	refunds      = 12
	spikedBlocks = 50
)

// Every third transaction is lost, the base fee rises a hundredfold for fifty blocks, and the
// service is killed while it raises its fee, before and after its node has received that. Every
// refund still happens exactly once, and no nonce is skipped or wasted.
func TestRefundsSurviveDropsSpikesAndKills(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	node := startProxy(t, chain.RPCURL)
	f := follow(t, chain, chain.serviceEnvironment(sqliteIn(t), "8", node.url))
	post := &post{chain: chain, outbid: make(chan struct{}, 1), first: make(map[uint64]common.Hash)}
	node.behave(behaviour{before: post.carry})

	chain.mineAt(1 * gwei)
	missions := make([]drafted, refunds)
	for i := range missions {
		missions[i] = f.draft()
		chain.fund("creator", missions[i].quote)
	}
	chain.mineAt(1 * gwei)
	chain.mineAt(1 * gwei)
	for _, mission := range missions {
		f.awaitView(mission, viewInReview)
		f.reject(mission)
	}
	f.service.await(t, "transactions at the old price", func() bool { return post.nonces() >= 4 })

	killed := 0
	for block := range spikedBlocks {
		chain.mineAt(100 * gwei)
		f.awaitTip()
		if block < 10 && killed < 2 { // while the fee rises
			post.loseOutbids(killed == 0)
			post.awaitOutbid(f)
			f.restart()
			killed++
		}
	}
	for _, mission := range missions {
		f.growUntil(func() { chain.mineAt(1 * gwei) }, func() bool { return f.view(mission) == viewRefunded })
	}
	for _, mission := range missions {
		if closings := chain.closings(mission.missionID); closings != 1 {
			t.Errorf("%s was closed %d times", mission.missionID, closings)
		}
	}
	if mined := chain.minedBy("sender"); mined != refunds {
		t.Errorf("%d refunds took %d transactions", refunds, mined)
	}
	t.Logf("%d transactions handed in, %d lost, %d at a higher price, %d kills", post.carried, post.lost, post.raised, killed)
	if post.lost == 0 || post.raised == 0 || killed < 2 {
		t.Error("nothing was lost, raised or killed: the test proves nothing")
	}
}

// Refunds wait while gas costs more than the fee cap, and are sent when it is cheap again.
func TestRefundsWaitAboveTheFeeCap(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, append(chain.serviceEnvironment(sqliteIn(t), "8"), "SORTIE_MAX_FEE_PER_GAS=50"))
	chain.mineAt(1 * gwei)
	missions := []drafted{f.draft(), f.draft()}
	for _, mission := range missions {
		chain.fund("creator", mission.quote)
	}
	chain.mineAt(1 * gwei)
	chain.mineAt(100 * gwei)
	for _, mission := range missions {
		f.awaitView(mission, viewInReview)
		f.reject(mission)
	}
	for range spikedBlocks {
		chain.mineAt(100 * gwei)
		f.awaitTip()
	}
	f.service.await(t, "word of the cap", func() bool { return f.metric("sortie_sender_fee_at_cap", "") == 1 })
	if mined := chain.minedBy("sender"); mined != 0 {
		t.Errorf("%d transactions were paid for at any price", mined)
	}
	for _, mission := range missions {
		f.growUntil(func() { chain.mineAt(1 * gwei) }, func() bool { return f.view(mission) == viewRefunded })
		if closings := chain.closings(mission.missionID); closings != 1 {
			t.Errorf("%s was closed %d times", mission.missionID, closings)
		}
	}
	if mined := chain.minedBy("sender"); mined != uint64(len(missions)) {
		t.Errorf("%d refunds took %d transactions", len(missions), mined)
	}
}

// mineAt adds a block with the given base fee.
func (a *anvil) mineAt(baseFee uint64) {
	a.t.Helper()
	a.call(nil, "anvil_setNextBlockBaseFeePerGas", hexutil.EncodeUint64(baseFee))
	a.mine(1)
}

// post passes transactions to a node and drops every third.
type post struct {
	chain  *anvil
	outbid chan struct{} // a transaction arrived that pays more than an earlier one with its nonce

	lock                  sync.Mutex
	first                 map[uint64]common.Hash // by nonce
	loses                 bool                   // outbidding transactions too, all of them
	carried, lost, raised int
}

func (p *post) carry(_ context.Context, call rpcCall) *rpcAnswer {
	if call.Method != "eth_sendRawTransaction" {
		return nil
	}
	var raw hexutil.Bytes
	var transaction types.Transaction
	if json.Unmarshal(call.Params[0], &raw) != nil || transaction.UnmarshalBinary(raw) != nil {
		return refused(-32602, "rlp: expected a transaction")
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.carried++
	known, isKnown := p.first[transaction.Nonce()]
	isRaised := isKnown && known != transaction.Hash()
	if !isKnown {
		p.first[transaction.Nonce()] = transaction.Hash()
	}
	if isRaised {
		p.raised++
		select {
		case p.outbid <- struct{}{}:
		default:
		}
	}
	if p.carried%3 == 0 || isRaised && p.loses {
		p.lost++
		return answered(transaction.Hash()) // the node accepted it and dropped it
	}
	return nil
}

func (p *post) nonces() int {
	p.lock.Lock()
	defer p.lock.Unlock()
	return len(p.first)
}

// loseOutbids sets whether transactions with a raised fee are dropped.
func (p *post) loseOutbids(lose bool) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.loses = lose
	select {
	case <-p.outbid: // that one is past
	default:
	}
}

// awaitOutbid waits until a transaction with a raised fee is sent.
func (p *post) awaitOutbid(f *following) {
	f.t.Helper()
	arrived := false
	f.service.await(f.t, "transaction that pays more", func() bool {
		select {
		case <-p.outbid:
			arrived = true
		default:
		}
		return arrived
	})
}
