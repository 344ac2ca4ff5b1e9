package sender

import (
	"math/big"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

const (
	firstRest   = 2 * time.Second  // after an intent could not be prepared
	longestRest = 2 * time.Minute  // after repeated failures
	firstWait   = 30 * time.Second // after a transaction was mined without effect
	longestWait = time.Hour        // after repeated ones
	poorFor     = 10 * time.Second // pause of new transactions because the balance is too low
)

// state is kept in memory only. Losing it costs time, never a transaction.
type state struct {
	head         sortie.Hash           // at which the observations were made
	observations map[int64]observation // by intent
	nextNonce    uint64                // all lower ones are used or assigned
	counted      bool                  // nextNonce was read from the chain, by quorum

	broadcast map[sortie.Hash]time.Time // when a transaction was last sent to the nodes
	outbid    map[int64]bool            // intents whose newest transaction a node refused for one with a similar price
	takenAt   map[int64]onchain.Block   // the block at which a foreign transaction was first seen to use the nonce of an intent

	line      uint64    // the lowest waiting nonce
	lineMoved time.Time // when it became the lowest; zero: always
	inLine    bool

	gap      uint64 // an unused nonce below a used one
	gapSince time.Time

	resting map[int64]rest // intents that could not be prepared

	balance   *big.Int // nil: not read yet
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

// forget drops the state of intents that are over.
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

// firstInLine stores since when a nonce is the lowest that waits. Others do not wait for a better
// price.
func (m *state) firstInLine(nonce uint64, now time.Time) {
	if m.inLine && m.line != nonce {
		m.lineMoved = now
	}
	m.line, m.inLine = nonce, true
}

// gapLasts reports whether a gap is old enough to be filled.
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

// rest delays an intent that could not be prepared, longer each time.
func (m *state) rest(intent int64, now time.Time) {
	length := min(max(2*m.resting[intent].length, firstRest), longestRest)
	m.resting[intent] = rest{now.Add(length), length}
}

// restBriefly delays an intent that is held.
func (m *state) restBriefly(intent int64, now time.Time) {
	m.resting[intent] = rest{until: now.Add(firstRest)}
}

// rests reports whether an intent is delayed. The delay grows with each nonce that was mined
// without effect, because each costs gas.
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
