package app

import (
	"math/big"
	"testing"

	"github.com/sortie-labs/sortie"
)

func someTerms() (sortie.Domain, sortie.MissionAuthorization) {
	return sortie.Domain{ChainID: 31337, Factory: sortie.Address{1}}, sortie.MissionAuthorization{
		MissionID: "photo-1", Token: sortie.Address{2}, RewardPerSubmission: big.NewInt(5), TargetCount: 3,
		Creator: sortie.Address{4}, Nonce: sortie.Hash{6}, Deadline: 1_770_000_000,
	}
}

// Quotes that differ in one term have different keys.
func TestTheCacheTellsQuotesApart(t *testing.T) {
	t.Parallel()
	cache := newQuoteCache(100)
	domain, terms := someTerms()
	cache.Add(newQuoteKey(domain, terms), sortie.Quote{ChainID: 1})
	for name, change := range map[string]func(*sortie.Domain, *sortie.MissionAuthorization){
		"chain":    func(d *sortie.Domain, _ *sortie.MissionAuthorization) { d.ChainID++ },
		"factory":  func(d *sortie.Domain, _ *sortie.MissionAuthorization) { d.Factory[19]++ },
		"mission":  func(_ *sortie.Domain, a *sortie.MissionAuthorization) { a.MissionID = "photo-2" },
		"token":    func(_ *sortie.Domain, a *sortie.MissionAuthorization) { a.Token[19]++ },
		"reward":   func(_ *sortie.Domain, a *sortie.MissionAuthorization) { a.RewardPerSubmission = big.NewInt(50) },
		"count":    func(_ *sortie.Domain, a *sortie.MissionAuthorization) { a.TargetCount++ },
		"creator":  func(_ *sortie.Domain, a *sortie.MissionAuthorization) { a.Creator[19]++ },
		"nonce":    func(_ *sortie.Domain, a *sortie.MissionAuthorization) { a.Nonce[31]++ },
		"deadline": func(_ *sortie.Domain, a *sortie.MissionAuthorization) { a.Deadline++ },
	} {
		domain, terms := someTerms()
		change(&domain, &terms)
		if _, known := cache.Get(newQuoteKey(domain, terms)); known {
			t.Errorf("another %s: got the first quote", name)
		}
	}
	domain, terms = someTerms()
	if got, known := cache.Get(newQuoteKey(domain, terms)); !known || got.ChainID != 1 {
		t.Errorf("the same terms: known %t, %+v", known, got)
	}
}

func TestTheCacheOfQuotesIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	const limit = 4
	cache := newQuoteCache(limit)
	domain, terms := someTerms()
	used := newQuoteKey(domain, terms)
	cache.Add(used, sortie.Quote{})
	terms.Deadline++
	unused := newQuoteKey(domain, terms)
	cache.Add(unused, sortie.Quote{})
	for range 100 {
		terms.Deadline++
		cache.Add(newQuoteKey(domain, terms), sortie.Quote{})
		if _, known := cache.Get(used); !known {
			t.Fatal("the quote in use was dropped")
		}
		if got := cache.Len(); got > limit {
			t.Fatalf("the cache holds %d quotes, want at most %d", got, limit)
		}
	}
	if _, known := cache.Get(unused); known {
		t.Error("the cache still holds the unused quote")
	}
}
