package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/sortie-labs/sortie"
)

// Backend has the methods of a chain that an [Account] needs. *Node and *ethclient.Client implement
// it.
type Backend interface {
	Reader
	HeaderByNumber(ctx context.Context, number *big.Int) (*types.Header, error)
	BalanceAt(ctx context.Context, account common.Address, blockNumber *big.Int) (*big.Int, error)
	PendingNonceAt(ctx context.Context, account common.Address) (uint64, error)
	SuggestGasTipCap(ctx context.Context) (*big.Int, error)
	EstimateGas(ctx context.Context, call ethereum.CallMsg) (uint64, error)
	SendTransaction(ctx context.Context, tx *types.Transaction) error
	TransactionReceipt(ctx context.Context, hash common.Hash) (*types.Receipt, error)
}

// TransactionSigner signs the transactions of one account. It receives whole transactions, so that
// a signer can apply a policy.
type TransactionSigner interface {
	Address() sortie.Address
	SignTransaction(ctx context.Context, chainID uint64, tx *types.Transaction) (*types.Transaction, error)
}

// Account sends transactions of one signer, with consecutive nonces and one price, and waits for
// them. It is for command-line use; the service sends through internal/sender.
type Account struct {
	backend Backend
	signer  TransactionSigner
	chainID uint64
	nonce   uint64
	tip     *big.Int
	feeCap  *big.Int
}

// OpenAccount reads the signer's nonce and the price of gas.
func OpenAccount(ctx context.Context, backend Backend, signer TransactionSigner, chainID uint64) (*Account, error) {
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
	return &Account{backend, signer, chainID, nonce, tip, feeCap}, nil
}

// Address is the account's address.
func (a *Account) Address() sortie.Address { return a.signer.Address() }

// Backend is the chain the account is on.
func (a *Account) Backend() Backend { return a.backend }

// ChainID is the id of the chain the account is on.
func (a *Account) ChainID() uint64 { return a.chainID }

// Estimate returns the gas of a call plus a tenth; to is nil for a contract creation. It fails if
// the call would fail.
func (a *Account) Estimate(ctx context.Context, to *sortie.Address, data []byte) (uint64, error) {
	gas, err := a.backend.EstimateGas(ctx, ethereum.CallMsg{From: common.Address(a.Address()), To: (*common.Address)(to), Data: data})
	if err != nil {
		return 0, Explain(err)
	}
	return gas + gas/10, nil
}

// CanPay fails if the balance may not cover so much gas.
func (a *Account) CanPay(ctx context.Context, gas uint64) error {
	balance, err := a.backend.BalanceAt(ctx, common.Address(a.Address()), nil)
	if err != nil {
		return fmt.Errorf("read the balance of %s: %w", a.Address(), err)
	}
	need := new(big.Int).Mul(a.feeCap, new(big.Int).SetUint64(gas))
	if balance.Cmp(need) < 0 {
		return fmt.Errorf("%s has %s and may need %s for gas: send it more first", a.Address(), FormatEther(balance), FormatEther(need))
	}
	return nil
}

// FormatEther formats an amount with nine decimals, rounded.
func FormatEther(wei *big.Int) string {
	return new(big.Rat).SetFrac(wei, big.NewInt(params.Ether)).FloatString(9) + " ether"
}

// Send signs and sends a transaction.
func (a *Account) Send(ctx context.Context, gas uint64, to *sortie.Address, data []byte) (*types.Transaction, error) {
	tx, err := a.signer.SignTransaction(ctx, a.chainID, types.NewTx(&types.DynamicFeeTx{
		ChainID:   new(big.Int).SetUint64(a.chainID),
		Nonce:     a.nonce,
		GasTipCap: a.tip,
		GasFeeCap: a.feeCap,
		Gas:       gas,
		To:        (*common.Address)(to),
		Data:      data,
	}))
	if err != nil {
		return nil, fmt.Errorf("sign as %s: %w", a.Address(), err)
	}
	from, err := types.Sender(types.LatestSignerForChainID(tx.ChainId()), tx)
	if err != nil || sortie.Address(from) != a.Address() {
		return nil, fmt.Errorf("the signer of %s signed with another key", a.Address())
	}
	if err := a.backend.SendTransaction(ctx, tx); err != nil {
		return nil, fmt.Errorf("send transaction %s: %w", tx.Hash(), err)
	}
	a.nonce++
	return tx, nil
}

// Mined waits until the transaction is in a block and has succeeded. It retries until ctx ends; the
// error then names the transaction, which may still be mined.
func (a *Account) Mined(ctx context.Context, tx *types.Transaction) (*types.Receipt, error) {
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
