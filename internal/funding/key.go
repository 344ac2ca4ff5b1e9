package funding

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
)

// keySigner signs with a key in memory: libsecp256k1 when built with cgo, a portable implementation
// otherwise. Both take their nonces from RFC 6979, so the same hash gives the same bytes in every
// build.
type keySigner struct {
	address sortie.Address
	// sign closes over the secret, where no formatting verb, logger or encoder can reach it.
	sign func(digest []byte) ([]byte, error)
}

// NewKeySigner makes a signer of a private key's 32 bytes.
func NewKeySigner(secret [32]byte) (Signer, error) {
	key, err := crypto.ToECDSA(secret[:])
	if err != nil {
		return nil, errors.New("private key: the number is outside the curve's order")
	}
	return check(keySigner{
		address: sortie.Address(crypto.PubkeyToAddress(key.PublicKey)),
		sign:    func(digest []byte) ([]byte, error) { return crypto.Sign(digest, key) },
	}), nil
}

func (k keySigner) Address() sortie.Address { return k.address }

func (k keySigner) Sign(_ context.Context, request SignRequest) (sortie.Bytes, error) {
	signature, err := k.sign(request.Digest[:])
	if err != nil {
		return nil, err
	}
	signature[64] += 27
	return signature, nil
}
