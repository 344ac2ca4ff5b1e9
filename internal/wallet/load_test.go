package wallet_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/wallet"
)

// contractRequest returns the n-th of many requests that only a contract wallet could have signed.
func contractRequest(n int) message {
	m := claiming(creator.Address())
	m.target = fmt.Sprintf("/api/external/missions?limit=%d", n+1)
	return m.signedBy(stranger)
}

// gate is a node that answers on command and counts its calls.
type gate struct {
	arrived chan struct{} // one value for every call that has begun
	open    chan struct{} // closed: all calls are answered
	calls   atomic.Int64
}

func newGate() *gate { return &gate{arrived: make(chan struct{}, 1000), open: make(chan struct{})} }

func (g *gate) call(ctx context.Context, data []byte, gas uint64) ([]byte, error) {
	g.calls.Add(1)
	g.arrived <- struct{}{}
	select {
	case <-g.open:
		return saysYes(ctx, data, gas)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Of 200 checks on a node that hangs, a bounded number wait and the others fail at once. Plain keys
// are not affected.
func TestSlowChecksAreBoundedAndPlainKeysPass(t *testing.T) {
	t.Parallel()
	const bound, all = 8, 200
	node := newGate()
	server := newTestServer(t, wallet.Config{PublicURLs: []string{publicURL}, Call: node.call, MaxCalls: bound})

	var waiting sync.WaitGroup
	for n := range bound {
		waiting.Go(func() { wantAccepted(t, server.send(t, contractRequest(n).String()), creator.Address()) })
	}
	for range bound {
		<-node.arrived
	}
	var others sync.WaitGroup
	for n := bound; n < all; n++ {
		others.Go(func() {
			wantRefused(t, server.send(t, contractRequest(n).String()), sortie.CodeSignatureVerificationUnavailable)
		})
	}
	for range 20 {
		others.Go(func() { wantAccepted(t, server.send(t, signedList().String()), creator.Address()) })
	}
	others.Wait() // all of them are answered while the node still hangs
	close(node.open)
	waiting.Wait()

	want := wallet.Stats{Plain: 20, Contract: bound, Unavailable: all - bound, Calls: bound}
	if stats := server.verifier.Stats(); stats != want {
		t.Errorf("counters %+v, want %+v", stats, want)
	}
	wantAccepted(t, server.send(t, contractRequest(all).String()), creator.Address()) // the places are free again
}

// Equal requests share one call; allow is called only for the request that causes it.
func TestEqualRequestsShareOneCall(t *testing.T) {
	t.Parallel()
	request := contractRequest(0)
	synctest.Test(t, func(t *testing.T) {
		node := newGate()
		verifier := newVerifier(t, wallet.Config{Call: node.call})
		var asked atomic.Int64
		allow := func(*http.Request) error { asked.Add(1); return nil }
		var group sync.WaitGroup
		for range 64 {
			group.Go(func() {
				identity, err := verifier.Verify(t.Context(), request.received(t), nil, allow)
				if err != nil || identity.Wallet != creator.Address() {
					t.Errorf("got %v, %v", identity, err)
				}
			})
		}
		synctest.Wait() // all 64 are waiting for the node
		close(node.open)
		group.Wait()
		if stats := verifier.Stats(); stats != (wallet.Stats{Contract: 64, Calls: 1, Remembered: 63}) || node.calls.Load() != 1 {
			t.Errorf("%d calls, counters %+v", node.calls.Load(), stats)
		}
		if asked.Load() == 0 {
			t.Error("allow was not called, want one call")
		}
	})
}

// The shared call continues when the client that caused it disconnects.
func TestAClientThatLeavesDoesNotEndTheSharedCall(t *testing.T) {
	t.Parallel()
	request := contractRequest(0)
	synctest.Test(t, func(t *testing.T) {
		node := newGate()
		verifier := newVerifier(t, wallet.Config{Call: node.call})
		first, firstLeaves := context.WithCancel(t.Context())
		second, secondLeaves := context.WithCancel(t.Context())
		defer secondLeaves()
		results := make(chan error, 3)
		verify := func(ctx context.Context) {
			_, err := verifier.Verify(ctx, request.received(t), nil, nil)
			results <- err
		}
		go verify(first)
		synctest.Wait() // the first has caused the call
		go verify(second)
		go verify(t.Context())
		synctest.Wait()
		firstLeaves()
		secondLeaves()
		if err := <-results; sortie.ErrorCode(err) != sortie.CodeSignatureVerificationUnavailable || !errors.Is(err, context.Canceled) {
			t.Errorf("the follower that left got %v", err)
		}
		close(node.open)
		for range 2 {
			if err := <-results; err != nil {
				t.Errorf("got %v", err)
			}
		}
	})
}

// After a panic in the caller, no check stays running and no client waits.
func TestAPanicEndsTheSharedCall(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	verifier := newVerifier(t, wallet.Config{MaxCalls: 1, Call: func(ctx context.Context, data []byte, gas uint64) ([]byte, error) {
		if broken.Load() {
			panic("broken node client")
		}
		return saysYes(ctx, data, gas)
	}})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = verifier.Verify(t.Context(), contractRequest(0).received(t), nil, nil)
	}()
	broken.Store(false)
	if _, err := verifier.Verify(t.Context(), contractRequest(0).received(t), nil, nil); err != nil {
		t.Error(err)
	}
}

// The error of allow is returned unchanged. A cached verdict needs no permission.
func TestAllow(t *testing.T) {
	t.Parallel()
	node := newGate()
	close(node.open)
	verifier := newVerifier(t, wallet.Config{Call: node.call})
	limited := sortie.NewError(sortie.CodeRateLimited, "too many contract wallet checks")
	never := func(*http.Request) error { return limited }

	if _, err := verifier.Verify(t.Context(), contractRequest(0).received(t), nil, never); err != error(limited) {
		t.Errorf("got %v", err)
	}
	if _, err := verifier.Verify(t.Context(), signedList().received(t), nil, never); err != nil {
		t.Errorf("a plain key was limited: %v", err)
	}
	request := contractRequest(0).received(t)
	var asked *http.Request
	if _, err := verifier.Verify(t.Context(), request, nil, func(r *http.Request) error { asked = r; return nil }); err != nil || asked != request {
		t.Errorf("got %v, asked about %v", err, asked)
	}
	if _, err := verifier.Verify(t.Context(), contractRequest(0).received(t), nil, never); err != nil {
		t.Errorf("a known verdict was limited: %v", err)
	}
	if stats := verifier.Stats(); stats != (wallet.Stats{Plain: 1, Contract: 2, Limited: 1, Calls: 1, Remembered: 1}) {
		t.Errorf("counters %+v", stats)
	}
}

// Both verdicts are cached until the signature's window ends.
func TestVerdictsAreRememberedWhileTheWindowLasts(t *testing.T) {
	t.Parallel()
	for name, node := range map[string]wallet.Caller{"yes": saysYes, "no": saysNo} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := serverTime
			var calls int
			verifier := newVerifier(t, wallet.Config{Now: func() time.Time { return now }, Call: func(ctx context.Context, data []byte, gas uint64) ([]byte, error) {
				calls++
				return node(ctx, data, gas)
			}})
			want := map[string]sortie.Code{"yes": "", "no": sortie.CodeInvalidSignature}[name]
			for _, later := range []time.Duration{0, time.Second, 299 * time.Second} {
				now = serverTime.Add(later)
				if _, err := verifier.Verify(t.Context(), contractRequest(0).received(t), nil, nil); sortie.ErrorCode(err) != want {
					t.Errorf("after %s: %v", later, err)
				}
			}
			if calls != 1 {
				t.Errorf("%d calls", calls)
			}
			now = serverTime.Add(301 * time.Second)
			if _, err := verifier.Verify(t.Context(), contractRequest(0).received(t), nil, nil); sortie.ErrorCode(err) != sortie.CodeTimestampOutOfRange {
				t.Errorf("after the window: %v", err)
			}
		})
	}
}

// A cached verdict is used for the same query only.
func TestAVerdictIsForOneWalletTextAndSignature(t *testing.T) {
	t.Parallel()
	var calls int
	verifier := newVerifier(t, wallet.Config{Call: func(ctx context.Context, data []byte, gas uint64) ([]byte, error) {
		calls++
		return saysYes(ctx, data, gas)
	}})
	one := contractRequest(0)
	other := []message{
		one,
		one.with(sortie.HeaderWallet, owner.Address().String()),
		one.with(sortie.HeaderSignature, otherV(one.header(sortie.HeaderSignature))),
		one.with(sortie.HeaderSignature, one.header(sortie.HeaderSignature)+"00"),
		contractRequest(1).with(sortie.HeaderSignature, one.header(sortie.HeaderSignature)),
	}
	for i, m := range other {
		if _, err := verifier.Verify(t.Context(), m.received(t), nil, nil); err != nil || calls != i+1 {
			t.Errorf("request %d: %v after %d calls", i, err, calls)
		}
	}
}

// The cache is bounded: many verdicts evict the oldest, which then costs another call.
func TestVerdictsAreBounded(t *testing.T) {
	t.Parallel()
	var calls int
	verifier := newVerifier(t, wallet.Config{MaxVerdicts: 4, Call: func(ctx context.Context, data []byte, gas uint64) ([]byte, error) {
		calls++
		return saysYes(ctx, data, gas)
	}})
	for _, n := range []int{0, 1, 2, 3, 4, 4, 3, 0} {
		if _, err := verifier.Verify(t.Context(), contractRequest(n).received(t), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 6 { // 0 to 4, and 0 again
		t.Errorf("%d calls", calls)
	}
}
