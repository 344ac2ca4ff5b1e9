package api

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// behindProxy makes X-Forwarded-For the client address.
func behindProxy(most int) func(*Config) {
	return func(config *Config) {
		config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		config.MaxUploads, config.StallTimeout = most, time.Hour
	}
}

// held is an upload that waits for its next byte.
type held struct {
	*wire
	declared sortie.SubmissionDeclared
	file     shot
	sent     int
}

// hold starts a tus upload from an address, and returns when the service waits for the rest of it.
func (s *testService) hold(t *testing.T, missionID, key, address string) *held {
	t.Helper()
	h := &held{file: s.shoot(1), sent: 100}
	h.declared = s.declare(missionID, key, h.file)
	h.wire = s.dial()
	_ = h.connection.SetDeadline(time.Now().Add(5 * time.Minute))
	m := s.unsigned(http.MethodPatch, s.target(h.declared.Upload.TusURL)).with("Content-Length", fmt.Sprint(len(h.file.data))).
		with("Tus-Resumable", tusVersion).with("Upload-Offset", "0").with("Content-Type", tusContentType).with("X-Forwarded-For", address)
	if _, err := io.WriteString(h.connection, m.String()+string(h.file.data[:h.sent])); err != nil {
		t.Fatal(err)
	}
	s.untilBusy(t, h.declared)
	return h
}

// putFrom uploads a whole file from an address.
func (s *testService) putFrom(address string, link string, data []byte) answer {
	s.t.Helper()
	return s.send(testRequest{method: http.MethodPut, target: s.target(link), body: string(data), unsigned: true,
		header: http.Header{"Content-Type": {"image/jpeg"}, "X-Forwarded-For": {address}}})
}

// isBusy reports whether the body of an upload is being read.
func (s *testService) isBusy(h *held) bool {
	turns := &s.Config.Handler.(*Server).uploadLocks
	turns.mu.Lock()
	defer turns.mu.Unlock()
	return turns.byID[h.declared.SubmissionID] != nil
}

// Slow uploads from four addresses reach the limit. An upload from another address is still
// received: it displaces the slowest, with a status after which a tus client resumes.
func TestSlowUploadsAreDisplaced(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{config: behindProxy(8), limits: &Limits{AddressUploads: 4}})
	missionID := s.publish("k1", wideMission).MissionID
	var attackers []*held
	for i := range 8 {
		attackers = append(attackers, s.hold(t, missionID, fmt.Sprintf("slow-%d", i), fmt.Sprintf("203.0.113.%d", i%4)))
	}
	for round := range 3 {
		file := s.shoot(100 + round)
		honest := s.declare(missionID, fmt.Sprintf("honest-%d", round), file)
		if a := s.putFrom("198.51.100.7", honest.Upload.PutURL, file.data); a.StatusCode != http.StatusOK {
			t.Fatalf("an honest upload while all places are taken: got %d %s, want 200", a.StatusCode, a.body)
		}
	}
	// The first honest upload displaced the first one. The next one found a free place.
	first := attackers[0]
	a := first.read()
	if a == nil || a.StatusCode != http.StatusServiceUnavailable || a.code() != sortie.CodeServiceUnavailable || a.Header.Get("Retry-After") != fmt.Sprint(retryDisplaced) {
		t.Fatalf("the slowest upload got %+v, want 503 %s with Retry-After: %d", a, sortie.CodeServiceUnavailable, retryDisplaced)
	}
	for i, other := range attackers[1:] {
		if !s.isBusy(other) {
			t.Errorf("upload %d was cut too, want only the slowest", i+1)
		}
	}
	s.holds(t, first.declared, first.sent) // what arrived is kept
	rest := http.Header{"Upload-Offset": {fmt.Sprint(first.sent)}, "X-Forwarded-For": {"203.0.113.0"}}
	mustBe(t, "the slowest continues", s.tusRequest(http.MethodPatch, first.declared, rest, string(first.file.data[first.sent:])), http.StatusNoContent)
	if got := s.metric("sortie_http_uploads_displaced_total"); got != "1" {
		t.Errorf("sortie_http_uploads_displaced_total is %s, want 1", got)
	}
}

// With the default limits, the uploads of four addresses do not reach the limit, and none is
// displaced.
func TestSlowUploadsLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: opens as many uploads as the server allows")
	}
	s := newService(t, serviceOptions{config: behindProxy(0), limits: &Limits{AddressUploads: DefaultLimits().AddressUploads}})
	missionID := s.publish("k1", wideMission).MissionID
	var attackers []*held
	for i := range 4 * DefaultLimits().AddressUploads {
		attackers = append(attackers, s.hold(t, missionID, fmt.Sprintf("slow-%d", i), fmt.Sprintf("203.0.113.%d", i%4)))
	}
	file := s.shoot(2)
	honest := s.declare(missionID, "honest", file)
	mustBe(t, "one more of such an address", s.putFrom("203.0.113.1", honest.Upload.PutURL, file.data), http.StatusServiceUnavailable)
	mustBe(t, "an honest upload", s.putFrom("198.51.100.7", honest.Upload.PutURL, file.data), http.StatusOK)
	for i, attacker := range attackers {
		if !s.isBusy(attacker) {
			t.Errorf("upload %d was cut, want it to continue", i)
		}
	}
}

// bodyAt returns a body whose last progress was some time ago.
func bodyAt(ago time.Duration) *stallReader {
	body := newStallReader(nil, http.NewResponseController(httptest.NewRecorder()), time.Hour, func() bool { return false })
	body.began = body.began.Add(-ago)
	return body
}

const fast = -time.Hour // its progress is in the future, so that it stays fast during the test

func TestWhichUploadIsDisplaced(t *testing.T) {
	t.Parallel()
	type upload struct {
		address string
		ago     time.Duration
	}
	const neither = -1
	for name, c := range map[string]struct {
		held []upload
		from string
		want int // which of them; neither: the new one is refused
	}{
		"the slowest of the address with the most": {
			[]upload{{"192.0.2.1/32", time.Hour}, {"192.0.2.2/32", time.Second}, {"192.0.2.2/32", time.Minute}}, "192.0.2.9/32", 2,
		},
		"the slowest of all where each has one": {
			[]upload{{"192.0.2.1/32", time.Minute}, {"192.0.2.2/32", time.Hour}, {"192.0.2.3/32", time.Second}}, "192.0.2.9/32", 1,
		},
		"a fast one of the address with the most": {
			[]upload{{"192.0.2.1/32", time.Hour}, {"192.0.2.2/32", time.Second}, {"192.0.2.2/32", fast}}, "192.0.2.9/32", 1,
		},
		"a slow one of the same address": {[]upload{{"192.0.2.1/32", fast}, {"192.0.2.1/32", time.Hour}}, "192.0.2.1/32", 1},
		"none where all are as fast":     {[]upload{{"192.0.2.1/32", fast}, {"192.0.2.1/32", fast}}, "192.0.2.1/32", neither},
		"none of an address with fewer":  {[]upload{{"192.0.2.1/32", fast}, {"192.0.2.2/32", time.Hour}, {"192.0.2.1/32", fast}}, "192.0.2.1/32", neither},
		"of an IPv6 site with several networks": {
			[]upload{{"2001:db8:1:1::/64", time.Second}, {"2001:db8:1:2::/64", time.Minute}, {"192.0.2.1/32", time.Hour}}, "192.0.2.9/32", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			displaced := 0
			places := newInflightUploads(len(c.held), 0, func() { displaced++ })
			var bodies []*stallReader
			for _, one := range c.held {
				place, err := places.acquire(netip.MustParsePrefix(one.address))
				if err != nil {
					t.Fatal(err)
				}
				bodies = append(bodies, bodyAt(one.ago))
				places.setBody(place, bodies[len(bodies)-1])
			}
			_, err := places.acquire(netip.MustParsePrefix(c.from))
			if refused := sortie.ErrorCode(err) == sortie.CodeServiceUnavailable; refused != (c.want == neither) {
				t.Errorf("got %v, refused: want %t", err, c.want == neither)
			}
			for i, body := range bodies {
				if broken := body.aborted.Load() != nil; broken != (i == c.want) {
					t.Errorf("upload %d was cut: got %t, want %t", i, broken, i == c.want)
				}
			}
			if places.count != len(c.held) {
				t.Errorf("%d places are taken, want %d", places.count, len(c.held))
			}
		})
	}
}

// An IPv6 site with many /64 may have networkShares times the uploads of one address.
func TestUploadsOfAnIPv6Site(t *testing.T) {
	t.Parallel()
	places := newInflightUploads(100, 2, func() {})
	got := 0
	for i := range 20 {
		if _, err := places.acquire(netip.MustParsePrefix(fmt.Sprintf("2001:db8:1:%x::/64", i))); err == nil {
			got++
		}
	}
	if want := 2 * networkShares; got != want {
		t.Errorf("20 networks of a site got %d places, want %d", got, want)
	}
}

// An upload that waits for bytes costs little memory. Not parallel: it measures the memory of the
// process.
func TestWaitingUploadsAreCheap(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: holds 200 uploads open")
	}
	const count, most = 200, 100 << 10 // bytes each, the client's side and the database's cache included
	s := newService(t, serviceOptions{config: behindProxy(0)})
	missionID := s.publish("k1", `{"title":"Photo of the main entrance","reward":{"token":"USDC","amount":2.5},"targetCount":1000,"maxSubmissionsPerContributor":1000}`).MissionID
	inUse := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc + stats.StackInuse
	}
	s.hold(t, missionID, "first", "203.0.113.1") // what is made once
	before := inUse()
	for i := range count {
		s.hold(t, missionID, fmt.Sprintf("slow-%d", i), fmt.Sprintf("203.0.113.%d", i%4))
	}
	if each := (int64(inUse()) - int64(before)) / count; each > most {
		t.Errorf("an upload that waits takes %d bytes of memory, want at most %d", each, most)
	} else {
		t.Logf("an upload that waits takes %d bytes of memory", each)
	}
}
