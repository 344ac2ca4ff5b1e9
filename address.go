package sortie

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync"

	"golang.org/x/crypto/sha3"
)

// Address is a 20-byte account address. Its text form is EIP-55: 0x and 40 hex digits whose case is
// a checksum.
type Address [20]byte

// Hash is a 32-byte value: a Keccak-256 hash, a nonce, a transaction id. Its text form is 0x and 64
// lower-case hex digits.
type Hash [32]byte

// Bytes is binary data whose text form is 0x and lower-case hex digits.
type Bytes []byte

// ParseAddress reads an address. An address in mixed case must satisfy its EIP-55 checksum, because
// money sent to a mistyped address is lost.
func ParseAddress(text string) (Address, error) {
	var address Address
	digits, found := strings.CutPrefix(text, "0x")
	if !found || len(digits) != 2*len(address) {
		return Address{}, fmt.Errorf("address %.60q: want 0x followed by 40 hex digits", text)
	}
	if _, err := hex.Decode(address[:], []byte(digits)); err != nil {
		return Address{}, fmt.Errorf("address %.60q: want 0x followed by 40 hex digits", text)
	}
	oneCase := digits == strings.ToLower(digits) || digits == strings.ToUpper(digits)
	if !oneCase && address.String() != text {
		return Address{}, fmt.Errorf("address %s: the checksum in its upper and lower case is wrong, expected %s; copy it again", text, address)
	}
	return address, nil
}

// MustAddress is ParseAddress for constants; it panics on a bad address.
func MustAddress(text string) Address {
	address, err := ParseAddress(text)
	if err != nil {
		panic(err)
	}
	return address
}

// IsZero reports whether a is the zero address, which no key controls.
func (a Address) IsZero() bool { return a == Address{} }

// String is the EIP-55 form.
func (a Address) String() string {
	var text [42]byte
	copy(text[:], "0x")
	hex.Encode(text[2:], a[:])
	checksum := keccak256(text[2:])
	for i, c := range text[2:] {
		nibble := checksum[i/2] >> 4
		if i%2 == 1 {
			nibble = checksum[i/2] & 0xf
		}
		if nibble >= 8 && c >= 'a' {
			text[2+i] = c - 'a' + 'A'
		}
	}
	return string(text[:])
}

// MarshalText implements encoding.TextMarshaler.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with the rules of [ParseAddress].
func (a *Address) UnmarshalText(text []byte) error {
	parsed, err := ParseAddress(string(text))
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}

// ParseHash reads 0x followed by 64 hex digits.
func ParseHash(text string) (Hash, error) {
	var h Hash
	digits, found := strings.CutPrefix(text, "0x")
	if !found || len(digits) != 2*len(h) {
		return Hash{}, fmt.Errorf("value %.80q: want 0x followed by 64 hex digits", text)
	}
	if _, err := hex.Decode(h[:], []byte(digits)); err != nil {
		return Hash{}, fmt.Errorf("value %.80q: want 0x followed by 64 hex digits", text)
	}
	return h, nil
}

// String is 0x and 64 lower-case hex digits.
func (h Hash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with the rules of [ParseHash].
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := ParseHash(string(text))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

var errNotHex = errors.New("want 0x followed by an even number of hex digits")

// ParseBytes reads 0x followed by an even number of hex digits.
func ParseBytes(text string) (Bytes, error) {
	digits, found := strings.CutPrefix(text, "0x")
	if !found {
		return nil, errNotHex
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		return nil, errNotHex
	}
	return b, nil
}

// String is 0x and lower-case hex digits.
func (b Bytes) String() string { return "0x" + hex.EncodeToString(b) }

// MarshalText implements encoding.TextMarshaler.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with the rules of [ParseBytes].
func (b *Bytes) UnmarshalText(text []byte) error {
	parsed, err := ParseBytes(string(text))
	if err != nil {
		return err
	}
	*b = parsed
	return nil
}

// A Keccak state is 400 bytes and a quote needs five hashes, so states are kept.
var keccakStates = sync.Pool{New: func() any { return sha3.NewLegacyKeccak256() }}

func keccak256(parts ...[]byte) (sum Hash) {
	state := keccakStates.Get().(hash.Hash)
	state.Reset()
	for _, part := range parts {
		_, _ = state.Write(part) // a hash never fails to take bytes
	}
	state.Sum(sum[:0])
	keccakStates.Put(state)
	return sum
}
