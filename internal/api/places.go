package api

import (
	"net/netip"
	"sync"

	"github.com/sortie-labs/sortie"
)

// bodiesPerPlace is how many more bodies may be on their way than requests are worked on: one costs memory, but no work.
const bodiesPerPlace = 4

// places bounds how many requests do something at a time. There is no queue: whoever waited in one would give up before
// its end, and be worked for all the same.
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

// shares bounds how many transfers of one address are on their way at a time: they may take long, so a single client that begins
// many and lets them trickle would keep everybody else out of the places.
type shares struct {
	most  int // 0: as many as there are places
	mu    sync.Mutex
	taken map[netip.Prefix]int
}

func newShares(most int) *shares { return &shares{most: most, taken: make(map[netip.Prefix]int)} }

// take takes a share, to be released again, if the address has one left.
func (s *shares) take(address netip.Prefix) error {
	if s.most == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[address] >= s.most {
		return sortie.NewError(sortie.CodeServiceUnavailable, "%d transfers of this address are on their way, and that is the most; wait for one of them to end", s.most)
	}
	s.taken[address]++
	return nil
}

func (s *shares) release(address netip.Prefix) {
	if s.most == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[address]--; s.taken[address] == 0 {
		delete(s.taken, address)
	}
}
