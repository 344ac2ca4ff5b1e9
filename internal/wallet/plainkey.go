package wallet

import (
	"bytes"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
)

// halfOrder is half the order of secp256k1. Of the two equivalent signatures s and -s, only the one
// that is not above it is accepted.
var halfOrder = [32]byte{
	0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0x5d, 0x57, 0x6e, 0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
}

// signedByKey reports whether the wallet's own key made the signature: 65 bytes r, s, v with low s
// and v 27, 28, 0 or 1.
//
// It uses go-ethereum's crypto: with cgo that is libsecp256k1, which is four times as fast as the
// pure Go of the root package.
func signedByKey(wallet sortie.Address, digest sortie.Hash, signature []byte) bool {
	if len(signature) != sortie.SignatureLength || bytes.Compare(signature[32:64], halfOrder[:]) > 0 {
		return false
	}
	recoverable := [sortie.SignatureLength]byte(signature)
	if recoverable[64] >= 27 {
		recoverable[64] -= 27
	}
	if recoverable[64] > 1 {
		return false
	}
	public, err := crypto.Ecrecover(digest[:], recoverable[:])
	if err != nil {
		return false
	}
	return sortie.Address(crypto.Keccak256(public[1:])[12:]) == wallet
}
