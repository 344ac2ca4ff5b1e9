package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// limited checks that an answer is 429 of the named limit, with the RateLimit headers.
func limited(t *testing.T, a answer, limit string, quota, seconds int) {
	t.Helper()
	if a.StatusCode != http.StatusTooManyRequests || a.code() != sortie.CodeRateLimited {
		t.Errorf("limit %s: got %d %s, want 429 rate_limited", limit, a.StatusCode, a.body)
		return
	}
	checkError(t, a)
	for name, want := range map[string]string{
		"RateLimit-Policy": fmt.Sprintf("%q;q=%d;w=60", limit, quota),
		"RateLimit":        fmt.Sprintf("%q;r=0;t=%d", limit, seconds),
		"Retry-After":      fmt.Sprint(seconds),
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("limit %s: %s is %s, want %s", limit, name, got, want)
		}
	}
	if details := a.details(); details["limit"] != limit || details["retryAfterSeconds"] != float64(seconds) {
		t.Errorf("limit %s: details %v", limit, details)
	}
}

func mustBe(t *testing.T, what string, a answer, status int) {
	t.Helper()
	if a.StatusCode != status {
		t.Errorf("%s: %d %s, want %d", what, a.StatusCode, a.body, status)
	}
}

func TestLimitOfAnAddress(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{limits: &Limits{AddressRequests: 3}})
	for i := range 3 {
		mustBe(t, "within the limit", s.send(testRequest{target: listPath, unsigned: i == 0, signer: stranger}), []int{401, 200, 200}[i])
	}
	limited(t, s.send(testRequest{target: listPath}), "address", 3, 20)
	limited(t, s.send(testRequest{target: listPath, unsigned: true}), "address", 3, 20)
	limited(t, s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission}), "address", 3, 20)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/docs"} {
		mustBe(t, path, s.send(testRequest{target: path, unsigned: true}), http.StatusOK)
	}
	// X-Forwarded-For of an untrusted peer does not change the client address.
	for i := range 3 {
		header := http.Header{"X-Forwarded-For": {fmt.Sprint("203.0.113.", i)}, "X-Real-Ip": {"203.0.113.9"}, "Forwarded": {"for=203.0.113.9"}}
		limited(t, s.send(testRequest{target: listPath, header: header}), "address", 3, 20)
	}
	s.clock.advance(19 * time.Second)
	limited(t, s.send(testRequest{target: listPath}), "address", 3, 1)
	s.clock.advance(time.Second)
	mustBe(t, "after 20 s", s.send(testRequest{target: listPath}), http.StatusOK)
	limited(t, s.send(testRequest{target: listPath}), "address", 3, 20)
	s.clock.advance(time.Hour) // an hour fills the quota, and no more than that
	for range 3 {
		mustBe(t, "after an hour", s.send(testRequest{target: listPath}), http.StatusOK)
	}
	limited(t, s.send(testRequest{target: listPath}), "address", 3, 20)
}

// A refused request is refused before its body is read.
func TestLimitsComeBeforeTheBody(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{limits: &Limits{AddressRequests: 1}})
	mustBe(t, "within the limit", s.send(testRequest{target: listPath}), http.StatusOK)
	w := s.dial()
	w.write(s.post(draftsPath, "k1", "").with("Content-Length", "1000").String())
	a := w.read() // would come after ten seconds if the body were waited for
	if a == nil {
		t.Fatal("no answer")
	}
	limited(t, *a, "address", 1, 60)
}

// For an address with too many failures, further failures and checks of contract wallets are
// refused. Its other clients are served: valid signatures, operators, readers of the public feed,
// and valid links.
func TestFailedAuthenticationsLockOutNoValidClient(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	s := newService(t, serviceOptions{limits: &Limits{AddressFailures: 2}, call: func(context.Context, []byte, uint64) ([]byte, error) {
		calls.Add(1)
		return append(make([]byte, 31), 1), nil
	}})
	contractWallet := testRequest{target: listPath + "?limit=7", header: http.Header{sortie.HeaderSignature: {"0x1234"}}}
	mustBe(t, "a contract wallet", s.send(contractWallet), http.StatusOK)
	for range 5 {
		mustBe(t, "signed well", s.send(testRequest{target: listPath}), http.StatusOK)
	}
	mustBe(t, "not found is no failure", s.send(testRequest{target: listPath + "/x"}), http.StatusNotFound)
	mustBe(t, "unsigned", s.send(testRequest{target: listPath, unsigned: true}), http.StatusUnauthorized)
	mustBe(t, "a made up link", s.send(testRequest{target: "/api/external/media/sub_00000000000000000000000000/original?exp=1&kid=a&sig=b", unsigned: true}), http.StatusForbidden)
	for range 3 {
		limited(t, s.send(testRequest{target: listPath, unsigned: true}), "failed-authentication", 2, 30)
		limited(t, s.send(testRequest{target: "/api/external/media/sub_00000000000000000000000000/original?exp=1&kid=a&sig=b", unsigned: true}), "failed-authentication", 2, 30)
		mustBe(t, "a valid signature", s.send(testRequest{target: listPath}), http.StatusOK)
		mustBe(t, "an operator", s.send(testRequest{target: reviewsPath, signer: reviewer}), http.StatusOK)
		mustBe(t, "the public feed", s.send(testRequest{target: "/api/missions", unsigned: true}), http.StatusOK)
	}
	mustBe(t, "a contract wallet that is known", s.send(contractWallet), http.StatusOK)
	contractWallet.target = listPath + "?limit=8"
	limited(t, s.send(contractWallet), "failed-authentication", 2, 30)
	if got := calls.Load(); got != 1 {
		t.Errorf("got %d questions to the node, want 1: an address with too many failures must cause none", got)
	}
	s.clock.advance(30 * time.Second)
	mustBe(t, "a contract wallet after 30 s", s.send(contractWallet), http.StatusOK)
	mustBe(t, "unsigned after 30 s", s.send(testRequest{target: listPath, unsigned: true}), http.StatusUnauthorized)
	limited(t, s.send(testRequest{target: listPath, unsigned: true}), "failed-authentication", 2, 30)
}

// A large answer, and one with many quotes, counts as several requests of the wallet and of the
// address.
func TestCostlyAnswersCountAsSeveralRequests(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{limits: &Limits{WalletReads: 100, AddressRequests: 200}})
	s.createLarge(100)
	remaining := func() (left int) {
		t.Helper()
		a := s.send(testRequest{target: listPath + "?limit=1"})
		if _, err := fmt.Sscanf(a.Header.Get("RateLimit"), `"reads";r=%d;`, &left); err != nil {
			t.Fatalf("RateLimit: got %q, want that of reads", a.Header.Get("RateLimit"))
		}
		return left
	}
	before := remaining()
	if a := s.roundTrip(s.build(testRequest{target: listPath})); a.StatusCode != http.StatusOK || len(a.body) < 3<<20 {
		t.Fatalf("got %d with %d bytes, want a full page", a.StatusCode, len(a.body))
	}
	if used := before - remaining(); used != 5 { // the page, 3 MiB and more, and the request that asks
		t.Errorf("a page of nearly 4 MiB: got %d requests counted, want 5", used)
	}
	address := netip.MustParsePrefix("127.0.0.1/32")
	left := s.Config.Handler.(*Server).limits.requests.peek(address, s.clock.Now()).remaining
	if want := 200 - 3 - 3; left != want {
		t.Errorf("requests left of the address: got %d, want %d", left, want)
	}
	req := request{rows: 1000}
	if got := req.cost(); got != 10 {
		t.Errorf("cost of 1000 quotes: got %d, want 10", got)
	}
	limiter := newLimiter[int]("test", 10)
	now := s.clock.Now()
	limiter.charge(1, now, 1000)
	if got := limiter.peek(1, now).retryIn; got != 66*time.Second {
		t.Errorf("after a charge of a hundred quotas: got %s to wait, want 66 s: a debt is at most one quota", got)
	}
}

// A client with many unread lists in flight is refused more lists. Its other requests are served,
// and so are operators.
func TestListsAtATime(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]*Limits{"wallet": {WalletLists: 2}, "address": {AddressLists: 2}} {
		s := newService(t, serviceOptions{limits: limits, prepare: smallBuffers})
		s.createLarge(30)
		var slow []net.Conn
		for range 2 {
			slow = append(slow, s.beginList())
		}
		unavailable(t, name+": a list more", s.send(testRequest{target: listPath}), sortie.CodeServiceUnavailable)
		unavailable(t, name+": another list", s.send(testRequest{target: eventsPath}), sortie.CodeServiceUnavailable)
		mustBe(t, name+": something else", s.send(testRequest{method: http.MethodPost, target: previewPath, body: goodMission}), http.StatusOK)
		mustBe(t, name+": an operator", s.send(testRequest{target: reviewsPath, signer: reviewer}), http.StatusOK)
		for _, connection := range slow {
			_ = connection.Close()
		}
		eventually(t, name+": a list after the others", func() bool {
			return s.roundTrip(s.build(testRequest{target: eventsPath})).StatusCode == http.StatusOK
		})
	}
}

// All addresses of an IPv6 /48 together have ten times the quota of one.
func TestAddressesOfOneIPv6NetworkShareALimit(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{limits: &Limits{AddressRequests: 3, AddressFailures: 1}, config: func(config *Config) {
		config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}})
	from := func(network string, host int) answer {
		return s.send(testRequest{target: listPath, header: http.Header{"X-Forwarded-For": {fmt.Sprintf("%s:%x::1", network, host)}}})
	}
	for host := range 10 {
		for range 3 {
			mustBe(t, "within both limits", from("2001:db8:1", host), http.StatusOK)
		}
		if host < 9 {
			limited(t, from("2001:db8:1", host), "address", 3, 20)
		}
	}
	limited(t, from("2001:db8:1", 4711), "address-network", 30, 2)
	limited(t, from("2001:db8:1", 0xffff), "address-network", 30, 2)
	mustBe(t, "another network", from("2001:db8:2", 1), http.StatusOK)
	mustBe(t, "IPv4", s.send(testRequest{target: listPath, header: http.Header{"X-Forwarded-For": {"198.51.100.1"}}}), http.StatusOK)
	shares := newPerClient(2)
	for host := range networkShares * 2 {
		if err := shares.acquire(netip.MustParsePrefix(fmt.Sprintf("2001:db8:1:%x::/64", host))); err != nil {
			t.Errorf("share %d of a network: got %v, want none refused", host, err)
		}
	}
	if shares.acquire(netip.MustParsePrefix("2001:db8:1:ff::/64")) == nil {
		t.Errorf("share %d of a network: got it, want a refusal", networkShares*2+1)
	}
}

// Bytes of drafts are limited by address, because an address can use any number of wallets.
func TestLimitOfDraftBytesOfAnAddress(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{limits: &Limits{AddressDraftKiB: 60}})
	large := strings.Replace(goodMission, "{", `{"description":"`+strings.Repeat("x", 4000)+`","a":"`+strings.Repeat("y", 7*1024)+`",`, 1)
	for i := range 5 { // 11 to 12 KiB each; the last is more than is left, and the first to be so
		wallet := mustKey(fmt.Sprintf("0x%064x", i+1))
		mustBe(t, fmt.Sprint("large draft ", i), s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k", body: large, signer: wallet}), http.StatusCreated)
	}
	wallet := mustKey(fmt.Sprintf("0x%064x", 9))
	limited(t, s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k", body: large, signer: wallet}), "draft-bytes", 60, 1)
	mustBe(t, "a read from the address", s.send(testRequest{target: listPath, signer: wallet}), http.StatusOK)
	s.clock.advance(time.Minute)
	mustBe(t, "a minute later", s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k", body: large, signer: wallet}), http.StatusCreated)
}

// A draft that is not stored uses no quota, so that refused requests lock out no creator of the
// same address.
func TestDraftsThatAreNotStoredUseUpNoDraftBytes(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{limits: &Limits{AddressDraftKiB: 128}})
	post := func(key, body string) answer {
		return s.send(testRequest{method: http.MethodPost, target: draftsPath, key: key, body: body})
	}
	for i := range 5 {
		mustBe(t, "no JSON", post(fmt.Sprint("junk", i), strings.Repeat("x", maxMissionBody)), http.StatusBadRequest)
		mustBe(t, "no key", post("", strings.Repeat("x", maxMissionBody)), http.StatusBadRequest)
	}
	large := strings.Replace(goodMission, "{", `{"a":"`+strings.Repeat("y", 7*1024)+`",`, 1)
	mustBe(t, "a draft", post("k1", large), http.StatusCreated)
	for range 20 {
		mustBe(t, "the same draft again", post("k1", large), http.StatusOK)
	}
	mustBe(t, "another draft", post("k2", large), http.StatusCreated)
}

// Draft bytes count before the draft is stored, so that concurrent requests are limited too.
func TestDraftBytesCountBeforeTheDraftIsStored(t *testing.T) {
	t.Parallel()
	waiting, proceed, signer := make(chan struct{}), make(chan struct{}), newMoodySigner(t)
	s := newService(t, serviceOptions{signer: signer, limits: &Limits{AddressDraftKiB: 1}})
	var calls atomic.Int64
	signer.set(func(context.Context) error {
		if calls.Add(1) == 1 {
			close(waiting)
			<-proceed
		}
		return nil
	})
	first, answered := s.build(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission}), make(chan answer, 1)
	go func() { answered <- s.roundTrip(first) }()
	<-waiting
	a := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k2", body: goodMission})
	if a.code() != sortie.CodeRateLimited {
		t.Errorf("a draft while the first is being stored: got %d %s, want %s", a.StatusCode, a.code(), sortie.CodeRateLimited)
	}
	close(proceed)
	mustBe(t, "the first", <-answered, http.StatusCreated)
}

func TestLimitOfContractWalletChecks(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	s := newService(t, serviceOptions{
		limits: &Limits{AddressContractChecks: 2},
		call: func(context.Context, []byte, uint64) ([]byte, error) {
			calls.Add(1)
			return append(make([]byte, 31), 1), nil
		},
	})
	account := func(target string) testRequest { // the chain is asked, and says yes
		return testRequest{target: target, header: http.Header{sortie.HeaderSignature: {"0x1234"}}}
	}
	mustBe(t, "first check", s.send(account(listPath+"?limit=1")), http.StatusOK)
	mustBe(t, "second check", s.send(account(listPath+"?limit=2")), http.StatusOK)
	limited(t, s.send(account(listPath+"?limit=3")), "contract-wallet-checks", 2, 30)
	mustBe(t, "an answered question", s.send(account(listPath+"?limit=1")), http.StatusOK)
	mustBe(t, "a plain key", s.send(testRequest{target: listPath + "?limit=3"}), http.StatusOK)
	if calls.Load() != 2 {
		t.Errorf("%d calls", calls.Load())
	}
	s.clock.advance(30 * time.Second)
	mustBe(t, "after 30 s", s.send(account(listPath+"?limit=3")), http.StatusOK)
}

func TestLimitsOfAWallet(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{limits: &Limits{WalletDrafts: 2, WalletReads: 3}})
	create := func(key string, signer sortie.Signer) answer {
		return s.send(testRequest{method: http.MethodPost, target: draftsPath, key: key, body: goodMission, signer: signer})
	}
	a := create("k1", creator)
	mustBe(t, "first draft", a, http.StatusCreated)
	if policy, left := a.Header.Get("RateLimit-Policy"), a.Header.Get("RateLimit"); policy != `"drafts";q=2;w=60` || left != `"drafts";r=1;t=30` {
		t.Errorf("headers of the first draft: got %s %s, want 1 of 2 left", policy, left)
	}
	mustBe(t, "replay", create("k1", creator), http.StatusOK)
	limited(t, create("k2", creator), "drafts", 2, 30)
	limited(t, create("k1", creator), "drafts", 2, 30)
	mustBe(t, "another wallet", create("k1", stranger), http.StatusCreated)

	a = s.send(testRequest{target: listPath})
	mustBe(t, "first read", a, http.StatusOK)
	if policy, left := a.Header.Get("RateLimit-Policy"), a.Header.Get("RateLimit"); policy != `"reads";q=3;w=60` || left != `"reads";r=2;t=20` {
		t.Errorf("headers of the first read: got %s %s, want 2 of 3 left", policy, left)
	}
	mustBe(t, "preview", s.send(testRequest{method: http.MethodPost, target: previewPath, body: goodMission}), http.StatusOK)
	mustBe(t, "not found", s.send(testRequest{target: listPath + "/x"}), http.StatusNotFound)
	limited(t, s.send(testRequest{target: listPath}), "reads", 3, 20)
	limited(t, s.send(testRequest{method: http.MethodPost, target: previewPath, body: goodMission}), "reads", 3, 20)
	mustBe(t, "another wallet reads", s.send(testRequest{target: listPath, signer: stranger}), http.StatusOK)

	s.clock.advance(30 * time.Second)
	mustBe(t, "draft after 30 s", create("k2", creator), http.StatusCreated)
	limited(t, create("k3", creator), "drafts", 2, 30)
	mustBe(t, "read after 30 s", s.send(testRequest{target: listPath}), http.StatusOK)
	s.clock.advance(time.Minute)
	if list := decode[sortie.DraftList](t, s.send(testRequest{target: listPath})); len(list.Drafts) != 2 {
		t.Errorf("%d drafts: a refused request was worked on", len(list.Drafts))
	}
}

// Reads, reviews and confirm-funding count as reads.
func TestLimitsOfFollowingAndReviewing(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{limits: &Limits{WalletDrafts: 1, WalletReads: 3}})
	draft := s.create("k1", goodMission)
	target := listPath + "/" + draft.DraftID
	mustBe(t, "doctor", s.send(testRequest{target: target + "/doctor"}), http.StatusOK)
	mustBe(t, "confirm-funding", s.send(testRequest{method: http.MethodPost, target: target + "/confirm-funding"}), http.StatusOK)
	mustBe(t, "events", s.send(testRequest{target: eventsPath}), http.StatusOK)
	limited(t, s.send(testRequest{target: target + "/doctor"}), "reads", 3, 20)
	limited(t, s.send(testRequest{method: http.MethodPost, target: target + "/confirm-funding"}), "reads", 3, 20)
	limited(t, s.send(testRequest{target: reviewsPath}), "reads", 3, 20) // before it is said that this wallet may not
	mustBe(t, "reviews", s.send(testRequest{target: reviewsPath, signer: reviewer}), http.StatusOK)
	mustBe(t, "chain", s.send(testRequest{target: chainPath, signer: reviewer}), http.StatusOK)
	mustBe(t, "reject", s.decide(reviewer, draft.DraftID, "reject", goodReason), http.StatusOK)
	limited(t, s.decide(reviewer, draft.DraftID, "reject", goodReason), "reads", 3, 20)
	mustBe(t, "a colleague", s.send(testRequest{target: reviewsPath, signer: colleague}), http.StatusOK)
}

func TestNoLimits(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]*Limits{"off": nil, "zero": {}} {
		s := newService(t, serviceOptions{limits: limits})
		for range 400 {
			if a := s.roundTrip(s.build(testRequest{target: listPath, unsigned: true})); a.StatusCode != http.StatusUnauthorized {
				t.Fatalf("limits %s: got %d %s, want 401", name, a.StatusCode, a.body)
			}
		}
		a := s.send(testRequest{target: listPath})
		mustBe(t, name, a, http.StatusOK)
		if a.Header.Get("RateLimit") != "" || a.Header.Get("RateLimit-Policy") != "" {
			t.Errorf("%s: headers of limits that there are not: %v", name, a.Header)
		}
	}
}

// A limiter stays bounded for any number of clients, and still limits the last ones.
func TestLimitersAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_770_000_000, 0)
	limiter := newLimiter[int]("test", 2)
	for key := range limitedKeys + 50_000 {
		limiter.take(key, now)
		limiter.take(key, now)
		if !limiter.take(key, now).refused() {
			t.Fatalf("key %d is not limited", key)
		}
	}
	kept := len(limiter.buckets)
	if kept > limitedKeys {
		t.Errorf("%d keys", kept)
	}
	later := now.Add(limitWindow) // the buckets have refilled: they say nothing and make room
	limiter.take(-1, later)
	limiter.take(-2, later)
	if now := len(limiter.buckets); now >= kept {
		t.Errorf("%d keys, %d after a window", kept, now)
	}
	known := len(limiter.buckets)
	for key := range 100 {
		limiter.peek(1_000_000+key, later)
	}
	if len(limiter.buckets) > known {
		t.Error("a look takes room")
	}
}

func TestAClockThatGoesBackGivesNothing(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_770_000_000, 0)
	limiter := newLimiter[string]("test", 1)
	if limiter.take("a", now).refused() {
		t.Fatal("the first was refused")
	}
	if !limiter.take("a", now.Add(-time.Hour)).refused() || !limiter.take("a", now).refused() {
		t.Error("going back gave a request")
	}
	if limiter.take("a", now.Add(time.Minute)).refused() {
		t.Error("refused after a minute")
	}
}

func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	want := Limits{
		AddressRequests: 300, AddressFailures: 30, AddressContractChecks: 20, AddressDraftKiB: 512, WalletDrafts: 30, WalletReads: 120,
		AddressUploads: 16, AddressDownloads: 64, AddressBodies: 64, AddressLists: 16, WalletLists: 4,
	}
	if got := *DefaultLimits(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
