package sortie

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed request.
const (
	HeaderWallet         = "X-Service-Wallet"
	HeaderTimestamp      = "X-Service-Timestamp"
	HeaderSignature      = "X-Service-Signature"
	HeaderIdempotencyKey = "Idempotency-Key"
)

// MaxClockSkew is how far the timestamp of a signed request may be from the service's clock, either
// way.
const MaxClockSkew = 300 * time.Second

// EmptyBodySHA256 is the SHA-256 of no bytes. The body hash of a request without a body is the
// empty string; a plain-key signature over this hash is accepted too.
const EmptyBodySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Signer is a wallet that signs messages the EIP-191 way (personal_sign): a key in memory such as
// [Key], a hardware wallet, a remote signer or a smart account.
type Signer interface {
	// Address is the wallet's address: that of a smart account, not of its owner.
	Address() Address
	// SignMessage signs the message with the EIP-191 prefix. A plain key gives 65 bytes r, s, v; a
	// smart account the bytes that its contract accepts.
	SignMessage(ctx context.Context, message []byte) ([]byte, error)
}

// Request is what a wallet signs to authenticate one HTTP request. Every value is exactly as sent:
// nothing is sorted, decoded or folded.
type Request struct {
	Method         string
	URL            string // public base URL without a trailing slash, then the raw request target
	IdempotencyKey string // empty when the header is absent
	BodySHA256     string // lower-case hex; empty when there is no body
	Wallet         string // as in the header
	Timestamp      string // Unix seconds (10 digits) or milliseconds (13 digits)
}

// Text is the message to sign: seven lines, without a line end after the last.
func (r Request) Text() string {
	var b strings.Builder
	b.Grow(160 + len(r.URL) + len(r.IdempotencyKey))
	b.WriteString("Service external API request v1\nmethod:")
	b.WriteString(r.Method)
	b.WriteString("\nurl:")
	b.WriteString(r.URL)
	b.WriteString("\nidempotency-key:")
	b.WriteString(r.IdempotencyKey)
	b.WriteString("\nbody-sha256:")
	b.WriteString(r.BodySHA256)
	b.WriteString("\nwallet:")
	b.WriteString(r.Wallet)
	b.WriteString("\ntimestamp:")
	b.WriteString(r.Timestamp)
	return b.String()
}

// Digest is the hash a plain key signs for the request.
func (r Request) Digest() Hash { return MessageDigest([]byte(r.Text())) }

// MessageDigest is the EIP-191 hash of a message: what personal_sign signs.
func MessageDigest(message []byte) Hash {
	const prefix = "\x19Ethereum Signed Message:\n"
	return keccak256([]byte(prefix), strconv.AppendInt(nil, int64(len(message)), 10), message)
}

// BodySHA256 is the body hash of a signed request: lower-case hex, the empty string when there is
// no body.
func BodySHA256(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// SignRequest sets the three wallet headers of a request with this body. It signs the request's URL
// and Idempotency-Key header, so set them first.
func SignRequest(ctx context.Context, request *http.Request, body []byte, signer Signer, now time.Time) error {
	if request.URL.Scheme == "" || request.URL.Host == "" {
		return errors.New("sign request: the URL must be absolute")
	}
	signed := Request{
		Method:         request.Method,
		URL:            request.URL.Scheme + "://" + request.URL.Host + request.URL.RequestURI(),
		IdempotencyKey: request.Header.Get(HeaderIdempotencyKey),
		BodySHA256:     BodySHA256(body),
		Wallet:         signer.Address().String(),
		Timestamp:      strconv.FormatInt(now.Unix(), 10),
	}
	signature, err := signer.SignMessage(ctx, []byte(signed.Text()))
	if err != nil {
		return err
	}
	request.Header.Set(HeaderWallet, signed.Wallet)
	request.Header.Set(HeaderTimestamp, signed.Timestamp)
	request.Header.Set(HeaderSignature, Bytes(signature).String())
	return nil
}
