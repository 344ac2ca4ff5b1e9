package wallet

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sortie-labs/sortie"
)

// Config says what a [Verifier] needs to know. Its zero value verifies plain keys only, for http://
// and any host: right for development.
type Config struct {
	// PublicURLs are the base URLs under which clients know the service, such as
	// https://api.example.com. Clients sign one of them, so they are never taken from the request:
	// of several, the one whose host is the request's Host is used, and if none is (a proxy that
	// rewrites Host), the first. None at all means http:// and the request's Host, for development.
	PublicURLs []string
	// Now is the service's clock; time.Now unless set.
	Now func() time.Time
	// Call asks a node of the funding chain. Without it a request that no plain key signed is
	// answered "unavailable".
	Call Caller
	// AllowDelegated lets the delegate of an account with delegated code (EIP-7702) decide who
	// signed for it. Unless set, only the account's own key counts.
	AllowDelegated bool
	// MaxCalls bounds the calls at one time; 32 unless set. At 50 ms a call that is 640 contract
	// wallets a second.
	MaxCalls int
	// MaxVerdicts bounds how many verdicts about contract wallets are remembered; 8192 unless set.
	MaxVerdicts int
}

// Identity is who signed a request.
type Identity struct {
	Wallet sortie.Address
	// Digest is the hash that was signed. It names the request: whatever bytes the signature has, a
	// repeated request has the same digest. A write that is not idempotent by itself refuses a
	// digest it has seen inside the clock window.
	Digest sortie.Hash
	// Base is the base URL of the service that the request was signed for: links in the answer
	// begin with it.
	Base string
	// SignedAt is the timestamp of the request.
	SignedAt time.Time
}

// Verifier verifies signed requests. It is safe for concurrent use.
type Verifier struct {
	bases          baseURLs
	now            func() time.Time
	checks         *contractChecks
	allowDelegated bool
	counts         counts
}

// New makes a verifier. It fails on a public URL that no client could sign.
func New(config Config) (*Verifier, error) {
	bases, err := parseBaseURLs(config.PublicURLs)
	if err != nil {
		return nil, err
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Verifier{
		bases:          bases,
		now:            config.Now,
		checks:         newContractChecks(config.Call, config.MaxCalls, config.MaxVerdicts),
		allowDelegated: config.AllowDelegated,
	}, nil
}

// Verify says which wallet signed the request whose raw body is given. It works on r as net/http's
// server made it.
//
// allow is asked before a request causes an eth_call, and only then; its error is returned as it
// is. Nil allows all.
//
// Every other error is a [sortie.Error] with one of these codes: invalid_request (target not in
// origin form), invalid_idempotency_key (repeated, or not one line), missing_auth_headers,
// invalid_auth_headers, timestamp_out_of_range (details.serverTime), invalid_signature
// (details.signedMessage), signature_verification_unavailable.
func (v *Verifier) Verify(ctx context.Context, r *http.Request, body []byte, allow func(*http.Request) error) (Identity, error) {
	request, credentials, err := v.read(r, body)
	if err != nil {
		v.counts.refused.Add(1)
		return Identity{}, err
	}
	text := request.Text()
	identity := Identity{Wallet: credentials.wallet, Digest: sortie.MessageDigest([]byte(text)), Base: v.bases.of(r.Host)}
	identity.SignedAt, _ = credentials.signedAt() // it was read before
	if signedByKey(identity.Wallet, identity.Digest, credentials.signature) {
		v.counts.plain.Add(1)
		return identity, nil
	}
	if len(body) == 0 {
		request.BodySHA256 = sortie.EmptyBodySHA256
		if digest := request.Digest(); signedByKey(identity.Wallet, digest, credentials.signature) {
			v.counts.plain.Add(1)
			identity.Digest = digest
			return identity, nil
		}
	}
	question := question{identity.Wallet, identity.Digest, credentials.signature}
	verdict, err := v.checks.ask(ctx, question, func() error {
		if allow == nil {
			return nil
		}
		return allow(r)
	})
	switch {
	case errors.Is(err, errUnavailable):
		v.counts.unavailable.Add(1)
		return Identity{}, unavailable(err)
	case err != nil:
		v.counts.limited.Add(1)
		return Identity{}, err
	case verdict&delegated != 0 && !v.allowDelegated:
		v.counts.refused.Add(1)
		return Identity{}, delegateNotAllowed(text)
	case verdict&accepted == 0:
		v.counts.refused.Add(1)
		return Identity{}, wrongSignature(text)
	}
	v.counts.contract.Add(1)
	return identity, nil
}

// SignedAt gives the timestamp of a request that the key of its wallet signed, however far it is
// from the service's clock. It allows nothing: it says what time it is where the request came from.
func (v *Verifier) SignedAt(r *http.Request, body []byte) (signed time.Time, ok bool) {
	request, credentials, err := v.readUntimed(r, body)
	if err != nil || !signedByKey(credentials.wallet, request.Digest(), credentials.signature) {
		return time.Time{}, false
	}
	return credentials.signedAt()
}

// read does every check that needs no cryptography.
func (v *Verifier) read(r *http.Request, body []byte) (sortie.Request, credentials, error) {
	request, credentials, err := v.readUntimed(r, body)
	if err == nil {
		err = credentials.checkClock(v.now())
	}
	return request, credentials, err
}

// readUntimed leaves out the check of the timestamp.
func (v *Verifier) readUntimed(r *http.Request, body []byte) (sortie.Request, credentials, error) {
	if err := checkTarget(r); err != nil {
		return sortie.Request{}, credentials{}, err
	}
	idempotencyKey, err := readIdempotencyKey(r.Header)
	if err != nil {
		return sortie.Request{}, credentials{}, err
	}
	credentials, err := readCredentials(r.Header)
	if err != nil {
		return sortie.Request{}, credentials, err
	}
	return sortie.Request{
		Method:         r.Method,
		URL:            v.bases.of(r.Host) + r.RequestURI,
		IdempotencyKey: idempotencyKey,
		BodySHA256:     sortie.BodySHA256(body),
		Wallet:         credentials.walletText,
		Timestamp:      credentials.timestampText,
	}, credentials, nil
}

func wrongSignature(text string) *sortie.Error {
	return sortie.NewError(sortie.CodeInvalidSignature, "the signature is not the wallet's for this request: sign "+
		"details.signedMessage, byte for byte, with EIP-191 personal_sign; a smart account names its own address, not its owner's").
		Detail("signedMessage", text)
}

func delegateNotAllowed(text string) *sortie.Error {
	return sortie.NewError(sortie.CodeInvalidSignature, "the wallet's own key did not make this signature, and the wallet's code is "+
		"delegated (EIP-7702): this service does not accept what a delegate says; sign details.signedMessage, byte for byte, with "+
		"the wallet's own key and EIP-191 personal_sign").
		Detail("signedMessage", text)
}

func unavailable(cause error) *sortie.Error {
	return sortie.NewError(sortie.CodeSignatureVerificationUnavailable,
		"no plain key made this signature, and whether a contract wallet accepts it cannot be found out now: try again in a few seconds").
		Because(cause)
}

// Stats counts what became of the requests since the start. The first five add up to all of them.
type Stats struct {
	Plain       uint64 // accepted: signed by the wallet's key
	Contract    uint64 // accepted: the wallet's contract says so
	Refused     uint64 // malformed, out of time or wrong
	Limited     uint64 // turned away by Verify's allow
	Unavailable uint64 // could not be decided

	Calls      uint64 // eth_calls made
	Remembered uint64 // contract checks answered by an earlier or a running call
}

type counts struct {
	plain, contract, refused, limited, unavailable atomic.Uint64
}

// Stats reads the counters.
func (v *Verifier) Stats() Stats {
	return Stats{
		Plain:       v.counts.plain.Load(),
		Contract:    v.counts.contract.Load(),
		Refused:     v.counts.refused.Load(),
		Limited:     v.counts.limited.Load(),
		Unavailable: v.counts.unavailable.Load(),
		Calls:       v.checks.calls.Load(),
		Remembered:  v.checks.remembered.Load(),
	}
}
