package api

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// The first X-Forwarded-For of an untrusted peer is logged, once, with what to do.
func TestForwardedForOfAnUntrustedPeerIsLoggedOnce(t *testing.T) {
	t.Parallel()
	logs := newLogBook()
	s := newService(t, serviceOptions{limits: &Limits{}, config: func(config *Config) { config.Logger = logs.logger() }})
	for range 3 {
		s.send(testRequest{target: "/healthz", unsigned: true, header: http.Header{"X-Forwarded-For": {"198.51.100.1"}}})
	}
	first := logs.next(t)
	if message := fmt.Sprint(first["msg"]); first["level"] != "WARN" || first["peer"] != "127.0.0.1" || !strings.Contains(message, "trusted proxy") {
		t.Errorf("first line: got %v, want a warning that names the peer and asks to trust the proxy", first)
	}
	for range 3 {
		if line := logs.next(t); line["level"] != "DEBUG" {
			t.Errorf("got %v, want no second warning", line)
		}
	}
}

func TestLimitsBehindATrustedProxy(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{limits: &Limits{AddressRequests: 1}, config: func(config *Config) {
		config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	}})
	from := func(forwarded ...string) answer {
		return s.send(testRequest{target: listPath, header: http.Header{"X-Forwarded-For": forwarded}})
	}
	mustBe(t, "a client", from("203.0.113.1"), http.StatusOK)
	limited(t, from("203.0.113.1"), "address", 1, 60)
	mustBe(t, "another client", from("203.0.113.2"), http.StatusOK)
	limited(t, from("198.51.100.7, 203.0.113.1"), "address", 1, 60) // what the client itself put in front says nothing
	limited(t, from("198.51.100.8", "203.0.113.1, 10.1.2.3"), "address", 1, 60)
	mustBe(t, "the proxy itself", s.send(testRequest{target: listPath}), http.StatusOK)
	limited(t, from("garbage"), "address", 1, 60) // nothing is known but the proxy
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, row := range []struct{ peer, forwarded, want string }{
		{"203.0.113.5:1234", "", "203.0.113.5/32"},
		{"[::ffff:203.0.113.5]:1234", "", "203.0.113.5/32"},
		{"[2001:db8:1:2:3:4:5:6]:1234", "", "2001:db8:1:2::/64"},
		{"[2001:db8:1:2:ffff::1]:1234", "", "2001:db8:1:2::/64"},
		{"[2001:db8:1:3::1]:1234", "", "2001:db8:1:3::/64"},
		{"[fe80::1%eth0]:1234", "", "fe80::/64"},
		{"203.0.113.5:1234", "198.51.100.1", "203.0.113.5/32"},
		{"10.0.0.1:1234", "198.51.100.1", "198.51.100.1/32"},
		{"10.0.0.1:1234", "192.0.2.1, 198.51.100.1", "198.51.100.1/32"},
		{"10.0.0.1:1234", "198.51.100.1, 10.9.9.9,10.8.8.8 ", "198.51.100.1/32"},
		{"10.0.0.1:1234", "2001:db8:1:2::9", "2001:db8:1:2::/64"},
		{"[fd00::1]:1234", "::ffff:198.51.100.1", "198.51.100.1/32"},
		{"10.0.0.1:1234", "10.1.1.1, 10.2.2.2", "10.1.1.1/32"},
		{"10.0.0.1:1234", "198.51.100.1, not an address", "10.0.0.1/32"},
		{"10.0.0.1:1234", "", "10.0.0.1/32"},
		{"10.0.0.1:1234", "198.51.100.1:55123", "198.51.100.1/32"},
		{"10.0.0.1:1234", "192.0.2.1:1, 198.51.100.1:55123, 10.9.9.9:80", "198.51.100.1/32"},
		{"10.0.0.1:1234", "[2001:db8:1:2::9]:55123", "2001:db8:1:2::/64"},
		{"10.0.0.1:1234", "[2001:db8:1:2::9]", "2001:db8:1:2::/64"},
		{"10.0.0.1:1234", "[::ffff:198.51.100.1]:80", "198.51.100.1/32"},
		{"10.0.0.1:1234", "198.51.100.1:", "10.0.0.1/32"},
		{"10.0.0.1:1234", "198.51.100.1:port", "10.0.0.1/32"},
		{"@", "198.51.100.1", "invalid Prefix"},
	} {
		r := &http.Request{RemoteAddr: row.peer, Header: http.Header{}}
		if row.forwarded != "" {
			r.Header.Set("X-Forwarded-For", row.forwarded)
		}
		if got := clientAddress(r, trusted).String(); got != row.want {
			t.Errorf("%s, forwarded for %q: %s, want %s", row.peer, row.forwarded, got, row.want)
		}
	}
}
