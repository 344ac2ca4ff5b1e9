package funding

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
)

// Signer signs with one key. Signers of [KeyRef.Open] and [NewKeySigner] check every signature.
type Signer interface {
	// Address is the account the key controls. It never changes.
	Address() sortie.Address
	// Sign signs the request's digest: 65 bytes r, s, v with low s and v 27 or 28.
	Sign(ctx context.Context, request SignRequest) (sortie.Bytes, error)
}

// Purpose names the use of a signature, so that the holder of the key can apply a policy.
type Purpose string

// The purposes of a signature.
const (
	PurposeAuthorization Purpose = "mission-authorization"
	PurposeSettlement    Purpose = "settlement"
	PurposeClose         Purpose = "close"
	PurposeTransaction   Purpose = "transaction"
	PurposeMessage       Purpose = "message" // EIP-191 (personal_sign), such as a request to the API
)

// SignRequest is one request to a signer.
type SignRequest struct {
	Purpose Purpose
	Digest  sortie.Hash
	// Content is what the digest is the hash of, as JSON: EIP-712 typed data in the form of
	// eth_signTypedData_v4, or for a transaction {"unsignedTransaction": "0x..."}, for a message
	// {"message": "..."}. It is written only when a signer asks for it.
	Content json.Marshaler
}

// lazyJSON is content that is built when it is encoded.
type lazyJSON func() any

func (content lazyJSON) MarshalJSON() ([]byte, error) { return json.Marshal(content()) }

// SignError reports that a signer returned no usable signature: it failed, or the signature is not
// of its key over the digest. The request may be tried again later: no signature left this package.
type SignError struct {
	Purpose Purpose
	Signer  sortie.Address
	Err     error
}

// Error implements error.
func (e *SignError) Error() string {
	return fmt.Sprintf("sign %s as %s: %v", e.Purpose, e.Signer, e.Err)
}

// Unwrap returns the cause.
func (e *SignError) Unwrap() error { return e.Err }

// checked is a signer that verifies every signature before it returns it.
type checked struct{ signer Signer }

func check(signer Signer) checked {
	if already, ok := signer.(checked); ok {
		return already
	}
	return checked{signer}
}

func (c checked) Address() sortie.Address { return c.signer.Address() }

// String is the signer's address.
func (c checked) String() string { return c.Address().String() }

// Sign fails with a *SignError only.
func (c checked) Sign(ctx context.Context, request SignRequest) (sortie.Bytes, error) {
	signature, err := c.signer.Sign(ctx, request)
	if err == nil {
		err = checkSignature(request.Digest, signature, c.Address())
	}
	if err != nil {
		return nil, &SignError{Purpose: request.Purpose, Signer: c.Address(), Err: err}
	}
	return signature, nil
}

// halfOrder is half the order of the curve's group. Of the two signatures (s and order-s) the
// contract takes the lower one.
var halfOrder = func() (half [32]byte) {
	text := "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0"
	if _, err := hex.Decode(half[:], []byte(text)); err != nil {
		panic(err)
	}
	return half
}()

// checkSignature recovers the signer with go-ethereum's Ecrecover. With cgo it is several times
// faster than the portable code of package sortie, but it also accepts a high s.
func checkSignature(digest sortie.Hash, signature []byte, want sortie.Address) error {
	if len(signature) != sortie.SignatureLength {
		return fmt.Errorf("the signer gave %d bytes; want 65: r, s, v", len(signature))
	}
	v := signature[64]
	if v != 27 && v != 28 {
		return fmt.Errorf("the signer gave v %d; want 27 or 28", v)
	}
	if bytes.Compare(signature[32:64], halfOrder[:]) > 0 {
		return errors.New("the signer gave a high s, which the contract refuses; it must give order - s and the other v")
	}
	var compact [sortie.SignatureLength]byte
	copy(compact[:], signature)
	compact[64] = v - 27
	public, err := crypto.Ecrecover(digest[:], compact[:])
	if err != nil {
		return errors.New("the signer gave bytes that no key can have signed")
	}
	if got := sortie.Address(crypto.Keccak256(public[1:])[12:]); got != want {
		return fmt.Errorf("the signature is of %s: the signer holds another key or signed something else", got)
	}
	return nil
}
