package app

import (
	"sync"

	"github.com/sortie-labs/sortie"
)

// quotesPerGeneration bounds the cache: two generations of this many quotes take 5 megabytes.
const quotesPerGeneration = 1 << 11

// quoteKey is all that a quote is made of, so an entry of the cache can never be wrong, only
// unused.
type quoteKey struct {
	domain      sortie.Domain
	missionID   string
	token       sortie.Address
	reward      string
	targetCount uint64
	creator     sortie.Address
	nonce       sortie.Hash
	deadline    uint64
}

func newQuoteKey(domain sortie.Domain, terms sortie.MissionAuthorization) quoteKey {
	return quoteKey{
		domain: domain, missionID: terms.MissionID, token: terms.Token, reward: terms.RewardPerSubmission.String(),
		targetCount: terms.TargetCount, creator: terms.Creator, nonce: terms.Nonce, deadline: terms.Deadline,
	}
}

// quoteCache remembers quotes as they were issued. A draft is read far more often than its deadline
// advances, and although the issuer remembers its signatures, hashing the terms to find one and
// proofreading the calldata anew is a third of a list.
//
// It has two generations. New and used entries go to the young one; when that is full, the old one
// is dropped and the young one becomes the old.
type quoteCache struct {
	limit int // entries of one generation

	mu         sync.Mutex
	young, old map[quoteKey]sortie.Quote
}

func newQuoteCache(limit int) *quoteCache {
	return &quoteCache{limit: limit, young: make(map[quoteKey]sortie.Quote)}
}

func (c *quoteCache) get(key quoteKey) (sortie.Quote, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.young[key]; ok {
		return known, true
	}
	known, ok := c.old[key]
	if ok {
		c.insert(key, known)
	}
	return known, ok
}

func (c *quoteCache) keep(key quoteKey, quote sortie.Quote) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.insert(key, quote)
}

func (c *quoteCache) insert(key quoteKey, quote sortie.Quote) {
	if len(c.young) >= c.limit {
		c.young, c.old = make(map[quoteKey]sortie.Quote), c.young
	}
	c.young[key] = quote
}
