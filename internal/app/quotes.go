package app

import (
	"github.com/ethereum/go-ethereum/common/lru"

	"github.com/sortie-labs/sortie"
)

// cachedQuotes is how many quotes the cache holds: 5 megabytes.
const cachedQuotes = 1 << 12

// quoteKey is everything that a quote is made of, so a cached quote cannot be out of date.
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

// newQuoteCache returns a cache of issued quotes. A draft is read more often than its deadline
// advances. The issuer remembers its signatures, but hashing the terms and checking the calldata
// again would take a third of the time of a list.
func newQuoteCache(limit int) *lru.Cache[quoteKey, sortie.Quote] {
	return lru.NewCache[quoteKey, sortie.Quote](limit)
}
