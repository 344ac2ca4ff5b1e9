package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

const headerForwardedFor = "X-Forwarded-For"

// clientAddress is the address that limits count a request against. The first X-Forwarded-For of a
// peer that is not trusted is logged: if the peer is a proxy, all its clients share one client's
// limits.
func (s *Server) clientAddress(r *http.Request) netip.Prefix {
	if s.config.Limits != nil && r.Header.Get(headerForwardedFor) != "" && !isTrusted(peerAddress(r), s.config.TrustedProxies) {
		s.proxyWarning.Do(func() {
			s.config.Logger.Warn("X-Forwarded-For of a peer that is not trusted is ignored: limits count the peer, not its clients; if it is your proxy, add it to --trusted-proxies",
				"peer", peerAddress(r).String())
		})
	}
	return clientAddress(r, s.config.TrustedProxies)
}

// clientAddress is the peer, or, for a peer that is a trusted proxy, the last address in
// X-Forwarded-For that is not one. IPv6 hosts own a /64 and count as one client.
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

// peerAddress is the other end of the connection; invalid where that is no IP address.
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

// parseForwarded reads an address as proxies write it: alone, in brackets, or with a port, as
// Azure's and HAProxy's can.
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
