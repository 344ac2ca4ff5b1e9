package devnet

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
)

// NewSigner returns a signer of transactions. sign signs 32-byte digests and returns 65 bytes r, s,
// v with v 0 and 1 or 27 and 28.
func NewSigner(address sortie.Address, sign func(ctx context.Context, digest sortie.Hash) (sortie.Bytes, error)) chain.TransactionSigner {
	return digestSigner{address, sign}
}

type digestSigner struct {
	address sortie.Address
	sign    func(ctx context.Context, digest sortie.Hash) (sortie.Bytes, error)
}

func (s digestSigner) Address() sortie.Address { return s.address }

func (s digestSigner) SignTransaction(ctx context.Context, chainID uint64, tx *types.Transaction) (*types.Transaction, error) {
	rules := types.LatestSignerForChainID(new(big.Int).SetUint64(chainID))
	signature, err := s.sign(ctx, sortie.Hash(rules.Hash(tx)))
	if err != nil {
		return nil, err
	}
	if len(signature) != sortie.SignatureLength {
		return nil, fmt.Errorf("the signer gave %d bytes; want 65: r, s, v", len(signature))
	}
	signature = append(sortie.Bytes(nil), signature...)
	if signature[64] >= 27 {
		signature[64] -= 27
	}
	return tx.WithSignature(rules, signature)
}

func keySigner(key *sortie.Key) chain.TransactionSigner {
	return NewSigner(key.Address(), func(_ context.Context, digest sortie.Hash) (sortie.Bytes, error) {
		return key.SignDigest(digest), nil
	})
}
