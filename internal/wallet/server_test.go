package wallet_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/wallet"
)

// serverTime is the service's clock in these tests: a time of the worked vectors, with a fraction
// of a second.
var serverTime = time.UnixMilli(1_770_000_000_456)

const (
	publicURL = "https://api.example.com"
	listPath  = "/api/external/missions?status=published&limit=5"
)

// Two well-known keys, and that of a stranger.
var (
	creator  = mustKey("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
	owner    = mustKey("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d")
	stranger = mustKey("0000000000000000000000000000000000000000000000000000000000000005")
)

func mustKey(text string) *sortie.Key {
	key, err := sortie.ParseKey(text)
	if err != nil {
		panic(err)
	}
	return key
}

// answer is the response of the test server: who signed, or the error.
type answer struct {
	status   int
	Identity *wallet.Identity
	Error    *sortie.Error
}

func (a answer) code() sortie.Code {
	if a.Error == nil {
		return ""
	}
	return a.Error.Code
}

// testServer is a real listener that verifies requests as the API does.
type testServer struct {
	address  string
	verifier *wallet.Verifier
}

func newTestServer(t testing.TB, config wallet.Config) testServer {
	t.Helper()
	if config.Now == nil {
		config.Now = func() time.Time { return serverTime }
	}
	verifier, err := wallet.New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		identity, err := verifier.Verify(r.Context(), r, body, nil)
		if err != nil {
			w.WriteHeader(sortie.ErrorCode(err).HTTPStatus())
			_ = json.NewEncoder(w).Encode(map[string]any{"error": err})
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"identity": identity})
	}))
	server.Config.MaxHeaderBytes = 16 << 10
	server.Start()
	t.Cleanup(server.Close)
	return testServer{server.Listener.Addr().String(), verifier}
}

// send writes bytes to a new connection, because a client library would correct what these tests
// send wrong.
func (s testServer) send(t testing.TB, raw string) answer {
	t.Helper()
	connection, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(connection, raw) }() // the server may answer, and close, before it has read all
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer response.Body.Close()
	got := answer{status: response.StatusCode}
	if body, err := io.ReadAll(response.Body); err == nil && strings.HasPrefix(string(body), "{") {
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("answer %s: %v", body, err)
		}
	}
	return got
}

// message is a request as bytes on the wire.
type message struct {
	method, target, host string
	headers              []string // whole lines
	body                 string
}

// String returns the request, without a Content-Length if it has no body.
func (m message) String() string {
	lines := append([]string{m.method + " " + m.target + " HTTP/1.1", "Host: " + m.host, "Connection: close"}, m.headers...)
	if m.body != "" {
		lines = append(lines, fmt.Sprintf("Content-Length: %d", len(m.body)))
	}
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + m.body
}

// with replaces the value of a header.
func (m message) with(name, value string) message {
	m = m.without(name)
	m.headers = append(m.headers, name+": "+value)
	return m
}

// and adds a header and keeps the existing ones.
func (m message) and(name, value string) message {
	m.headers = append(append([]string(nil), m.headers...), name+": "+value)
	return m
}

func (m message) without(name string) message {
	var kept []string
	for _, line := range m.headers {
		if !strings.HasPrefix(line, name+":") {
			kept = append(kept, line)
		}
	}
	m.headers = kept
	return m
}

func (m message) header(name string) string {
	for _, line := range m.headers {
		if value, found := strings.CutPrefix(line, name+": "); found {
			return value
		}
	}
	return ""
}

// request returns what a client that sends m to the base URL signs.
func (m message) request(base string) sortie.Request {
	return sortie.Request{
		Method: m.method, URL: base + m.target, IdempotencyKey: m.header(sortie.HeaderIdempotencyKey),
		BodySHA256: sortie.BodySHA256([]byte(m.body)),
		Wallet:     m.header(sortie.HeaderWallet), Timestamp: m.header(sortie.HeaderTimestamp),
	}
}

// signedBy signs the message as it is.
func (m message) signedBy(key *sortie.Key) message {
	return m.with(sortie.HeaderSignature, key.SignDigest(m.request(publicURL).Digest()).String())
}

// claiming returns an unsigned list request of a wallet.
func claiming(wallet sortie.Address) message {
	m := message{method: "GET", target: listPath, host: "api.example.com"}
	return m.with(sortie.HeaderWallet, wallet.String()).with(sortie.HeaderTimestamp, "1770000000")
}

// signedList returns a valid list request.
func signedList() message { return claiming(creator.Address()).signedBy(creator) }

// signedCreate returns a valid create request.
func signedCreate() message {
	m := claiming(creator.Address())
	m.method, m.target, m.body = "POST", "/api/external/missions/drafts", `{"title":"Photo of the main entrance"}`
	return m.with(sortie.HeaderIdempotencyKey, "entrance-1").signedBy(creator)
}

// plainServer has no node and one public URL: it accepts plain keys only.
func plainServer(t testing.TB) testServer {
	t.Helper()
	return newTestServer(t, wallet.Config{PublicURLs: []string{publicURL}, Call: saysNo})
}

// saysNo is a chain without contract wallets.
func saysNo(context.Context, []byte, uint64) ([]byte, error) { return make([]byte, 32), nil }

func saysYes(context.Context, []byte, uint64) ([]byte, error) {
	return append(make([]byte, 31), 1), nil
}

func wantAccepted(t testing.TB, got answer, wallet sortie.Address) {
	t.Helper()
	if got.status != http.StatusOK || got.Identity == nil || got.Identity.Wallet != wallet {
		t.Errorf("got %d %v %v, want 200 and %s", got.status, got.Identity, got.Error, wallet)
	}
}

func wantRefused(t testing.TB, got answer, code sortie.Code) {
	t.Helper()
	if got.status != code.HTTPStatus() || got.code() != code {
		t.Errorf("got %d %v %v, want %d %s", got.status, got.Identity, got.Error, code.HTTPStatus(), code)
	}
}
