package funding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
)

// The bounds of an authorization's time to live.
const (
	DefaultTTL = 30 * time.Minute
	MinTTL     = 5 * time.Minute
	MaxTTL     = time.Hour
)

// Issuer makes funding quotes: it signs the terms of a draft and checks the calldata before it
// returns it. A quote is a pure function of the draft and of a deadline that advances in steps, so
// reading a draft again writes nothing and returns the same bytes within a step. An Issuer is safe
// for concurrent use.
type Issuer struct {
	domain    sortie.Domain
	separator sortie.Hash
	signer    checked
	step      int64 // seconds: half the TTL
	signed    *signatureCache
}

// NewIssuer makes an issuer for one factory contract. The TTL is an even number of whole seconds
// between MinTTL and MaxTTL. A quote is valid for at least half of it.
func NewIssuer(domain sortie.Domain, signer Signer, ttl time.Duration) (*Issuer, error) {
	if err := checkDomain(domain); err != nil {
		return nil, err
	}
	if ttl < MinTTL || ttl > MaxTTL {
		return nil, fmt.Errorf("authorization TTL %s: want %.0f to %.0f seconds", ttl, MinTTL.Seconds(), MaxTTL.Seconds())
	}
	if ttl%(2*time.Second) != 0 {
		return nil, fmt.Errorf("authorization TTL %s: want an even number of whole seconds, because deadlines advance by half of it", ttl)
	}
	return &Issuer{
		domain:    domain,
		separator: domain.Separator(),
		signer:    check(signer),
		step:      int64(ttl / time.Second / 2),
		signed:    newSignatureCache(maxSignatures),
	}, nil
}

func checkDomain(domain sortie.Domain) error {
	switch {
	case domain.ChainID == 0:
		return errors.New("chain id 0: want the id of the funding chain")
	case domain.Factory.IsZero():
		return errors.New("factory: the zero address is not a contract")
	}
	return nil
}

// Signer is the address that quotes are signed with.
func (i *Issuer) Signer() sortie.Address { return i.signer.Address() }

// Deadline is the deadline of a quote issued now: now rounded up to the next half TTL, plus half a
// TTL.
func (i *Issuer) Deadline(now time.Time) uint64 {
	seconds := now.Unix()
	if now.Nanosecond() > 0 {
		seconds++
	}
	steps := (seconds + i.step - 1) / i.step
	return uint64((steps + 1) * i.step)
}

// In returns the issuer for another factory contract, with the same key: a draft keeps the factory
// that it was created for.
func (i *Issuer) In(domain sortie.Domain) *Issuer {
	if domain == i.domain {
		return i
	}
	other := *i
	other.domain, other.separator = domain, domain.Separator()
	return &other
}

// Quote issues the quote of a draft now. It sets the deadline of the terms. See
// [Issuer.QuoteUntil].
func (i *Issuer) Quote(ctx context.Context, terms sortie.MissionAuthorization, now time.Time) (sortie.Quote, error) {
	if now.Unix() < 0 {
		return sortie.Quote{}, fmt.Errorf("issue quote: the clock is wrong: it shows %s", sortie.FormatTime(now))
	}
	terms.Deadline = i.Deadline(now)
	return i.QuoteUntil(ctx, terms, now)
}

// QuoteUntil issues the quote of a draft with the deadline of the terms, for quotes that are no
// longer renewed. Before it returns the quote it decodes the calldata and compares it with the
// terms, and recovers the signature to the signer.
//
// It refuses a deadline later than that of a quote issued now: no earlier quote can have had it.
//
// It fails with a *SignError when the signer returned no usable signature. Every other error means
// that the terms are wrong.
func (i *Issuer) QuoteUntil(ctx context.Context, terms sortie.MissionAuthorization, now time.Time) (sortie.Quote, error) {
	if latest := i.Deadline(now); terms.Deadline > latest {
		return sortie.Quote{}, fmt.Errorf("issue quote: deadline %d is later than %d, the latest of a quote issued now", terms.Deadline, latest)
	}
	if err := terms.Validate(); err != nil {
		return sortie.Quote{}, fmt.Errorf("issue quote: %w", err)
	}
	if terms.Nonce == (sortie.Hash{}) {
		return sortie.Quote{}, errors.New("issue quote: nonce: want the draft's 32 random bytes, got zeros")
	}
	signature, err := i.sign(ctx, terms)
	if err != nil {
		return sortie.Quote{}, fmt.Errorf("issue quote: %w", err)
	}
	quote := sortie.NewQuote(i.domain, terms, i.signer.Address(), signature[:])
	if err := checkCalldata(quote.Calldata, terms, signature[:]); err != nil {
		return sortie.Quote{}, fmt.Errorf("issue quote: %w", err)
	}
	return quote, nil
}

// sign signs the authorization, or returns the signature from the cache.
func (i *Issuer) sign(ctx context.Context, a sortie.MissionAuthorization) (signature, error) {
	digest := a.Digest(i.separator)
	if known, ok := i.signed.get(digest); ok {
		return known, nil
	}
	request := SignRequest{Purpose: PurposeAuthorization, Digest: digest, Content: authorizationContent(i.domain, a)}
	made, err := i.signer.Sign(ctx, request)
	if err != nil {
		return signature{}, err
	}
	return i.signed.keep(digest, signature(made)), nil
}

// checkCalldata decodes calldata as the contract does and compares it with the terms and the
// signature.
func checkCalldata(calldata []byte, terms sortie.MissionAuthorization, signature []byte) error {
	read, signed, err := sortie.DecodeCalldata(calldata)
	switch {
	case err != nil:
		return fmt.Errorf("check calldata: %w", err)
	case read.MissionID != terms.MissionID || read.Nonce != terms.Nonce || read.Deadline != terms.Deadline:
		return errors.New("check calldata: its mission, nonce or deadline differs from the draft's")
	case read.Token != terms.Token || read.RewardPerSubmission.Cmp(terms.RewardPerSubmission) != 0 || read.TargetCount != terms.TargetCount:
		return errors.New("check calldata: its token, reward or target count differs from the draft's")
	case read.Creator != terms.Creator:
		return errors.New("check calldata: its creator differs from the draft's")
	case !bytes.Equal(signed, signature):
		return errors.New("check calldata: its signature differs from the quote's")
	}
	return nil
}
