package wallet_test

import (
	"encoding/hex"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/wallet"
)

// Every malformed or wrong wallet header is answered 401, over a real listener, with at most one
// call of a node.
func TestHeadersThatAreRefused(t *testing.T) {
	t.Parallel()
	const (
		missing = sortie.CodeMissingAuthHeaders
		invalid = sortie.CodeInvalidAuthHeaders
		wrong   = sortie.CodeInvalidSignature
		late    = sortie.CodeTimestampOutOfRange
	)
	right := signedList()
	address := creator.Address().String()
	signature := right.header(sortie.HeaderSignature)
	walletIs := func(text string) message { return right.with(sortie.HeaderWallet, text).signedBy(creator) }
	timestampIs := func(text string) message { return right.with(sortie.HeaderTimestamp, text).signedBy(creator) }
	signatureIs := func(text string) message { return right.with(sortie.HeaderSignature, text) }
	otherTarget := func(target string) string {
		other := right
		other.target = target
		return other.signedBy(creator).header(sortie.HeaderSignature)
	}
	withBody := right
	withBody.body = `{}`

	cases := []struct {
		name string
		message
		code sortie.Code
	}{
		{"no wallet", right.without(sortie.HeaderWallet), missing},
		{"no timestamp", right.without(sortie.HeaderTimestamp), missing},
		{"no signature", right.without(sortie.HeaderSignature), missing},
		{"none of the three", message{method: "GET", target: listPath, host: "api.example.com"}, missing},
		{"wallet twice", right.and(sortie.HeaderWallet, address), invalid},
		{"wallet twice, other case of the name", right.and("x-service-wallet", address), invalid},
		{"timestamp twice", right.and(sortie.HeaderTimestamp, "1770000000"), invalid},
		{"signature twice", right.and(sortie.HeaderSignature, signature), invalid},
		{"wallets joined by a comma", walletIs(address + ", " + address), invalid},
		{"wallet empty", walletIs(""), invalid},
		{"wallet without 0x", walletIs(address[2:]), invalid},
		{"wallet of 39 digits", walletIs(address[:41]), invalid},
		{"wallet of 41 digits", walletIs(address + "0"), invalid},
		{"wallet with 0X", walletIs("0X" + address[2:]), invalid},
		{"wallet with a wrong checksum", walletIs("0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266"), invalid},
		{"wallet zero", walletIs("0x" + strings.Repeat("0", 40)), invalid},
		{"wallet is precompile 1", walletIs("0x" + strings.Repeat("0", 39) + "1"), invalid},
		{"wallet is precompile 4", walletIs("0x" + strings.Repeat("0", 39) + "4"), invalid},
		{"wallet is precompile 0x0a", walletIs("0x" + strings.Repeat("0", 38) + "0a"), invalid},
		{"wallet is precompile 0x100", walletIs("0x" + strings.Repeat("0", 37) + "100"), invalid},
		{"wallet is a name", walletIs("vitalik.eth"), invalid},
		{"wallet with full-width digits", walletIs("0x" + strings.Repeat("０", 40)), invalid},
		{"wallet with a digit that is a letter", walletIs("0x" + strings.Repeat("g", 40)), invalid},

		{"timestamp empty", timestampIs(""), invalid},
		{"timestamp is text", timestampIs("yesterday"), invalid},
		{"timestamp with a fraction", timestampIs("1770000000.5"), invalid},
		{"timestamp with a fraction, 13 long", timestampIs("1770000000.50"), invalid},
		{"timestamp negative", timestampIs("-177000000"), invalid},
		{"timestamp with an exponent", timestampIs("1.77000e09"), invalid},
		{"timestamp 1e9", timestampIs("1e9"), invalid},
		{"timestamp with a plus", timestampIs("+177000000"), invalid},
		{"timestamp with leading zeros", timestampIs("0001770000000"), late},
		{"timestamp with an underscore", timestampIs("1_77000000"), invalid},
		{"timestamp in hex", timestampIs("0x69801580"), invalid},
		{"timestamp of 11 digits", timestampIs("17700000000"), invalid},
		{"timestamp in microseconds", timestampIs("1770000000000000"), invalid},
		{"timestamp 2^63", timestampIs("9223372036854775808"), invalid},
		{"timestamp 2^64", timestampIs("18446744073709551616"), invalid},
		{"timestamp with digits of another script", timestampIs("١٧٧٠٠"), invalid}, // 10 bytes
		{"timestamp with a space inside", timestampIs("17700 0000"), invalid},
		{"timestamp padded with a no-break space", timestampIs("\u00a01770000000"), invalid},
		{"timestamp 301 s late", timestampIs("1769999699"), late},
		{"timestamp 301 s early", timestampIs("1770000301"), late},
		{"timestamp zero", timestampIs("0000000000"), late},
		{"timestamp the largest of 13 digits", timestampIs("9999999999999"), late},

		{"signature empty", signatureIs(""), invalid},
		{"signature 0x, which only a contract can accept", signatureIs("0x"), wrong},
		{"signature without 0x", signatureIs(signature[2:]), invalid},
		{"signature of an odd number of digits", signatureIs(signature[:len(signature)-1]), invalid},
		{"signature with a letter", signatureIs(signature[:130] + "zz"), invalid},
		{"signature of more than 8 KiB", signatureIs("0x" + strings.Repeat("00", wallet.MaxSignatureBytes+1)), invalid},
		{"signature of 64 bytes", signatureIs(signature[:130]), wrong},
		{"signature of 66 bytes", signatureIs(signature + "00"), wrong},
		{"signature with high s", signatureIs(highS(t, signature)), wrong},
		{"signature with v 2", signatureIs(signature[:130] + "02"), wrong},
		{"signature with v 26", signatureIs(signature[:130] + "1a"), wrong},
		{"signature with v 29", signatureIs(signature[:130] + "1d"), wrong},
		{"signature with v 35", signatureIs(signature[:130] + "23"), wrong},
		{"signature with the other v", signatureIs(otherV(signature)), wrong},
		{"signature with r zero", signatureIs("0x" + strings.Repeat("0", 64) + signature[66:]), wrong},
		{"signature with s zero", signatureIs(signature[:66] + strings.Repeat("0", 64) + signature[130:]), wrong},
		{"signature of zeros", signatureIs("0x" + strings.Repeat("0", 130)), wrong},
		{"signature with r above the curve's order", signatureIs("0x" + strings.Repeat("f", 64) + signature[66:]), wrong},
		{"signature of a stranger", right.signedBy(stranger), wrong},
		{"signature over the hash without the prefix", signatureIs(prefixless(right)), wrong},
		{"signature over another path", signatureIs(otherTarget("/api/external/missions/drafts")), wrong},
		{"signature over another order of the query", signatureIs(otherTarget("/api/external/missions?limit=5&status=published")), wrong},
		{"signature over an escaped query", signatureIs(otherTarget("/api/external/missions?status=%70ublished&limit=5")), wrong},
		{"signature over no body", withBody, wrong},
		{"ERC-6492 wrapper around nothing", signatureIs("0x" + strings.Repeat("6492", 16)), wrong},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := plainServer(t)
			got := server.send(t, c.String())
			wantRefused(t, got, c.code)
			stats := server.verifier.Stats()
			if asked := c.code == wrong; stats.Refused != 1 || stats.Plain+stats.Contract != 0 || (stats.Calls == 1) != asked {
				t.Errorf("counters %+v", stats)
			}
		})
	}
}

func highS(t *testing.T, signature string) string {
	t.Helper()
	s, ok := new(big.Int).SetString(signature[66:130], 16)
	if !ok {
		t.Fatal("bad signature")
	}
	twin := make([]byte, 32)
	new(big.Int).Sub(crypto.S256().Params().N, s).FillBytes(twin)
	return otherV(signature[:66] + hex.EncodeToString(twin) + signature[130:])
}

func otherV(signature string) string {
	if strings.HasSuffix(signature, "1b") {
		return signature[:130] + "1c"
	}
	return signature[:130] + "1b"
}

func prefixless(m message) string {
	return creator.SignDigest(sortie.Hash(crypto.Keccak256([]byte(m.request(publicURL).Text())))).String()
}

func TestASignatureOfAMegabyteNeverArrives(t *testing.T) {
	t.Parallel()
	server := plainServer(t)
	got := server.send(t, signedList().with(sortie.HeaderSignature, "0x"+strings.Repeat("00", 1<<20)).String())
	if got.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %d, want 431", got.status)
	}
}

// Equivalent forms of the headers are accepted, and no others.
func TestFormsThatAreAccepted(t *testing.T) {
	t.Parallel()
	right := signedList()
	signature := right.header(sortie.HeaderSignature)
	v := map[string]string{"1b": "00", "1c": "01"}[signature[130:]]
	lower := strings.ToLower(creator.Address().String())
	cases := map[string]message{
		"as it is":                           right,
		"again: a read may repeat":           right,
		"v 0 or 1":                           right.with(sortie.HeaderSignature, signature[:130]+v),
		"signature in upper case":            right.with(sortie.HeaderSignature, "0x"+strings.ToUpper(signature[2:])),
		"wallet in lower case":               right.with(sortie.HeaderWallet, lower).signedBy(creator),
		"wallet in upper case":               right.with(sortie.HeaderWallet, "0x"+strings.ToUpper(lower[2:])).signedBy(creator),
		"milliseconds":                       right.with(sortie.HeaderTimestamp, "1770000000123").signedBy(creator),
		"header names in lower case":         lowerNames(right),
		"blanks around a value are not its":  right.with(sortie.HeaderTimestamp, "\t 1770000000 \t"),
		"a post with key and body":           signedCreate(),
		"a host in another case":             withHost(right, "API.Example.COM"),
		"an unknown host":                    withHost(right, "10.0.0.7:8080"),
		"forwarded headers are not read":     right.and("X-Forwarded-Host", "evil.example").and("X-Forwarded-Proto", "http").and("Forwarded", "host=evil.example"),
		"signed over the SHA-256 of nothing": signedOverEmptyHash(right, creator),
	}
	for name, m := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newTestServer(t, wallet.Config{PublicURLs: []string{publicURL}}) // no node: nothing but the key can be asked
			wantAccepted(t, server.send(t, m.String()), creator.Address())
			if stats := server.verifier.Stats(); stats != (wallet.Stats{Plain: 1}) {
				t.Errorf("counters %+v", stats)
			}
		})
	}
}

func lowerNames(m message) message {
	lines := make([]string, len(m.headers))
	for i, line := range m.headers {
		name, value, _ := strings.Cut(line, ":")
		lines[i] = strings.ToLower(name) + ":" + value
	}
	m.headers = lines
	return m
}

func withHost(m message, host string) message {
	m.host = host
	return m
}

func signedOverEmptyHash(m message, key *sortie.Key) message {
	request := m.request(publicURL)
	request.BodySHA256 = sortie.EmptyBodySHA256
	return m.with(sortie.HeaderSignature, key.SignDigest(request.Digest()).String())
}

// The spelling of the wallet is part of the signed text.
func TestTheWalletIsSignedAsItWasSent(t *testing.T) {
	t.Parallel()
	moved := signedList().with(sortie.HeaderWallet, strings.ToLower(creator.Address().String()))
	wantRefused(t, plainServer(t).send(t, moved.String()), sortie.CodeInvalidSignature)
}

// A signature over the hash of no bytes is valid for a request without a body, and for plain keys.
func TestTheHashOfNothingIsForRequestsWithoutABody(t *testing.T) {
	t.Parallel()
	withBody := signedOverEmptyHash(claiming(creator.Address()), creator)
	withBody.method, withBody.body = "GET", "{}"
	wantRefused(t, plainServer(t).send(t, withBody.String()), sortie.CodeInvalidSignature)
	wantRefused(t, plainServer(t).send(t, signedOverEmptyHash(claiming(creator.Address()), stranger).String()), sortie.CodeInvalidSignature)
}

func TestAKeyThatWouldBlurTheTextIsRefused(t *testing.T) {
	t.Parallel()
	server := plainServer(t)
	wantRefused(t, server.send(t, signedCreate().and(sortie.HeaderIdempotencyKey, "entrance-1").String()), sortie.CodeInvalidIdempotencyKey)
	wantRefused(t, server.send(t, signedCreate().with(sortie.HeaderIdempotencyKey, "a\tb").signedBy(creator).String()), sortie.CodeInvalidIdempotencyKey)
	// net/http refuses these before they reach the verifier.
	for _, raw := range []string{"a\x00b", "a\nb", "a\rb"} {
		if got := server.send(t, signedCreate().with(sortie.HeaderIdempotencyKey, raw).String()); got.status/100 != 4 {
			t.Errorf("key %q: got %d", raw, got.status)
		}
	}
}

func TestOnlyAPathIsATarget(t *testing.T) {
	t.Parallel()
	server := plainServer(t)
	for _, target := range []string{publicURL + listPath, "http://evil.example" + listPath, "*"} {
		m := signedList()
		m.target = target
		if target == "*" {
			m.method = "OPTIONS"
		}
		got := server.send(t, m.signedBy(creator).String())
		if got.status == http.StatusOK && got.Identity != nil || got.status/100 == 5 {
			t.Errorf("target %s: got %d %v", target, got.status, got.Error)
		}
		if strings.HasPrefix(target, "http") {
			wantRefused(t, got, sortie.CodeInvalidRequest)
		}
	}
}

// A line end inside a value could make one request equal to another. net/http refuses it; the
// verifier does not rely on that.
func TestTheTextHasSevenLinesAlways(t *testing.T) {
	t.Parallel()
	verifier := newVerifier(t, wallet.Config{Call: saysYes})
	for name, spoil := range map[string]func(*http.Request){
		"target": func(r *http.Request) { r.RequestURI += "\nidempotency-key:" },
		"host":   func(r *http.Request) { r.Host += "\n" },
		"method": func(r *http.Request) { r.Method += "\nurl:" },
		"key":    func(r *http.Request) { r.Header.Set(sortie.HeaderIdempotencyKey, "\nbody-sha256:") },
		"wallet": func(r *http.Request) { r.Header.Set(sortie.HeaderWallet, creator.Address().String()+"\n") },
	} {
		r := signedList().received(t)
		spoil(r)
		if _, err := verifier.Verify(t.Context(), r, nil, nil); sortie.ErrorCode(err).HTTPStatus()/100 != 4 {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if calls := verifier.Stats().Calls; calls != 0 {
		t.Errorf("%d calls", calls)
	}
}
