// Package links signs and verifies the short-lived links under which media is fetched and uploaded.
package links

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

// What the holder of a link may do with a submission's media. A link is valid for one variant only.
const (
	VariantOriginal        = "original"         // fetch the delivered file
	VariantThumbnail       = "thumbnail"        // fetch its thumbnail
	VariantReviewOriginal  = "review-original"  // fetch the file before it is accepted
	VariantReviewThumbnail = "review-thumbnail" // fetch its thumbnail before it is accepted
	VariantUploadPut       = "upload-put"       // upload the file in one request
	VariantUploadTus       = "upload-tus"       // upload it in parts
)

func isVariant(text string) bool {
	switch text {
	case VariantOriginal, VariantThumbnail, VariantReviewOriginal, VariantReviewThumbnail, VariantUploadPut, VariantUploadTus:
		return true
	}
	return false
}

// Key is a key that signs links.
type Key struct {
	ID     string // letters, digits, - and _; part of every link
	Secret []byte // 32 bytes or more
}

// Keys signs links with its first key and verifies those of all keys, so that a key can be rotated
// while its links are valid. It is safe for concurrent use.
type Keys struct {
	keys []*linkKey
}

// linkKey pools keyed hash states: making one costs more than using it.
type linkKey struct {
	id     string
	states sync.Pool
}

type linkState struct {
	mac     hash.Hash
	message []byte
	sum     [sha256.Size]byte
	text    [signatureLength]byte
	given   [signatureLength]byte
}

const (
	signatureLength = 43 // of 32 bytes in base64url without padding
	minimumSecret   = 32
	maximumKeyID    = 32
	maximumLink     = 256 // of the query, and of a submission id
)

// NewKeys returns keys, the signing key first. It refuses short secrets, malformed or repeated ids,
// and repeated secrets.
func NewKeys(keys ...Key) (*Keys, error) {
	if len(keys) == 0 {
		return nil, errors.New("link keys: none given; add one, so that media links can be signed")
	}
	ring := &Keys{}
	for i, key := range keys {
		if !plainText(key.ID) || len(key.ID) > maximumKeyID {
			return nil, fmt.Errorf("link key %d: its id must be 1 to %d letters, digits, - or _", i, maximumKeyID)
		}
		if len(key.Secret) < minimumSecret {
			return nil, fmt.Errorf("link key %s: its secret has %d bytes; make one of %d random bytes", key.ID, len(key.Secret), minimumSecret)
		}
		for _, other := range keys[:i] {
			if other.ID == key.ID || string(other.Secret) == string(key.Secret) {
				return nil, fmt.Errorf("link key %s: another key has the same id or secret; a new key needs a new id and a new secret", key.ID)
			}
		}
		ring.keys = append(ring.keys, newLinkKey(key))
	}
	return ring, nil
}

func newLinkKey(key Key) *linkKey {
	secret := append([]byte(nil), key.Secret...)
	k := &linkKey{id: key.ID}
	k.states.New = func() any { return &linkState{mac: hmac.New(sha256.New, secret)} }
	return k
}

// Sign returns the query of a link that is valid until exp, in seconds since 1970:
// exp=...&kid=...&sig=...
func (k *Keys) Sign(submissionID, variant string, exp int64) string {
	return string(k.AppendQuery(nil, submissionID, variant, exp))
}

// AppendQuery appends the result of Sign to dst.
func (k *Keys) AppendQuery(dst []byte, submissionID, variant string, exp int64) []byte {
	key := k.keys[0]
	dst = append(dst, "exp="...)
	dst = strconv.AppendInt(dst, exp, 10)
	dst = append(append(dst, "&kid="...), key.id...)
	dst = append(dst, "&sig="...)
	state := key.state()
	defer key.states.Put(state)
	state.message = strconv.AppendInt(appendSubject(state.message[:0], submissionID, variant), exp, 10)
	return append(dst, state.sign()...)
}

// appendSubject appends the message up to the time. Verify refuses fields with a line feed.
func appendSubject(dst []byte, submissionID, variant string) []byte {
	dst = append(append(dst, "v1\n"...), submissionID...)
	return append(append(append(dst, '\n'), variant...), '\n')
}

func (k *linkKey) state() *linkState { return k.states.Get().(*linkState) }

// sign returns the signature of the message, valid until the next call.
func (s *linkState) sign() []byte {
	s.mac.Reset()
	s.mac.Write(s.message)
	base64.RawURLEncoding.Encode(s.text[:], s.mac.Sum(s.sum[:0]))
	return s.text[:]
}

// Verify verifies the query of a link to a variant of a submission. It returns an error with
// [sortie.CodeMediaURLInvalid] unless the query is byte for byte a result of Sign for them, and
// with [sortie.CodeMediaURLExpired] after its expiry.
//
// Signatures are compared as text, so other base64 spellings of the same signature are refused.
func (k *Keys) Verify(submissionID, variant, query string, now time.Time) (exp int64, err error) {
	expText, id, signature, ok := parseLink(query)
	if !ok || !isVariant(variant) || len(submissionID) > maximumLink || !plainText(submissionID) {
		return 0, errLinkInvalid()
	}
	key := k.key(id)
	if key == nil {
		return 0, errLinkInvalid()
	}
	state := key.state()
	state.message = append(appendSubject(state.message[:0], submissionID, variant), expText...)
	copy(state.given[:], signature)
	equal := subtle.ConstantTimeCompare(state.sign(), state.given[:]) == 1
	key.states.Put(state)
	if !equal {
		return 0, errLinkInvalid()
	}
	exp, err = strconv.ParseInt(expText, 10, 64)
	if err != nil {
		return 0, errLinkInvalid() // never signed by these keys
	}
	if now.Unix() >= exp {
		return exp, sortie.NewError(sortie.CodeMediaURLExpired, "the link has expired; ask for a new one where you got it")
	}
	return exp, nil
}

func errLinkInvalid() error {
	return sortie.NewError(sortie.CodeMediaURLInvalid, "the link was not signed by this service, or was changed; use it exactly as received")
}

func (k *Keys) key(id string) *linkKey {
	for _, key := range k.keys {
		if key.id == id {
			return key
		}
	}
	return nil
}

// parseLink splits a query that has exactly the form that Sign returns.
func parseLink(query string) (exp, id, signature string, ok bool) {
	if len(query) > maximumLink {
		return "", "", "", false
	}
	rest, ok1 := strings.CutPrefix(query, "exp=")
	exp, rest, ok2 := strings.Cut(rest, "&kid=")
	id, signature, ok3 := strings.Cut(rest, "&sig=")
	return exp, id, signature, ok1 && ok2 && ok3 && len(signature) == signatureLength && plainText(exp)
}

// plainText reports whether text has at least one character and only those of ids and numbers.
func plainText(text string) bool {
	for _, c := range []byte(text) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return text != ""
}
