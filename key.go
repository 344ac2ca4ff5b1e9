package sortie

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

// Key is a private key in memory. It implements [Signer]. Every formatting verb prints its address.
type Key struct {
	secret  *secp256k1.PrivateKey
	address Address
}

// ParseKey reads a private key: 64 hex digits, with or without 0x. The error never repeats the
// text.
func ParseKey(text string) (*Key, error) {
	secret, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil || len(secret) != secp256k1.PrivKeyBytesLen {
		return nil, errors.New("private key: want 64 hex digits")
	}
	return NewKey([32]byte(secret))
}

// NewKey returns the key with these 32 secret bytes.
func NewKey(secret [32]byte) (*Key, error) {
	var scalar secp256k1.ModNScalar
	if overflow := scalar.SetBytes(&secret); overflow != 0 || scalar.IsZero() {
		return nil, errors.New("private key: the number is outside the curve's order")
	}
	private := secp256k1.NewPrivateKey(&scalar)
	return &Key{secret: private, address: publicAddress(private.PubKey())}, nil
}

// Address is the account the key controls.
func (k *Key) Address() Address { return k.address }

// SignMessage implements [Signer].
func (k *Key) SignMessage(_ context.Context, message []byte) ([]byte, error) {
	return k.SignDigest(MessageDigest(message)), nil
}

// SignDigest signs a 32-byte digest: r, s, v with low s and v 27 or 28. The nonce is that of RFC
// 6979, so the same digest gives the same bytes.
func (k *Key) SignDigest(digest Hash) Bytes {
	compact := ecdsa.SignCompact(k.secret, digest[:], false) // v, r, s
	return append(Bytes(compact[1:]), compact[0])
}

// String is the key's address.
func (k *Key) String() string { return k.address.String() }

// GoString is the key's address, so that %#v does not print the secret.
func (k *Key) GoString() string { return k.address.String() }

// LogValue is the key's address.
func (k *Key) LogValue() slog.Value { return slog.StringValue(k.address.String()) }

// ErrInvalidSignature means that bytes are not a signature of a plain key.
var ErrInvalidSignature = errors.New("not a signature of a plain key: want 65 bytes r, s, v with low s and v 27 or 28")

// RecoverAddress returns the address whose key signed the digest. The signature is 65 bytes r, s, v
// with v 27 or 28; like the contract, it refuses high s.
func RecoverAddress(digest Hash, signature []byte) (Address, error) {
	if len(signature) != SignatureLength {
		return Address{}, ErrInvalidSignature
	}
	v := signature[64]
	var s secp256k1.ModNScalar
	if overflow := s.SetByteSlice(signature[32:64]); overflow || s.IsOverHalfOrder() || (v != 27 && v != 28) {
		return Address{}, ErrInvalidSignature
	}
	compact := append([]byte{v}, signature[:64]...)
	public, _, err := ecdsa.RecoverCompact(compact, digest[:])
	if err != nil {
		return Address{}, ErrInvalidSignature
	}
	return publicAddress(public), nil
}

func publicAddress(public *secp256k1.PublicKey) Address {
	sum := keccak256(public.SerializeUncompressed()[1:])
	return Address(sum[12:])
}
