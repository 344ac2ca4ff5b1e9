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

// Issuer makes funding quotes: it signs the terms of a draft, checks what it is about to say, and
// says it. A quote is a pure function of the draft and of a deadline that advances in steps, so
// reading a draft again writes nothing and gives the same bytes inside a step. An Issuer may be
// used by many goroutines.
type Issuer struct {
	domain    sortie.Domain
	separator sortie.Hash
	signer    checked
	step      int64 // seconds: half the TTL
	signed    *signatureCache
}

// NewIssuer makes an issuer for one factory contract. The TTL is a whole and even number of seconds
// between MinTTL and MaxTTL: at least half of it is left of every quote.
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
		signed:    newSignatureCache(signaturesPerGeneration),
	}, nil
}

func checkDomain(domain sortie.Domain) error {
	switch {
	case domain.ChainID == 0:
		return errors.New("chain id 0: want the id of the funding chain")
	case domain.Factory.IsZero():
		return errors.New("factory: the zero address is no contract")
	}
	return nil
}

// Signer is the address that quotes are signed with.
func (i *Issuer) Signer() sortie.Address { return i.signer.Address() }

// Deadline is the deadline of a quote issued now: now rounded up to the next half TTL, and half a
// TTL more.
func (i *Issuer) Deadline(now time.Time) uint64 {
	seconds := now.Unix()
	if now.Nanosecond() > 0 {
		seconds++
	}
	steps := (seconds + i.step - 1) / i.step
	return uint64((steps + 1) * i.step)
}

// In is the issuer for another factory contract, with the same key: drafts stay with the factory
// they were made for.
func (i *Issuer) In(domain sortie.Domain) *Issuer {
	if domain == i.domain {
		return i
	}
	other := *i
	other.domain, other.separator = domain, domain.Separator()
	return &other
}

// Quote issues the quote of a draft now: the terms without their deadline, which the issuer sets.
// See [Issuer.QuoteUntil].
func (i *Issuer) Quote(ctx context.Context, terms sortie.MissionAuthorization, now time.Time) (sortie.Quote, error) {
	if now.Unix() < 0 {
		return sortie.Quote{}, fmt.Errorf("issue quote: the clock says %s; set it", sortie.FormatTime(now))
	}
	terms.Deadline = i.Deadline(now)
	return i.QuoteUntil(ctx, terms, now)
}

// QuoteUntil issues the quote of a draft with the deadline it names: how a quote that is no longer
// renewed is shown. Before it answers it decodes its own calldata and compares it with the terms;
// the signature has been recovered to the signer.
//
// A deadline later than that of a quote issued now is refused: it could not have been issued
// before.
//
// It fails with a *SignError when the signer gave no usable signature. Every other failure means
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
	if err := proofread(quote.Calldata, terms, signature[:]); err != nil {
		return sortie.Quote{}, fmt.Errorf("issue quote: %w", err)
	}
	return quote, nil
}

// sign signs the authorization, or finds the signature it made of it before.
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

// proofread reads calldata as the contract will and compares it with what was meant.
func proofread(calldata []byte, meant sortie.MissionAuthorization, signature []byte) error {
	read, signed, err := sortie.DecodeCalldata(calldata)
	switch {
	case err != nil:
		return fmt.Errorf("proofread: %w", err)
	case read.MissionID != meant.MissionID || read.Nonce != meant.Nonce || read.Deadline != meant.Deadline:
		return errors.New("proofread: the calldata names another mission, nonce or deadline than the draft")
	case read.Token != meant.Token || read.RewardPerSubmission.Cmp(meant.RewardPerSubmission) != 0 || read.TargetCount != meant.TargetCount:
		return errors.New("proofread: the calldata moves other money than the draft")
	case read.Creator != meant.Creator:
		return errors.New("proofread: the calldata names another creator than the draft")
	case !bytes.Equal(signed, signature):
		return errors.New("proofread: the calldata carries another signature than the quote")
	}
	return nil
}
