package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

const headerForwardedFor = "X-Forwarded-For"

// clientAddress returns the address that limits count a request against. It logs the first
// X-Forwarded-For of an untrusted peer: if the peer is a proxy, all its clients share the limits of
// one client.
func (s *Server) clientAddress(r *http.Request) netip.Prefix {
	if s.config.Limits != nil && r.Header.Get(headerForwardedFor) != "" && !isTrusted(peerAddress(r), s.config.TrustedProxies) {
		s.proxyWarning.Do(func() {
			s.config.Logger.Warn("ignored X-Forwarded-For of an untrusted peer: limits count the peer, not its clients; if it is your proxy, configure it as a trusted proxy",
				"peer", peerAddress(r).String())
		})
	}
	return clientAddress(r, s.config.TrustedProxies)
}

// clientAddress returns the peer's address or, if the peer is a trusted proxy, the last address in
// X-Forwarded-For that is not a trusted proxy. The addresses of an IPv6 /64 count as one client.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Prefix {
	address := peerAddress(r)
	if !address.IsValid() {
		return netip.Prefix{}
	}
	forwarded := strings.Split(strings.Join(r.Header.Values(headerForwardedFor), ","), ",")
	for i := len(forwarded) - 1; i >= 0 && isTrusted(address, trusted); i-- {
		next, ok := parseForwarded(strings.TrimSpace(forwarded[i]))
		if !ok {
			break
		}
		address = next
	}
	bits := 32
	if address.Is6() {
		bits = 64
	}
	prefix, _ := address.Prefix(bits)
	return prefix
}

// peerAddress returns the address of the peer. It is invalid if the peer has no IP address.
func peerAddress(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap().WithZone("")
}

// parseForwarded parses an address as proxies write it: alone, in brackets, or with a port (Azure,
// HAProxy).
func parseForwarded(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	if inner, found := strings.CutPrefix(text, "["); found {
		text = strings.TrimSuffix(inner, "]")
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, false
	}
	return address.Unmap().WithZone(""), true
}

func isTrusted(address netip.Addr, trusted []netip.Prefix) bool {
	for _, prefix := range trusted {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}
