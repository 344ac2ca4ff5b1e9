package funding_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
)

// compare measures two implementations in turns, so that noise affects both, and reports how many
// times cheaper the first is.
func compare(b *testing.B, ours, reference func()) {
	b.Helper()
	const turn = 64 // calls between two readings of the clock
	measure := func(do func()) time.Duration {
		start := time.Now()
		for range turn {
			do()
		}
		return time.Since(start)
	}
	var cheap, dear time.Duration
	turns := 0
	for b.Loop() {
		cheap += measure(ours)
		dear += measure(reference)
		turns++
	}
	calls := float64(turns * turn)
	b.ReportMetric(0, "ns/op") // hides the sum of both, which has no meaning
	b.ReportMetric(float64(cheap.Nanoseconds())/calls, "ns/ours")
	b.ReportMetric(float64(dear.Nanoseconds())/calls, "ns/reference")
	b.ReportMetric(float64(dear)/float64(cheap), "x-cheaper")
}

func BenchmarkDigestRatio(b *testing.B) {
	v := loadVectors(b)
	domain, separator := v.domain(), v.domain().Separator()
	b.Run("authorization", func(b *testing.B) {
		a := v.terms()
		compare(b, func() { a.Digest(separator) }, func() { typedDigest(b, domain, "MissionAuthorization", authorizationMessage(a)) })
	})
	b.Run("settlement of 10", func(b *testing.B) {
		s := newRandom(5).settlement(10)
		compare(b, func() { s.Digest(separator) }, func() { typedDigest(b, domain, "Settlement", settlementMessage(s)) })
	})
	b.Run("close", func(b *testing.B) {
		c := v.Close.Message
		compare(b, func() { c.Digest(separator) }, func() { typedDigest(b, domain, "Close", closeMessage(c)) })
	})
}

func BenchmarkCalldataRatio(b *testing.B) {
	v, contract := loadVectors(b), mustABI(b)
	signature := v.Authorization.Signature
	b.Run("authorization", func(b *testing.B) {
		a := v.terms()
		compare(b, func() { a.Calldata(signature) }, func() { packAuthorization(b, contract, a, signature) })
	})
	b.Run("settlement of 10", func(b *testing.B) {
		s := newRandom(6).settlement(10)
		compare(b, func() { s.Calldata(signature) }, func() { packSettlement(b, contract, s, signature) })
	})
	b.Run("close", func(b *testing.B) {
		c := v.Close.Message
		compare(b, func() { c.Calldata(signature) }, func() { packClose(b, contract, c, signature) })
	})
}

// BenchmarkRecoverPortable measures a creator's check of a quote's signature.
func BenchmarkRecoverPortable(b *testing.B) {
	v := loadVectors(b)
	for b.Loop() {
		if _, err := sortie.RecoverAddress(v.Authorization.Digest, v.Authorization.Signature); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkQuoteRatio compares the quote of a draft that was already read in this step with that of
// a new draft.
func BenchmarkQuoteRatio(b *testing.B) {
	v := loadVectors(b)
	issuer := mustIssuer(b, v.domain(), v.signer(b), funding.DefaultTTL)
	known, fresh := v.terms(), v.terms()
	drafts := uint64(0)
	compare(b, func() { mustQuote(b, issuer, known, noon) }, func() {
		drafts++
		binary.BigEndian.PutUint64(fresh.Nonce[:], drafts)
		mustQuote(b, issuer, fresh, noon)
	})
}

func BenchmarkQuoteKnownParallel(b *testing.B) {
	v := loadVectors(b)
	issuer := mustIssuer(b, v.domain(), v.signer(b), funding.DefaultTTL)
	mustQuote(b, issuer, v.terms(), noon)
	b.ReportAllocs()
	b.RunParallel(func(each *testing.PB) {
		terms := v.terms()
		for each.Next() {
			if _, err := issuer.Quote(b.Context(), terms, noon); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
