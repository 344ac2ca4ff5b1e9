package api

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// A client that sends its whole body before it reads the answer, as many libraries do, gets an
// early answer.
func TestEarlyAnswersReachClientsThatSendEverythingFirst(t *testing.T) {
	t.Parallel()
	const size = 40 << 20 // more than the buffers of both sides take
	s, _, declared := awaiting(t, serviceOptions{})
	for name, c := range map[string]struct {
		target string
		status int
		code   sortie.Code
	}{
		"file larger than declared": {s.target(declared.Upload.PutURL), http.StatusRequestEntityTooLarge, sortie.CodePayloadTooLarge},
		"link that was made up":     {s.target(declared.Upload.PutURL) + "0", http.StatusForbidden, sortie.CodeMediaURLInvalid},
		"unknown path":              {"/nowhere", http.StatusNotFound, sortie.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := s.dial()
			head := s.unsigned(http.MethodPut, c.target).with("Content-Length", fmt.Sprint(size)).String()
			if _, err := io.WriteString(w.connection, head); err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(w.connection, &zeros{size}); err != nil {
				t.Fatalf("the connection was lost after %d of %d bytes: %v", n, size, err)
			}
			a := w.read()
			if a == nil || a.StatusCode != c.status || a.code() != c.code {
				t.Errorf("got %+v, want %d %s", a, c.status, c.code)
			}
		})
	}
}

// A client that waits for 100 Continue is answered without its body.
func TestEarlyAnswersAskForNoBody(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	w := s.dial()
	w.write(s.unsigned(http.MethodPut, "/nowhere").with("Content-Length", "1000000").and("Expect", "100-continue").String())
	if a := w.read(); a == nil || a.StatusCode != http.StatusNotFound {
		t.Fatalf("got %+v, want 404 at once", a)
	}
	if !w.isClosed() {
		t.Error("the connection is still open")
	}
}

// lingerer starts a request whose body is refused, and reads the answer. The service then waits for
// the body.
func (s *testService) lingerer(address string, size int) *wire {
	s.t.Helper()
	w := s.dial()
	head := s.unsigned(http.MethodPut, "/nowhere").with("Content-Length", fmt.Sprint(size)).and("X-Forwarded-For", address).String()
	if _, err := io.WriteString(w.connection, head); err != nil {
		s.t.Fatal(err)
	}
	if a := w.read(); a == nil || a.StatusCode != http.StatusNotFound {
		s.t.Fatalf("early answer for %s: got %+v, want 404", address, a)
	}
	return w
}

// lingerTest returns a service that lingers for so long that only the bound ends it.
func lingerTest(t *testing.T, places int, limits *Limits) (*testService, lingering) {
	s := newService(t, serviceOptions{limits: limits, config: func(config *Config) {
		config.MaxInFlight, config.BodyTimeout = places, time.Hour
		config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}})
	server := s.Config.Handler.(*Server)
	server.lingering.time, server.lingering.pause = time.Hour, time.Hour
	return s, server.lingering
}

// At the bound, the oldest lingering connection is closed.
func TestLingeringIsBounded(t *testing.T) {
	t.Parallel()
	const places = 2
	s, lingering := lingerTest(t, places, nil)
	oldest := s.lingerer("203.0.113.1", 1000)
	for i := range places {
		s.lingerer(fmt.Sprint("203.0.113.", 2+i), 1000)
	}
	if got := lingering.len(); got != places {
		t.Fatalf("connections that linger: got %d, want %d", got, places)
	}
	if !oldest.isClosed() {
		t.Error("the connection that lingers for longest: got open, want closed")
	}
}

// The connections of one network displace each other, never those of other clients.
func TestLingeringIsBoundedByNetwork(t *testing.T) {
	t.Parallel()
	const size = 40 << 20 // more than the buffers of both sides take
	for name, c := range map[string]struct {
		address func(i int) string
		most    int
	}{
		"one IPv4 address": {func(int) string { return "203.0.113.1" }, lingerShare},
		"one IPv6 /64":     {func(i int) string { return fmt.Sprintf("2001:db8:1:1::%x", i) }, lingerShare},
		"one IPv6 /48":     {func(i int) string { return fmt.Sprintf("2001:db8:1:%x::1", i) }, networkShares * lingerShare},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			places := c.most + 2
			s, lingering := lingerTest(t, places, &Limits{})
			other := s.lingerer("198.51.100.1", size)
			for i := range places {
				s.lingerer(c.address(i), 1000)
			}
			if got, want := lingering.len(), c.most+1; got != want {
				t.Errorf("connections that linger: got %d, want %d of the network and 1 of another", got, want)
			}
			for whose, w := range map[string]*wire{"another network": other, "the same network": s.lingerer(c.address(places), size)} {
				if n, err := io.Copy(w.connection, &zeros{size}); err != nil {
					t.Errorf("client of %s: the connection was lost after %d of %d bytes: %v", whose, n, size, err)
				}
			}
		})
	}
}

// A connection that was displaced between two reads is not read again.
func TestDisplacedConnectionsAreNotReadAgain(t *testing.T) {
	t.Parallel()
	pool := newBodyPool(1, 0)
	first := pool.begin(&request{ResponseWriter: deadlineWriter{}})
	if !pool.prolong(first, time.Now().Add(time.Hour)) {
		t.Error("a body with a place: got no more time, want more")
	}
	second := pool.begin(&request{ResponseWriter: deadlineWriter{}})
	if pool.prolong(first, time.Now().Add(time.Hour)) {
		t.Error("a displaced body: got more time, want none")
	}
	if first, second := pool.end(first), pool.end(second); !first || second {
		t.Errorf("displaced bodies: got first %t and second %t, want the first only", first, second)
	}
	if got := len(pool.queues); got != 0 {
		t.Errorf("queues without bodies that are kept: got %d, want none", got)
	}
}

// deadlineWriter accepts every deadline.
type deadlineWriter struct{ http.ResponseWriter }

func (deadlineWriter) SetReadDeadline(time.Time) error { return nil }
