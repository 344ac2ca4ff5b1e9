package sender

import (
	"math/big"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

const (
	firstRest   = 2 * time.Second  // of an intent that could not be prepared
	longestRest = 2 * time.Minute  // of one that cannot be prepared again and again
	firstWait   = 30 * time.Second // of one whose transaction was mined in vain
	longestWait = time.Hour        // of one to which that happens again and again
	poorFor     = 10 * time.Second // that nothing is begun because the account cannot pay
)

// state is what a sender knows only while it runs. Losing it costs time, never a transaction.
type state struct {
	head         sortie.Hash           // at which the outcomes were found
	observations map[int64]observation // by intent
	nextNonce    uint64                // all below are used or given out
	counted      bool                  // the chain was asked for that, by quorum

	broadcast map[sortie.Hash]time.Time // when a transaction was last handed to the nodes
	outbid    map[int64]bool            // intents whose newest transaction a node refused for another that pays as much
	takenAt   map[int64]onchain.Block   // where the nonce of an intent was first seen used by a stranger

	line      uint64    // the nonce that is first in line
	lineMoved time.Time // when it became that; zero when it always was
	inLine    bool

	gap      uint64 // a nonce that nobody holds
	gapSince time.Time

	resting map[int64]rest // intents that could not be prepared

	balance   *big.Int // of the account when it was last read; nil: not yet
	balanceAt time.Time
	gasCost   store.GasCost // when it was last read
	gasCostAt time.Time

	poor      string // what the account lacks; empty: nothing
	poorUntil time.Time
}

type rest struct {
	until  time.Time
	length time.Duration
}

func newState() state {
	return state{
		observations: map[int64]observation{}, broadcast: map[sortie.Hash]time.Time{}, outbid: map[int64]bool{},
		takenAt: map[int64]onchain.Block{}, resting: map[int64]rest{},
	}
}

// forget drops what is about intents that are over.
func (m *state) forget(r *tick) {
	active, transactions := map[int64]bool{}, map[sortie.Hash]bool{}
	for _, p := range r.intents {
		active[p.ID] = true
		for _, attempt := range p.Attempts {
			transactions[attempt.Hash] = true
		}
	}
	keep(m.observations, active)
	keep(m.outbid, active)
	keep(m.takenAt, active)
	keep(m.resting, active)
	keep(m.broadcast, transactions)
}

func keep[K comparable, V any](memories map[K]V, wanted map[K]bool) {
	for key := range memories {
		if !wanted[key] {
			delete(memories, key)
		}
	}
}

// firstInLine notes since when a nonce is the lowest that waits. What stood behind another did not
// wait for a better price.
func (m *state) firstInLine(nonce uint64, now time.Time) {
	if m.inLine && m.line != nonce {
		m.lineMoved = now
	}
	m.line, m.inLine = nonce, true
}

// gapLasts reports whether a gap has been there for so long that it will not close by itself.
func (m *state) gapLasts(nonce uint64, found bool, now time.Time) bool {
	if !found {
		m.gapSince = time.Time{}
		return false
	}
	if m.gapSince.IsZero() || m.gap != nonce {
		m.gap, m.gapSince = nonce, now
	}
	return now.Sub(m.gapSince) >= gapAfter
}

// rest lets an intent that could not be prepared wait, each time for longer.
func (m *state) rest(intent int64, now time.Time) {
	length := min(max(2*m.resting[intent].length, firstRest), longestRest)
	m.resting[intent] = rest{now.Add(length), length}
}

// restBriefly lets an intent wait that is held back, for as long every time.
func (m *state) restBriefly(intent int64, now time.Time) {
	m.resting[intent] = rest{until: now.Add(firstRest)}
}

// rests reports whether an intent waits. One whose transactions were mined in vain waits longer
// after each of them, counted by their nonces, because each has cost gas.
func (m *state) rests(intent store.Intent, now time.Time) bool {
	if now.Before(m.resting[intent.ID].until) {
		return true
	}
	nonces := map[uint64]bool{}
	var last time.Time
	for _, attempt := range intent.Attempts {
		if attempt.Sender == intent.Sender {
			nonces[attempt.Nonce] = true
			last = attempt.SentAt
		}
	}
	if len(nonces) == 0 {
		return false
	}
	return now.Before(last.Add(min(firstWait<<min(len(nonces)-1, 10), longestWait)))
}
