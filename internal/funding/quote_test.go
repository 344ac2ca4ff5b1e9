package funding_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
)

// noon is inside a step, not on its edge.
var noon = time.Date(2026, 2, 2, 12, 1, 0, 0, time.UTC)

func mustIssuer(t testing.TB, domain sortie.Domain, signer funding.Signer, ttl time.Duration) *funding.Issuer {
	t.Helper()
	issuer, err := funding.NewIssuer(domain, signer, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return issuer
}

func mustQuote(t testing.TB, issuer *funding.Issuer, terms sortie.MissionAuthorization, now time.Time) sortie.Quote {
	t.Helper()
	quote, err := issuer.Quote(t.Context(), terms, now)
	if err != nil {
		t.Fatal(err)
	}
	return quote
}

func asJSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestQuoteIsWhatACreatorVerifies(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	issuer := mustIssuer(t, v.domain(), v.signer(t), funding.DefaultTTL)
	quote := mustQuote(t, issuer, v.terms(), noon)
	equal(t, "signer", quote.Authorization.Signer, issuer.Signer())
	equal(t, "deadline", quote.Authorization.ExpiresAt, "2026-02-02T12:30:00.000Z")
	asked := sortie.Ask{
		Creator: v.terms().Creator, MissionID: v.terms().MissionID, Token: sortie.TokenUSDC, Amount: "2.5", TargetCount: 4,
	}
	trust := sortie.Trust{
		ChainID: v.Domain.ChainID, Factory: v.Domain.VerifyingContract, Authorizers: []sortie.Address{v.Keys.Service.Address},
		Tokens: map[sortie.Token]sortie.TrustedToken{sortie.TokenUSDC: {Address: v.terms().Token, Decimals: 6}},
	}
	if err := sortie.VerifyQuote(quote, asked, trust, noon); err != nil {
		t.Error(err)
	}
}

// validTTL draws a TTL that NewIssuer takes.
func validTTL(rt *rapid.T) time.Duration {
	half := rapid.IntRange(150, 1800).Draw(rt, "half TTL")
	return time.Duration(2*half) * time.Second
}

func TestDeadlinesAdvanceInSteps(t *testing.T) {
	t.Parallel()
	signer := mustSigner(t, [32]byte{31: 1})
	domain := sortie.Domain{ChainID: 1, Factory: sortie.Address{1}}
	rapid.Check(t, func(rt *rapid.T) {
		ttl := validTTL(rt)
		issuer, err := funding.NewIssuer(domain, signer, ttl)
		if err != nil {
			rt.Fatal(err)
		}
		now := time.Unix(rapid.Int64Range(0, 1<<34).Draw(rt, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(rt, "nanoseconds"))
		deadline := time.Unix(int64(issuer.Deadline(now)), 0)
		if left := deadline.Sub(now); left < ttl/2 || left > ttl {
			rt.Fatalf("time to the deadline: got %s, want %s to %s", left, ttl/2, ttl)
		}
		later := now.Add(time.Duration(rapid.Int64Range(0, int64(2*ttl)).Draw(rt, "later")))
		next := time.Unix(int64(issuer.Deadline(later)), 0)
		if next.Before(deadline) {
			rt.Fatalf("the deadline went back from %s to %s", deadline, next)
		}
		// A step ends half a TTL before its deadline, and the instant of its end still belongs to
		// it.
		end := deadline.Add(-ttl / 2)
		if sameStep := !later.After(end); sameStep != next.Equal(deadline) {
			rt.Fatalf("now %s, later %s, step ends %s: got deadlines %s and %s, want them equal: %t", now, later, end, deadline, next, sameStep)
		}
	})
}

func TestQuotesAreByteEqualInsideAStep(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	start := time.Unix(1_770_000_300, 1) // just after an edge of 900 s
	rapid.Check(t, func(rt *rapid.T) {
		first := mustQuote(t, mustIssuer(t, v.domain(), v.signer(t), funding.DefaultTTL), v.terms(), start)
		other := mustIssuer(t, v.domain(), v.signer(t), funding.DefaultTTL) // another process
		after := time.Duration(rapid.Int64Range(0, int64(900*time.Second)-1).Draw(rt, "after"))
		again := mustQuote(t, other, v.terms(), start.Add(after))
		if asJSON(t, first) != asJSON(t, again) {
			rt.Fatalf("quote %s later: got %s, want %s", after, asJSON(t, again), asJSON(t, first))
		}
		next := mustQuote(t, other, v.terms(), start.Add(900*time.Second))
		if next.Authorization.Deadline != first.Authorization.Deadline+900 {
			rt.Fatalf("deadline of the next step: got %d, want %d", next.Authorization.Deadline, first.Authorization.Deadline+900)
		}
	})
}

func TestReadsInsideAStepDoNotSignAgain(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	asked := &recordingSigner{Signer: v.signer(t)}
	issuer := mustIssuer(t, v.domain(), asked, funding.DefaultTTL)
	var wait sync.WaitGroup
	first := asJSON(t, mustQuote(t, issuer, v.terms(), noon))
	for range 8 {
		wait.Go(func() {
			for second := range 100 {
				quote, err := issuer.Quote(t.Context(), v.terms(), noon.Add(time.Duration(second)*time.Second))
				if err != nil || asJSON(t, quote) != first {
					t.Errorf("quote after %d s: got %v, error %v; want %s", second, quote, err, first)
					return
				}
			}
		})
	}
	wait.Wait()
	equal(t, "signatures", asked.count(), 1)
	mustQuote(t, issuer, v.terms(), noon.Add(15*time.Minute))
	equal(t, "signatures after the next step", asked.count(), 2)
}

// A caller that changes a returned quote must not change the next one.
func TestQuotesShareNoBytes(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	issuer := mustIssuer(t, v.domain(), v.signer(t), funding.DefaultTTL)
	given := mustQuote(t, issuer, v.terms(), noon)
	before := asJSON(t, given)
	clear(given.Authorization.Signature)
	clear(given.Calldata)
	equal(t, "second answer", asJSON(t, mustQuote(t, issuer, v.terms(), noon)), before)
}

// Two drafts that differ in any field must never get the same signature from the cache.
func TestEveryTermIsSigned(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	issuer := mustIssuer(t, v.domain(), v.signer(t), funding.DefaultTTL)
	seen := map[string]string{mustQuote(t, issuer, v.terms(), noon).Authorization.Signature.String(): "original"}
	alterations := map[string]func(*sortie.MissionAuthorization){
		"mission id": func(a *sortie.MissionAuthorization) { a.MissionID += "x" },
		"token":      func(a *sortie.MissionAuthorization) { a.Token[19] ^= 1 },
		"reward":     func(a *sortie.MissionAuthorization) { a.RewardPerSubmission.Add(a.RewardPerSubmission, big.NewInt(1)) },
		"target":     func(a *sortie.MissionAuthorization) { a.TargetCount++ },
		"creator":    func(a *sortie.MissionAuthorization) { a.Creator[19] ^= 1 },
		"nonce":      func(a *sortie.MissionAuthorization) { a.Nonce[31] ^= 1 },
	}
	for name, alter := range alterations {
		terms := v.terms()
		alter(&terms)
		signature := mustQuote(t, issuer, terms, noon).Authorization.Signature.String()
		if other, known := seen[signature]; known {
			t.Errorf("terms with another %s: got the signature of %s, want a new one", name, other)
		}
		seen[signature] = name
	}
}

func TestIssuerRefusesBadTerms(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	issuer := mustIssuer(t, v.domain(), v.signer(t), funding.DefaultTTL)
	cases := map[string]struct {
		alter func(*sortie.MissionAuthorization)
		want  string
	}{
		"no id":          {func(a *sortie.MissionAuthorization) { a.MissionID = "" }, "issue quote: mission id: want 1-64 bytes of UTF-8"},
		"long id":        {func(a *sortie.MissionAuthorization) { a.MissionID = strings.Repeat("x", 65) }, "issue quote: mission id: want 1-64 bytes of UTF-8"},
		"no token":       {func(a *sortie.MissionAuthorization) { a.Token = sortie.Address{} }, "issue quote: token: the zero address is no token"},
		"no reward":      {func(a *sortie.MissionAuthorization) { a.RewardPerSubmission = nil }, "issue quote: reward: want a positive number of base units of at most 96 bits"},
		"minus reward":   {func(a *sortie.MissionAuthorization) { a.RewardPerSubmission = big.NewInt(-1) }, "issue quote: reward: want a positive number of base units of at most 96 bits"},
		"reward 2^96":    {func(a *sortie.MissionAuthorization) { a.RewardPerSubmission = new(big.Int).Lsh(big.NewInt(1), 96) }, "issue quote: reward: want a positive number of base units of at most 96 bits"},
		"no target":      {func(a *sortie.MissionAuthorization) { a.TargetCount = 0 }, "issue quote: target count: want 1-100000"},
		"target 100001":  {func(a *sortie.MissionAuthorization) { a.TargetCount = 100_001 }, "issue quote: target count: want 1-100000"},
		"no creator":     {func(a *sortie.MissionAuthorization) { a.Creator = sortie.Address{} }, "issue quote: creator: the zero address cannot fund"},
		"no nonce":       {func(a *sortie.MissionAuthorization) { a.Nonce = sortie.Hash{} }, "issue quote: nonce: want the draft's 32 random bytes, got zeros"},
		"clock not set?": {nil, "issue quote: the clock is wrong: it shows 1969-12-31T23:59:59.000Z"},
	}
	for name, bad := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			terms, now := v.terms(), noon
			if bad.alter == nil {
				now = time.Unix(-1, 0)
			} else {
				bad.alter(&terms)
			}
			_, err := issuer.Quote(t.Context(), terms, now)
			failsWith(t, err, bad.want)
			if signErr := (*funding.SignError)(nil); errors.As(err, &signErr) {
				t.Error("got a SignError for bad terms, want another error")
			}
		})
	}
}

func TestNewIssuerRefuses(t *testing.T) {
	t.Parallel()
	good := sortie.Domain{ChainID: 1, Factory: sortie.Address{1}}
	cases := []struct {
		domain sortie.Domain
		ttl    time.Duration
		want   string
	}{
		{good, 0, "authorization TTL 0s: want 300 to 3600 seconds"},
		{good, -time.Hour, "authorization TTL -1h0m0s: want 300 to 3600 seconds"},
		{good, 298 * time.Second, "authorization TTL 4m58s: want 300 to 3600 seconds"},
		{good, 3602 * time.Second, "authorization TTL 1h0m2s: want 300 to 3600 seconds"},
		{good, 301 * time.Second, "authorization TTL 5m1s: want an even number of whole seconds, because deadlines advance by half of it"},
		{good, 300*time.Second + time.Millisecond, "authorization TTL 5m0.001s: want an even number of whole seconds, because deadlines advance by half of it"},
		{sortie.Domain{Factory: sortie.Address{1}}, funding.DefaultTTL, "chain id 0: want the id of the funding chain"},
		{sortie.Domain{ChainID: 1}, funding.DefaultTTL, "factory: the zero address is not a contract"},
	}
	for _, bad := range cases {
		_, err := funding.NewIssuer(bad.domain, mustSigner(t, [32]byte{31: 1}), bad.ttl)
		failsWith(t, err, bad.want)
	}
	for _, ttl := range []time.Duration{funding.MinTTL, funding.DefaultTTL, funding.MaxTTL} {
		if _, err := funding.NewIssuer(good, mustSigner(t, [32]byte{31: 1}), ttl); err != nil {
			t.Errorf("NewIssuer with TTL %s: got %v, want no error", ttl, err)
		}
	}
}

// A failure is not cached: the next read asks the signer again.
func TestIssuerRecoversWithItsSigner(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	signer := &sometimes{Signer: v.signer(t), fail: true}
	issuer := mustIssuer(t, v.domain(), signer, funding.DefaultTTL)
	if _, err := issuer.Quote(t.Context(), v.terms(), noon); err == nil {
		t.Fatal("quote with a failing signer: got no error, want one")
	}
	signer.fail = false
	mustQuote(t, issuer, v.terms(), noon)
}

type sometimes struct {
	funding.Signer
	fail bool
}

func (s *sometimes) Sign(ctx context.Context, request funding.SignRequest) (sortie.Bytes, error) {
	if s.fail {
		return nil, errors.New("not now")
	}
	return s.Signer.Sign(ctx, request)
}

// Issuers of two factories share a cache but never a signature: the domain is part of the digest.
func TestIssuerInAnotherDomain(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	here := mustIssuer(t, v.domain(), v.signer(t), funding.DefaultTTL)
	for name, domain := range map[string]sortie.Domain{
		"factory": {ChainID: v.Domain.ChainID, Factory: sortie.Address{9}},
		"chain":   {ChainID: v.Domain.ChainID + 1, Factory: v.Domain.VerifyingContract},
	} {
		first := asJSON(t, mustQuote(t, here, v.terms(), noon))
		there := mustQuote(t, here.In(domain), v.terms(), noon)
		alone := mustQuote(t, mustIssuer(t, domain, v.signer(t), funding.DefaultTTL), v.terms(), noon)
		equal(t, name+": quote", asJSON(t, there), asJSON(t, alone))
		equal(t, name+": quote of the first issuer", asJSON(t, mustQuote(t, here, v.terms(), noon)), first)
	}
	equal(t, "its own domain", here.In(v.domain()), here)
}

// A frozen quote keeps the bytes that it had when it was issued, also in another process.
func TestQuoteUntilRepeatsAnOldQuote(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	issued := mustQuote(t, mustIssuer(t, v.domain(), v.signer(t), funding.DefaultTTL), v.terms(), noon)
	terms := v.terms()
	terms.Deadline = issued.Authorization.Deadline
	frozen, err := mustIssuer(t, v.domain(), v.signer(t), funding.MinTTL).QuoteUntil(t.Context(), terms, noon.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "quote", asJSON(t, frozen), asJSON(t, issued))
	repeated, err := mustIssuer(t, v.domain(), v.signer(t), funding.DefaultTTL).QuoteUntil(t.Context(), v.terms(), noon.Add(365*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "calldata of the vectors", repeated.Calldata.String(), v.Authorization.Calldata.String())
	terms.Deadline++
	if _, err := mustIssuer(t, v.domain(), v.signer(t), funding.DefaultTTL).QuoteUntil(t.Context(), terms, noon); err == nil {
		t.Error("QuoteUntil with a deadline later than that of a quote issued now: got no error, want one")
	}
}
