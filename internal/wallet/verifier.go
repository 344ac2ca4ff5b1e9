package wallet

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sortie-labs/sortie"
)

// Config configures a [Verifier]. The zero value verifies plain keys only, for http:// and any
// host: right for development.
type Config struct {
	// PublicURLs are the public base URLs of the service, such as https://api.example.com. Clients
	// sign one of them, so they are never taken from the request: the verifier uses the one whose
	// host is the request's Host, or the first if there is none (a proxy that rewrites Host). An
	// empty list means http:// and the request's Host, for development.
	PublicURLs []string
	// Now is the service's clock; time.Now unless set.
	Now func() time.Time
	// Call calls a node of the funding chain. Without it, a request that was not signed by a plain
	// key is answered with signature_verification_unavailable.
	Call Caller
	// AllowDelegated accepts signatures that the delegate of an account with delegated code
	// (EIP-7702) accepts. Unless set, only the account's own key is accepted.
	AllowDelegated bool
	// MaxCalls bounds the concurrent calls; 32 unless set. At 50 ms a call that is 640 contract
	// wallets a second.
	MaxCalls int
	// MaxVerdicts bounds the cache of verdicts about contract wallets; 8192 unless set.
	MaxVerdicts int
}

// Identity is who signed a request.
type Identity struct {
	Wallet sortie.Address
	// Digest is the hash that was signed. It identifies the request: a repeated request has the
	// same digest, also with another signature. A write that is not idempotent refuses a digest
	// that it has seen inside the clock window.
	Digest sortie.Hash
	// Base is the base URL that the request was signed for. Links in the answer begin with it.
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

// New returns a verifier. It fails if a public URL is not valid.
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

// Verify returns the wallet that signed the request with the given raw body. It expects r as
// net/http's server made it.
//
// It calls allow only before a request causes an eth_call, and returns its error unchanged. A nil
// allow allows every call.
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
	identity.SignedAt, _ = credentials.signedAt() // valid, as checked above
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
	query := query{identity.Wallet, identity.Digest, credentials.signature}
	verdict, err := v.checks.check(ctx, query, func() error {
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

// SignedAt returns the timestamp of a request that the key of its wallet signed, at any distance
// from the service's clock. It does not authenticate the request: it shows the client's clock.
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
	return sortie.NewError(sortie.CodeInvalidSignature, "the signature is not valid for this wallet and request: sign "+
		"details.signedMessage, byte for byte, with EIP-191 personal_sign; a smart account names its own address, not its owner's").
		Detail("signedMessage", text)
}

func delegateNotAllowed(text string) *sortie.Error {
	return sortie.NewError(sortie.CodeInvalidSignature, "the wallet's own key did not make this signature, and the wallet's code is "+
		"delegated (EIP-7702): this service does not accept signatures of a delegate; sign details.signedMessage, byte for byte, with "+
		"the wallet's own key and EIP-191 personal_sign").
		Detail("signedMessage", text)
}

func unavailable(cause error) *sortie.Error {
	return sortie.NewError(sortie.CodeSignatureVerificationUnavailable,
		"no plain key made this signature, and it cannot be checked with a contract wallet now: try again in a few seconds").
		Because(cause)
}

// Stats counts requests since the start. The first five add up to all requests.
type Stats struct {
	Plain       uint64 // accepted: signed by the wallet's key
	Contract    uint64 // accepted by the wallet's contract
	Refused     uint64 // malformed, expired or wrong
	Limited     uint64 // refused by Verify's allow
	Unavailable uint64 // could not be checked

	Calls      uint64 // eth_calls made
	Remembered uint64 // contract checks that used the cache or a running call
}

type counts struct {
	plain, contract, refused, limited, unavailable atomic.Uint64
}

// Stats returns the counters.
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
