package wallet_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/porttest"
	"github.com/sortie-labs/sortie/internal/wallet"
)

// nodeCaller is an eth_call over HTTP, as the service makes it.
func nodeCaller(t testing.TB, url string) wallet.Caller {
	t.Helper()
	client, err := ethclient.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return func(ctx context.Context, data []byte, gas uint64) ([]byte, error) {
		return client.CallContract(ctx, ethereum.CallMsg{Data: data, Gas: gas}, nil)
	}
}

// Every failure of a node is "try again", never "wrong signature", and is not cached.
func TestANodeThatFailsIsNotHeldAgainstTheWallet(t *testing.T) {
	t.Parallel()
	result := func(hex string) string { return `{"jsonrpc":"2.0","id":1,"result":"` + hex + `"}` }
	failures := map[string]func(w http.ResponseWriter){
		"status 500 and HTML": func(w http.ResponseWriter) { http.Error(w, "<html>oops</html>", http.StatusInternalServerError) },
		"status 429":          func(w http.ResponseWriter) { http.Error(w, "slow down", http.StatusTooManyRequests) },
		"HTML":                func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>welcome</html>") },
		"nothing":             func(http.ResponseWriter) {},
		"half an answer":      func(w http.ResponseWriter) { _, _ = io.WriteString(w, result("0x00")[:20]) },
		"no result":           func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":null}`) },
		"an RPC error": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}`)
		},
		"a revert": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted","data":"0x"}}`)
		},
		"no bytes":         func(w http.ResponseWriter) { _, _ = io.WriteString(w, result("0x")) },
		"31 bytes":         func(w http.ResponseWriter) { _, _ = io.WriteString(w, result("0x"+strings.Repeat("00", 30)+"01")) },
		"33 bytes":         func(w http.ResponseWriter) { _, _ = io.WriteString(w, result("0x"+strings.Repeat("00", 32)+"01")) },
		"64 bytes":         func(w http.ResponseWriter) { _, _ = io.WriteString(w, result("0x"+strings.Repeat("00", 63)+"01")) },
		"the word 4":       func(w http.ResponseWriter) { _, _ = io.WriteString(w, result("0x"+strings.Repeat("00", 31)+"04")) },
		"a word of ones":   func(w http.ResponseWriter) { _, _ = io.WriteString(w, result("0x"+strings.Repeat("ff", 32))) },
		"the magic itself": func(w http.ResponseWriter) { _, _ = io.WriteString(w, result("0x1626ba7e"+strings.Repeat("00", 28))) },
		"a hang-up":        func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	}
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var healed atomic.Bool
			node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if healed.Load() {
					_, _ = io.WriteString(w, result("0x"+strings.Repeat("00", 31)+"01"))
					return
				}
				fail(w)
			}))
			t.Cleanup(node.Close)
			server := newTestServer(t, wallet.Config{PublicURLs: []string{publicURL}, Call: nodeCaller(t, node.URL)})
			m := claiming(creator.Address()).signedBy(stranger)
			wantRefused(t, server.send(t, m.String()), sortie.CodeSignatureVerificationUnavailable)
			wantAccepted(t, server.send(t, signedList().String()), creator.Address()) // a plain key does not notice
			if stats := server.verifier.Stats(); stats != (wallet.Stats{Plain: 1, Unavailable: 1, Calls: 1}) {
				t.Errorf("counters %+v", stats)
			}
			healed.Store(true)
			wantAccepted(t, server.send(t, m.String()), creator.Address())
		})
	}
}

func TestNoNode(t *testing.T) {
	t.Parallel()
	away := "http://" + porttest.Reserve(t) // no node listens there
	for name, call := range map[string]wallet.Caller{"refused": nodeCaller(t, away), "not configured": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newTestServer(t, wallet.Config{PublicURLs: []string{publicURL}, Call: call})
			wantRefused(t, server.send(t, claiming(creator.Address()).signedBy(stranger).String()), sortie.CodeSignatureVerificationUnavailable)
			wantAccepted(t, server.send(t, signedList().String()), creator.Address())
		})
	}
}

// The cause is logged and not sent to the client.
func TestTheCauseStaysInside(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial node-7.internal")
	verifier := newVerifier(t, wallet.Config{Call: func(context.Context, []byte, uint64) ([]byte, error) { return nil, cause }})
	_, err := verifier.Verify(t.Context(), claiming(creator.Address()).signedBy(stranger).received(t), nil, nil)
	var coded *sortie.Error
	if !errors.As(err, &coded) || !errors.Is(err, cause) || strings.Contains(coded.Message, "node-7") {
		t.Errorf("got %v", err)
	}
}

// A node has three seconds to answer.
func TestASlowNodeIsGivenThreeSeconds(t *testing.T) {
	t.Parallel()
	m := claiming(creator.Address()).signedBy(stranger)
	synctest.Test(t, func(t *testing.T) {
		verifier := newVerifier(t, wallet.Config{Call: func(ctx context.Context, _ []byte, _ uint64) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		start := time.Now()
		_, err := verifier.Verify(t.Context(), m.received(t), nil, nil)
		if took := time.Since(start); took != 3*time.Second || sortie.ErrorCode(err) != sortie.CodeSignatureVerificationUnavailable {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// newVerifier returns a verifier for tests without a listener.
func newVerifier(t testing.TB, config wallet.Config) *wallet.Verifier {
	t.Helper()
	config.PublicURLs = []string{publicURL}
	if config.Now == nil {
		config.Now = func() time.Time { return serverTime }
	}
	verifier, err := wallet.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return verifier
}

// received returns the message as a server passes it to a handler, without its body.
func (m message) received(t testing.TB) *http.Request {
	t.Helper()
	r := httptest.NewRequest(m.method, m.target, nil)
	r.Host = m.host
	for _, line := range m.headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	return r
}
