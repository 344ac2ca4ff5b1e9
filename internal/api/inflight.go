package api

import (
	"net/netip"
	"sync"

	"github.com/sortie-labs/sortie"
)

// places bounds how many requests do something at a time. There is no queue: whoever waited in one
// would give up before its end, and be worked for all the same.
type places chan struct{}

// take takes a place, to be released again, if there is one.
func (p places) take() error {
	select {
	case p <- struct{}{}:
		return nil
	default:
		return sortie.NewError(sortie.CodeServiceUnavailable, "too many requests are being worked on; try again shortly")
	}
}

func (p places) release() { <-p }

// counts is how many of something each client has at a time.
type counts[K comparable] struct {
	mu    sync.Mutex
	taken map[K]int
}

// take counts one more, to be released again, unless the client has most of them.
func (c *counts[K]) take(key K, most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken[key] >= most {
		return false
	}
	if c.taken == nil {
		c.taken = make(map[K]int)
	}
	c.taken[key]++
	return true
}

func (c *counts[K]) release(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken[key]--; c.taken[key] == 0 {
		delete(c.taken, key)
	}
}

// shares bounds how many transfers of one address are under way at a time: they may take long, so a
// single client that begins many and lets them trickle would keep all others out of the places. All
// addresses of an IPv6 /48 have networkShares of them.
type shares struct {
	most  int // 0: as many as there are places
	taken counts[netip.Prefix]
}

// networkShares is how many shares of one address all addresses of an IPv6 /48 have together.
const networkShares = 4

func newShares(most int) *shares { return &shares{most: most} }

// take takes a share, to be released again, if the address has one left.
func (s *shares) take(address netip.Prefix) error {
	if s.most == 0 {
		return nil
	}
	if !s.taken.take(address, s.most) {
		return s.refusal(s.most, "address")
	}
	if network, ok := networkOf(address); ok && !s.taken.take(network, networkShares*s.most) {
		s.taken.release(address)
		return s.refusal(networkShares*s.most, "network ("+network.String()+")")
	}
	return nil
}

func (*shares) refusal(most int, client string) error {
	return sortie.NewError(sortie.CodeServiceUnavailable, "%d transfers of this %s are under way, which is the most; wait for one of them to end", most, client)
}

func (s *shares) release(address netip.Prefix) {
	if s.most == 0 {
		return
	}
	s.taken.release(address)
	if network, ok := networkOf(address); ok {
		s.taken.release(network)
	}
}

// walletShares bounds how many lists of one wallet are under way at a time.
type walletShares struct {
	most  int // 0: no bound
	taken counts[sortie.Address]
}

func newWalletShares(most int) *walletShares { return &walletShares{most: most} }

// take takes a share, to be released again, if the wallet has one left.
func (s *walletShares) take(wallet sortie.Address) error {
	if s.most == 0 || s.taken.take(wallet, s.most) {
		return nil
	}
	return sortie.NewError(sortie.CodeServiceUnavailable, "%d lists of this wallet are under way, which is the most; ask for one after the other", s.most)
}

func (s *walletShares) release(wallet sortie.Address) {
	if s.most > 0 {
		s.taken.release(wallet)
	}
}
