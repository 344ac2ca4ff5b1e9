package funding

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/sortie-labs/sortie"
)

// SignTransaction signs a transaction for one chain: dynamic-fee (EIP-1559) or legacy with replay
// protection (EIP-155).
//
// It fails with a *SignError when the signer returned no usable signature. Every other error means
// that the transaction must not be signed.
func SignTransaction(ctx context.Context, signer Signer, chainID uint64, transaction *types.Transaction) (*types.Transaction, error) {
	unsigned, err := encodeUnsigned(new(big.Int).SetUint64(chainID), transaction)
	if err != nil {
		return nil, fmt.Errorf("sign transaction: %w", err)
	}
	rules := types.LatestSignerForChainID(new(big.Int).SetUint64(chainID))
	digest := rules.Hash(transaction)
	if digest != crypto.Keccak256Hash(unsigned) {
		return nil, errors.New("sign transaction: the unsigned form has another hash than the one to sign")
	}
	signature, err := check(signer).Sign(ctx, SignRequest{
		Purpose: PurposeTransaction,
		Digest:  sortie.Hash(digest),
		Content: lazyJSON(func() any {
			return struct {
				UnsignedTransaction sortie.Bytes `json:"unsignedTransaction"`
			}{unsigned}
		}),
	})
	if err != nil {
		return nil, err
	}
	signature[64] -= 27 // go-ethereum wants the bare parity
	signed, err := transaction.WithSignature(rules, signature)
	if err != nil {
		return nil, fmt.Errorf("sign transaction: %w", err)
	}
	return signed, nil
}

// encodeUnsigned returns the bytes whose hash is signed. go-ethereum exports only the hash, but a
// signer with a policy must see the transaction.
func encodeUnsigned(chainID *big.Int, tx *types.Transaction) ([]byte, error) {
	switch tx.Type() {
	case types.DynamicFeeTxType:
		if tx.ChainId().Cmp(chainID) != 0 {
			return nil, fmt.Errorf("it is for chain %s and this is chain %s", tx.ChainId(), chainID)
		}
		fields, err := rlp.EncodeToBytes(struct {
			ChainID        *big.Int
			Nonce          uint64
			TipCap, FeeCap *big.Int
			Gas            uint64
			To             *common.Address
			Value          *big.Int
			Data           []byte
			AccessList     types.AccessList
		}{chainID, tx.Nonce(), tx.GasTipCap(), tx.GasFeeCap(), tx.Gas(), tx.To(), tx.Value(), tx.Data(), tx.AccessList()})
		return append([]byte{types.DynamicFeeTxType}, fields...), err
	case types.LegacyTxType:
		return rlp.EncodeToBytes(struct {
			Nonce    uint64
			GasPrice *big.Int
			Gas      uint64
			To       *common.Address
			Value    *big.Int
			Data     []byte
			ChainID  *big.Int
			R, S     uint // zero: EIP-155
		}{tx.Nonce(), tx.GasPrice(), tx.Gas(), tx.To(), tx.Value(), tx.Data(), chainID, 0, 0})
	default:
		return nil, fmt.Errorf("its type is %d; only legacy and dynamic-fee transactions are signed", tx.Type())
	}
}

// TransactionSigner signs whole transactions, so that a signer with a policy sees what it signs.
type TransactionSigner struct{ Signer }

func (s TransactionSigner) SignTransaction(ctx context.Context, chainID uint64, tx *types.Transaction) (*types.Transaction, error) {
	return SignTransaction(ctx, s.Signer, chainID, tx)
}
