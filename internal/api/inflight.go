package api

import (
	"net/netip"
	"sync"

	"github.com/sortie-labs/sortie"
)

// semaphore bounds how many requests are in flight. There is no queue: a client that waits in one
// often disconnects before its turn, and its request would still be handled.
type semaphore chan struct{}

// acquire fails at once when the semaphore is full. The caller calls release after a success.
func (s semaphore) acquire() error {
	select {
	case s <- struct{}{}:
		return nil
	default:
		return sortie.NewError(sortie.CodeServiceUnavailable, "too many requests are in flight; try again shortly")
	}
}

func (s semaphore) release() { <-s }

// counts is how many operations each key has in flight.
type counts[K comparable] struct {
	mu    sync.Mutex
	byKey map[K]int
}

// acquire counts one more operation of the key, unless it has limit of them in flight.
func (c *counts[K]) acquire(key K, limit int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] >= limit {
		return false
	}
	if c.byKey == nil {
		c.byKey = make(map[K]int)
	}
	c.byKey[key]++
	return true
}

func (c *counts[K]) release(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key]--; c.byKey[key] == 0 {
		delete(c.byKey, key)
	}
}

// perClient bounds how many transfers of one address are in flight. Transfers can be slow, so a
// single client could otherwise fill the semaphore. All addresses of an IPv6 /48 together have
// networkShares times the limit of one.
type perClient struct {
	limit  int // 0: no limit
	counts counts[netip.Prefix]
}

// networkShares is by how much the limit of an IPv6 /48 is larger than that of one address.
const networkShares = 4

func newPerClient(limit int) *perClient { return &perClient{limit: limit} }

// acquire fails at once when the address or its network is at its limit.
func (p *perClient) acquire(address netip.Prefix) error {
	if p.limit == 0 {
		return nil
	}
	if !p.counts.acquire(address, p.limit) {
		return errClientBusy(p.limit, "address")
	}
	if network, ok := networkOf(address); ok && !p.counts.acquire(network, networkShares*p.limit) {
		p.counts.release(address)
		return errClientBusy(networkShares*p.limit, "network ("+network.String()+")")
	}
	return nil
}

func errClientBusy(limit int, client string) error {
	return sortie.NewError(sortie.CodeServiceUnavailable, "this %s has %d transfers in flight, which is the limit; wait for one to end", client, limit)
}

func (p *perClient) release(address netip.Prefix) {
	if p.limit == 0 {
		return
	}
	p.counts.release(address)
	if network, ok := networkOf(address); ok {
		p.counts.release(network)
	}
}

// perWallet bounds how many lists of one wallet are in flight.
type perWallet struct {
	limit  int // 0: no limit
	counts counts[sortie.Address]
}

func newPerWallet(limit int) *perWallet { return &perWallet{limit: limit} }

// acquire fails at once when the wallet is at its limit.
func (p *perWallet) acquire(wallet sortie.Address) error {
	if p.limit == 0 || p.counts.acquire(wallet, p.limit) {
		return nil
	}
	return sortie.NewError(sortie.CodeServiceUnavailable, "this wallet has %d lists in flight, which is the limit; read one list after the other", p.limit)
}

func (p *perWallet) release(wallet sortie.Address) {
	if p.limit > 0 {
		p.counts.release(wallet)
	}
}
