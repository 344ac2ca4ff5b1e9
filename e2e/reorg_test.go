package e2e

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/sortie-labs/sortie"
)

// testFinality is the number of blocks after which funding is final in these tests.
const testFinality = 8

// withTestChain runs a test on its own chain and service, with a proxy that counts the calls of the
// node.
func withTestChain(t *testing.T, name string, test func(f *following, node *proxy)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		chain := startAnvil(t)
		node := startProxy(t, chain.RPCURL)
		test(follow(t, chain, chain.serviceEnvironment(sqliteIn(t), "8", node.url)), node)
	})
}

// A reorganization may happen at any stage of a mission. The draft follows the canonical chain
// back, and forward again when it is funded again.
func TestReorgAtEveryStage(t *testing.T) {
	t.Parallel()

	withTestChain(t, "quoted", func(f *following, _ *proxy) {
		draft := f.draft()
		f.chain.mine(3)
		f.awaitTip()
		f.chain.reorg(3)
		f.awaitTip()
		f.awaitView(draft, viewQuoted)
		f.chain.fund(draft.creator, draft.quote)
		f.chain.mine(2)
		f.awaitView(draft, viewInReview)
	})

	withTestChain(t, "seen", func(f *following, _ *proxy) {
		draft := f.funded()
		f.awaitView(draft, viewSeen)
		f.chain.reorg(1)
		f.awaitView(draft, viewQuoted)
		f.chain.reorg(2, f.chain.transaction(draft.creator, draft.quote.FactoryAddress, draft.quote.Calldata))
		f.awaitView(draft, viewInReview)
	})

	withTestChain(t, "in review", func(f *following, _ *proxy) {
		draft := f.funded()
		f.chain.mine(3)
		f.awaitView(draft, viewInReview)
		f.chain.reorg(4)
		f.awaitView(draft, viewQuoted)
		if _, err := f.operator.Approve(f.ctx, draft.draftID, ""); !isCode(err, sortie.CodeWrongState) {
			f.t.Errorf("approve after the funding was reorganized out: got %v, want wrong_state", err)
		}
		f.chain.fund(draft.creator, draft.quote)
		f.chain.mine(2)
		f.awaitView(draft, viewInReview)
	})

	withTestChain(t, "moved to another block", func(f *following, _ *proxy) {
		draft := f.funded()
		f.chain.mine(1)
		f.awaitView(draft, viewInReview)
		f.chain.reorg(4, f.chain.transaction(draft.creator, draft.quote.FactoryAddress, draft.quote.Calldata))
		f.awaitTip()
		f.awaitView(draft, viewInReview)
		doctor, err := f.creator.Doctor(f.ctx, draft.draftID)
		want := f.chain.followedLogs()[0]
		if err != nil || doctor.Funding.BlockNumber == nil || *doctor.Funding.BlockNumber != want.BlockNumber {
			f.t.Errorf("doctor's funding: got %+v, %v; want block %d", doctor.Funding, err, want.BlockNumber)
		}
	})

	withTestChain(t, "approved, not locked", func(f *following, _ *proxy) {
		draft := f.funded()
		f.chain.mine(1)
		f.awaitView(draft, viewInReview)
		f.approve(draft)
		f.awaitView(draft, viewApproved)
		f.chain.reorg(3)
		f.awaitView(draft, viewQuoted)
		f.chain.mine(testFinality + 1)
		f.awaitTip()
		f.awaitView(draft, viewQuoted) // approval alone publishes nothing
		f.chain.fund(draft.creator, draft.quote)
		f.chain.mine(2)
		f.awaitView(draft, viewApproved)
		f.chain.mine(testFinality)
		f.awaitView(draft, viewPublished)
	})

	withTestChain(t, "rejected, refund sent", func(f *following, node *proxy) {
		draft := f.funded()
		f.chain.mine(1)
		f.awaitView(draft, viewInReview)
		f.reject(draft)
		f.awaitPending()
		f.chain.mine(1)
		if closings := f.chain.closings(draft.missionID); closings != 1 {
			f.t.Fatalf("the mission was closed %d times", closings)
		}
		f.awaitTip()
		f.chain.reorg(1) // the refund is gone
		f.awaitTip()
		f.awaitView(draft, viewRejectedFunded)
		f.mineUntilView(draft, viewRefunded)
		if closings := f.chain.closings(draft.missionID); closings != 1 {
			f.t.Errorf("the mission was closed %d times", closings)
		}
	})

	withTestChain(t, "rejected, funding and refund gone", func(f *following, node *proxy) {
		draft := f.funded()
		f.chain.mine(1)
		f.awaitView(draft, viewInReview)
		f.reject(draft)
		f.awaitPending()
		f.chain.mine(1)
		if closings := f.chain.closings(draft.missionID); closings != 1 {
			f.t.Fatalf("the mission was closed %d times", closings)
		}
		f.awaitTip()
		f.chain.reorg(uint64(f.chain.head().Number) - f.chain.followedLogs()[0].BlockNumber + 1)
		f.awaitView(draft, viewRejectedUnfunded)
		f.chain.mine(2)
		f.awaitTip()
		f.awaitView(draft, viewRejectedUnfunded)
		f.chain.fund(draft.creator, draft.quote)
		f.mineUntilView(draft, viewRefunded)
		if closings := f.chain.closings(draft.missionID); closings != 1 {
			f.t.Errorf("the mission was closed %d times", closings)
		}
	})
}

// If a final block is reorganized, drafts follow the chain, and nothing is published or sent until
// an operator clears the incident.
func TestReorgBelowTheLockHalts(t *testing.T) {
	t.Parallel()

	withTestChain(t, "published", func(f *following, node *proxy) {
		locked := f.funded() // before the blocks that are reorganized
		f.chain.mine(1)
		published, refundable := f.funded(), f.draft()
		f.chain.mine(1)
		f.awaitView(published, viewInReview)
		f.approve(published)
		f.chain.mine(testFinality)
		f.awaitView(published, viewPublished)

		depth := uint64(f.chain.head().Number) - f.chain.followedLogs()[1].BlockNumber + 1
		f.chain.reorg(depth, f.chain.transaction(refundable.creator, refundable.quote.FactoryAddress, refundable.quote.Calldata))
		f.awaitView(published, viewQuoted)
		f.awaitView(refundable, viewInReview)
		f.checkHalted()
		if _, err := f.operator.Approve(f.ctx, locked.draftID, ""); !isCode(err, sortie.CodeServiceUnavailable) {
			f.t.Errorf("approval that would publish during a halt: got %v, want service_unavailable", err)
		}

		f.reject(refundable) // it sends nothing during the halt
		f.chain.fund(published.creator, published.quote)
		f.chain.mine(2 * testFinality)
		f.awaitTip()
		f.checkNothingSent(node, published, viewApproved)
		f.checkHalted()

		f.restart() // the halt survives it
		f.awaitTip()
		f.checkNothingSent(node, published, viewApproved)
		f.checkHalted()

		f.clear()
		f.awaitView(published, viewPublished)
		f.checkNotCompleted(published) // it did not complete
		f.checkTakesWork(published)
		f.mineUntilView(refundable, viewRefunded)
		f.service.await(f.t, "good health", func() bool { return f.health().Status == "ok" })
	})

	withTestChain(t, "refunded", func(f *following, node *proxy) {
		draft := f.funded()
		f.chain.mine(1)
		f.awaitView(draft, viewInReview)
		f.reject(draft)
		f.mineUntilView(draft, viewRefunded)
		f.chain.mine(testFinality)
		f.awaitTip()

		logs := f.chain.followedLogs()
		closed := logs[len(logs)-1].BlockNumber
		f.chain.reorg(uint64(f.chain.head().Number) - closed + 1) // the refund is gone, the funding is not
		f.awaitView(draft, viewRejectedFunded)
		f.checkHalted()
		f.chain.mine(testFinality)
		f.awaitTip()
		f.checkNothingSent(node, draft, viewRejectedFunded)

		f.clear()
		f.mineUntilView(draft, viewRefunded)
		if closings := f.chain.closings(draft.missionID); closings != 1 {
			f.t.Errorf("the mission was closed %d times", closings)
		}
	})
}

func (f *following) checkHalted() {
	f.t.Helper()
	f.service.await(f.t, "halt", func() bool {
		h := f.health()
		return h.code == http.StatusServiceUnavailable && h.Status == "halted" && h.Parts["chain"] == "halted"
	})
	if overview := f.overview(); !overview.Halted || len(overview.Incidents) == 0 {
		f.t.Errorf("overview during a halt: got %+v, want it halted with an incident", overview)
	}
	f.service.awaitReady(f.t) // reads continue
	f.draft()                 // so do writes that move no money
}

// checkNothingSent waits for 20 requests to the node and checks that nothing is sent and the draft
// has the wanted state.
func (f *following) checkNothingSent(node *proxy, d drafted, want view) {
	f.t.Helper()
	sent, mined := node.count("eth_sendRawTransaction"), f.chain.minedBy("sender")
	node.awaitRequests(20, f.service)
	if now := node.count("eth_sendRawTransaction"); now != sent || f.chain.minedBy("sender") != mined {
		f.t.Errorf("%d transactions were sent", now-sent)
	}
	if got := f.view(d); got != want {
		f.t.Errorf("view of %s: got %v, want %v", d.missionID, got, want)
	}
}

// awaitPending waits until a transaction waits to be mined.
func (f *following) awaitPending() {
	f.t.Helper()
	f.service.await(f.t, "transaction in the pool", func() bool {
		var pool struct{ Pending hexutil.Uint64 }
		f.chain.call(&pool, "txpool_status")
		return pool.Pending > 0
	})
}

// mineUntil mines blocks, one at a time as the service follows, until observed.
func (f *following) mineUntil(observed func() bool) {
	f.t.Helper()
	f.growUntil(func() { f.chain.mine(1) }, observed)
}

// isAhead reports whether the newest block's time is so far ahead of the clock that the service
// would soon refuse to follow: block times are at least a second apart, at any speed of mining.
func (a *anvil) isAhead() bool {
	a.t.Helper()
	newest, err := a.eth.HeaderByNumber(a.ctx, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	return time.Unix(int64(newest.Time), 0).After(time.Now().Add(5 * time.Minute))
}

func (f *following) growUntil(grow func(), observed func() bool) {
	f.t.Helper()
	f.service.await(f.t, "end of mining", func() bool {
		if observed() {
			return true
		}
		if f.chain.isAhead() {
			return false
		}
		grow()
		f.awaitTip()
		return false
	})
}

func (f *following) mineUntilView(d drafted, want view) {
	f.t.Helper()
	f.mineUntil(func() bool { return f.view(d) == want })
}

func isCode(err error, code sortie.Code) bool {
	var refused *sortie.Error
	return errors.As(err, &refused) && refused.Code == code
}
