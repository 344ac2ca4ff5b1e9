package devnet

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
)

// Backend is what [Deploy] asks of a chain. An *ethclient.Client is one.
type Backend interface {
	ChainID(ctx context.Context) (*big.Int, error)
	HeaderByNumber(ctx context.Context, number *big.Int) (*types.Header, error)
	BalanceAt(ctx context.Context, account common.Address, blockNumber *big.Int) (*big.Int, error)
	CodeAt(ctx context.Context, account common.Address, blockNumber *big.Int) ([]byte, error)
	PendingNonceAt(ctx context.Context, account common.Address) (uint64, error)
	SuggestGasTipCap(ctx context.Context) (*big.Int, error)
	EstimateGas(ctx context.Context, call ethereum.CallMsg) (uint64, error)
	CallContract(ctx context.Context, call ethereum.CallMsg, blockNumber *big.Int) ([]byte, error)
	SendTransaction(ctx context.Context, tx *types.Transaction) error
	TransactionReceipt(ctx context.Context, hash common.Hash) (*types.Receipt, error)
}

// Signer signs the transactions of one account. It sees whole transactions, so that a signer with a policy can apply it.
type Signer interface {
	Address() sortie.Address
	SignTransaction(ctx context.Context, chainID uint64, tx *types.Transaction) (*types.Transaction, error)
}

// NewSigner makes a Signer of something that signs 32-byte digests: 65 bytes r, s, v with v 0 and 1 or 27 and 28.
func NewSigner(address sortie.Address, sign func(ctx context.Context, digest sortie.Hash) (sortie.Bytes, error)) Signer {
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

func keySigner(key *sortie.Key) Signer {
	return NewSigner(key.Address(), func(_ context.Context, digest sortie.Hash) (sortie.Bytes, error) {
		return key.SignDigest(digest), nil
	})
}

// account sends transactions of one signer, one nonce after the other, at one price.
type account struct {
	backend Backend
	signer  Signer
	chainID uint64
	nonce   uint64
	tip     *big.Int
	feeCap  *big.Int
}

func openAccount(ctx context.Context, backend Backend, signer Signer, chainID uint64) (*account, error) {
	nonce, err := backend.PendingNonceAt(ctx, common.Address(signer.Address()))
	if err != nil {
		return nil, fmt.Errorf("read the nonce of %s: %w", signer.Address(), err)
	}
	head, err := backend.HeaderByNumber(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("read the latest block: %w", err)
	}
	if head.BaseFee == nil {
		return nil, fmt.Errorf("chain %d has no base fee: its rules are older than the contracts need (Cancun)", chainID)
	}
	tip, err := backend.SuggestGasTipCap(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for a fee: %w", err)
	}
	feeCap := new(big.Int).Add(new(big.Int).Mul(head.BaseFee, big.NewInt(2)), tip)
	return &account{backend, signer, chainID, nonce, tip, feeCap}, nil
}

func (a *account) address() common.Address { return common.Address(a.signer.Address()) }

// estimate gives the gas of a call with a tenth to spare; to is nil for a creation.
func (a *account) estimate(ctx context.Context, to *common.Address, data []byte) (uint64, error) {
	gas, err := a.backend.EstimateGas(ctx, ethereum.CallMsg{From: a.address(), To: to, Data: data})
	return gas + gas/10, err
}

func (a *account) send(ctx context.Context, gas uint64, to *common.Address, data []byte) (*types.Transaction, error) {
	tx, err := a.signer.SignTransaction(ctx, a.chainID, types.NewTx(&types.DynamicFeeTx{
		ChainID:   new(big.Int).SetUint64(a.chainID),
		Nonce:     a.nonce,
		GasTipCap: a.tip,
		GasFeeCap: a.feeCap,
		Gas:       gas,
		To:        to,
		Data:      data,
	}))
	if err != nil {
		return nil, fmt.Errorf("sign as %s: %w", a.signer.Address(), err)
	}
	if from, err := types.Sender(types.LatestSignerForChainID(tx.ChainId()), tx); err != nil || from != a.address() {
		return nil, fmt.Errorf("the signer of %s signed with another key", a.signer.Address())
	}
	if err := a.backend.SendTransaction(ctx, tx); err != nil {
		return nil, fmt.Errorf("send transaction %s: %w", tx.Hash(), err)
	}
	a.nonce++
	return tx, nil
}

// mined waits until the transaction is in a block and has succeeded. A node that fails to answer is asked again until ctx ends.
func (a *account) mined(ctx context.Context, tx *types.Transaction) (*types.Receipt, error) {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		receipt, err := a.backend.TransactionReceipt(ctx, tx.Hash())
		switch {
		case err == nil && receipt.Status == types.ReceiptStatusSuccessful:
			return receipt, nil
		case err == nil:
			return nil, fmt.Errorf("transaction %s failed on the chain", tx.Hash())
		case errors.Is(err, ethereum.NotFound):
			err = errors.New("not in a block yet")
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("gave up waiting for transaction %s, which may still be mined (%w): %w", tx.Hash(), err, ctx.Err())
		case <-time.After(pause):
		}
	}
}
