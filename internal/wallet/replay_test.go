package wallet_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/wallet"
)

// The worked vectors are accepted unchanged.
func TestVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../spec/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Requests []struct {
			Name, Method, URL, IdempotencyKey, Body, Wallet, Timestamp, Text, Signature string

			Digest sortie.Hash
		}
	}
	if err := json.Unmarshal(data, &vectors); err != nil || len(vectors.Requests) == 0 {
		t.Fatalf("%d vectors, %v", len(vectors.Requests), err)
	}
	for _, vector := range vectors.Requests {
		t.Run(vector.Name, func(t *testing.T) {
			t.Parallel()
			scheme, rest, _ := strings.Cut(vector.URL, "://")
			host, path, _ := strings.Cut(rest, "/")
			m := message{method: vector.Method, target: "/" + path, host: host, body: vector.Body}
			m = m.with(sortie.HeaderWallet, vector.Wallet).with(sortie.HeaderTimestamp, vector.Timestamp)
			if vector.IdempotencyKey != "" {
				m = m.with(sortie.HeaderIdempotencyKey, vector.IdempotencyKey)
			}
			config := wallet.Config{Call: saysNo}
			if scheme == "https" {
				config.PublicURLs = []string{scheme + "://" + host}
			}
			server := newTestServer(t, config)

			got := server.send(t, m.with(sortie.HeaderSignature, vector.Signature).String())
			wantAccepted(t, got, creator.Address())
			if got.Identity != nil && got.Identity.Digest != vector.Digest {
				t.Errorf("digest %s, want %s", got.Identity.Digest, vector.Digest)
			}

			refused := server.send(t, m.with(sortie.HeaderSignature, otherV(vector.Signature)).String())
			wantRefused(t, refused, sortie.CodeInvalidSignature)
			if refused.Error != nil && refused.Error.Details["signedMessage"] != vector.Text {
				t.Errorf("signedMessage %q,\nwant %q", refused.Error.Details["signedMessage"], vector.Text)
			}
		})
	}
}

// A signature is valid for one request only.
func TestASignatureFitsOneRequestOnly(t *testing.T) {
	t.Parallel()
	moved := func(change func(*message)) message {
		m := signedCreate()
		change(&m)
		return m
	}
	cases := map[string]message{
		"method":              moved(func(m *message) { m.method = "PUT" }),
		"method in lowercase": moved(func(m *message) { m.method = "post" }),
		"path":                moved(func(m *message) { m.target = "/api/external/missions/preview" }),
		"path, escaped":       moved(func(m *message) { m.target = "/api/external/missions/draft%73" }),
		"path, doubled slash": moved(func(m *message) { m.target = "//api/external/missions/drafts" }),
		"path, dot":           moved(func(m *message) { m.target = "/api/./external/missions/drafts" }),
		"path, end slash":     moved(func(m *message) { m.target += "/" }),
		"query added":         moved(func(m *message) { m.target += "?a=1" }),
		"empty query added":   moved(func(m *message) { m.target += "?" }),
		"fragment added":      moved(func(m *message) { m.target += "#a" }),
		"key":                 signedCreate().with(sortie.HeaderIdempotencyKey, "entrance-2"),
		"key's case":          signedCreate().with(sortie.HeaderIdempotencyKey, "Entrance-1"),
		"key dropped":         signedCreate().without(sortie.HeaderIdempotencyKey),
		"body":                moved(func(m *message) { m.body = strings.Replace(m.body, "main", "side", 1) }),
		"body, a blank":       moved(func(m *message) { m.body += " " }),
		"body dropped":        moved(func(m *message) { m.body = "" }),
		"wallet":              signedCreate().with(sortie.HeaderWallet, owner.Address().String()),
		"timestamp":           signedCreate().with(sortie.HeaderTimestamp, "1770000001"),
		"timestamp's unit":    signedCreate().with(sortie.HeaderTimestamp, "1770000000000"),
	}
	server := plainServer(t)
	wantAccepted(t, server.send(t, signedCreate().String()), creator.Address())
	for name, m := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, server.send(t, m.String()), sortie.CodeInvalidSignature)
		})
	}
}

// A repeated request has the same digest, also with another signature, so a write can refuse it.
func TestTheDigestNamesTheRequest(t *testing.T) {
	t.Parallel()
	server := plainServer(t)
	first := signedCreate()
	signature := first.header(sortie.HeaderSignature)
	again := first.with(sortie.HeaderSignature, signature[:130]+map[string]string{"1b": "00", "1c": "01"}[signature[130:]])
	one, two := server.send(t, first.String()), server.send(t, again.String())
	wantAccepted(t, one, creator.Address())
	wantAccepted(t, two, creator.Address())
	if one.Identity.Digest != two.Identity.Digest || one.Identity.Digest != first.request(publicURL).Digest() {
		t.Errorf("digests %s and %s", one.Identity.Digest, two.Identity.Digest)
	}
}

// Of several public URLs the one with the request's Host is used; headers that a client can set are
// ignored.
func TestTheHostOfTheURLIsTheServices(t *testing.T) {
	t.Parallel()
	const second = "https://missions.example.org:8443/v1"
	both := []string{publicURL + "/", second}
	type signed struct {
		message
		base string
	}
	signedFor := func(base, host string) signed {
		m := withHost(claiming(creator.Address()), host)
		return signed{m.with(sortie.HeaderSignature, creator.SignDigest(m.request(base).Digest()).String()), base}
	}
	cases := []struct {
		name       string
		publicURLs []string
		signed
		accepted bool
	}{
		{"first", both, signedFor(publicURL, "api.example.com"), true},
		{"second, with port and path", both, signedFor(second, "missions.example.org:8443"), true},
		{"second, Host in another case", both, signedFor(second, "Missions.Example.ORG:8443"), true},
		{"signed for the first, sent to the second", both, signedFor(publicURL, "missions.example.org:8443"), false},
		{"signed for the second, sent to the first", both, signedFor(second, "api.example.com"), false},
		{"unknown host means the first", both, signedFor(publicURL, "10.0.0.7"), true},
		{"unknown host is not believed", both, signedFor("https://evil.example", "evil.example"), false},
		{"signed for another service", []string{publicURL}, signedFor("https://other.example", "api.example.com"), false},
		{"signed for http", []string{publicURL}, signedFor("http://api.example.com", "api.example.com"), false},
		{"development: the Host", nil, signedFor("http://127.0.0.1:8080", "127.0.0.1:8080"), true},
		{"development: moved to another Host", nil, signedFor("http://127.0.0.1:8080", "localhost:8080"), false},
		{"development: the Host as it was written", nil, signedFor("http://LOCALHOST", "LOCALHOST"), true},
		{"development: https is not guessed", nil, signedFor("https://127.0.0.1:8080", "127.0.0.1:8080"), false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := newTestServer(t, wallet.Config{PublicURLs: c.publicURLs, Call: saysNo}).send(t, c.String())
			if !c.accepted {
				wantRefused(t, got, sortie.CodeInvalidSignature)
				return
			}
			wantAccepted(t, got, creator.Address())
			if got.Identity != nil && got.Identity.Base != c.base { // links in the answer lead to where it was asked for
				t.Errorf("signed for %s, links begin with %s", c.base, got.Identity.Base)
			}
		})
	}
}

func TestPublicURLsThatCannotBeSigned(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "api.example.com", "ftp://api.example.com", "https://", "https:///path", "https://api.example.com?a=1",
		"https://api.example.com#a", "https://user:secret@api.example.com", "https://api.example.com\n",
	} {
		_, err := wallet.New(wallet.Config{PublicURLs: []string{text}})
		if err == nil {
			t.Errorf("%q was taken", text)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error repeats the password: %v", text, err)
		}
	}
}

// The window is 300 seconds in both directions, inclusive, in the unit of the timestamp.
func TestTheClockWindow(t *testing.T) {
	t.Parallel()
	const seconds = 1_770_000_000
	cases := []struct {
		name      string
		timestamp string
		now       time.Time
		accepted  bool
	}{
		{"300 s old", "1770000000", time.Unix(seconds+300, 0), true},
		{"300 s old, late in the second", "1770000000", time.Unix(seconds+300, 999_999_999), true},
		{"301 s old", "1770000000", time.Unix(seconds+301, 0), false},
		{"300 s ahead", "1770000300", time.Unix(seconds, 999_999_999), true},
		{"301 s ahead", "1770000301", time.Unix(seconds, 999_999_999), false},
		{"300,000 ms old", "1770000000000", time.UnixMilli(seconds*1000 + 300_000), true},
		{"300,001 ms old", "1770000000000", time.UnixMilli(seconds*1000 + 300_001), false},
		{"300,000 ms ahead", "1770000300000", time.UnixMilli(seconds * 1000), true},
		{"300,001 ms ahead", "1770000300001", time.UnixMilli(seconds * 1000), false},
		{"a clock in another zone", "1770000000", time.Unix(seconds+5, 0).In(time.FixedZone("", 9*3600)), true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newTestServer(t, wallet.Config{PublicURLs: []string{publicURL}, Now: func() time.Time { return c.now }})
			got := server.send(t, signedList().with(sortie.HeaderTimestamp, c.timestamp).signedBy(creator).String())
			if c.accepted {
				wantAccepted(t, got, creator.Address())
				return
			}
			wantRefused(t, got, sortie.CodeTimestampOutOfRange)
			if want := c.now.UTC().Format("2006-01-02T15:04:05.000Z"); got.Error != nil && got.Error.Details["serverTime"] != want {
				t.Errorf("serverTime %v, want %s", got.Error.Details["serverTime"], want)
			}
			if got.status != http.StatusUnauthorized {
				t.Errorf("status %d", got.status)
			}
		})
	}
}
