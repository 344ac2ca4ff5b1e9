package devnet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

const (
	syncTimeout    = 20 * time.Second // of eth_sendRawTransactionSync, unless the caller names another
	maxSyncTimeout = time.Minute
)

// transactionMethods are the methods of eth that read and send transactions.
type transactionMethods struct{ node *node }

// GetTransactionCount answers eth_getTransactionCount.
func (m transactionMethods) GetTransactionCount(ctx context.Context, account common.Address, at *rpc.BlockNumberOrHash) (hexutil.Uint64, error) {
	if at != nil {
		if number, ok := at.Number(); ok && number == rpc.PendingBlockNumber {
			return hexutil.Uint64(m.node.pool.PoolNonce(account)), nil
		}
	}
	state, _, err := m.node.state(ctx, at)
	if err != nil {
		return 0, err
	}
	return hexutil.Uint64(state.GetNonce(account)), state.Error()
}

// GetTransactionByHash answers eth_getTransactionByHash.
func (m transactionMethods) GetTransactionByHash(hash common.Hash) (object, error) {
	if place, _ := m.mined(hash); place != nil {
		block := m.node.chain.GetBlock(place.BlockHash, place.BlockIndex)
		if block == nil {
			return nil, fmt.Errorf("block %s of the transaction is missing", place.BlockHash)
		}
		return minedObject(block, int(place.Index), m.node.ChainConfig()), nil
	}
	if tx := m.node.pool.Get(hash); tx != nil {
		return transactionObject(tx, m.node.ChainConfig()), nil
	}
	return nil, m.indexed()
}

// indexed is an error while a transaction that is not found may be one that is not indexed yet.
func (m transactionMethods) indexed() error {
	if !m.node.chain.TxIndexDone() {
		return errors.New("transaction indexing is in progress")
	}
	return nil
}

// GetRawTransactionByHash answers eth_getRawTransactionByHash.
func (m transactionMethods) GetRawTransactionByHash(hash common.Hash) (hexutil.Bytes, error) {
	_, tx := m.mined(hash)
	if tx == nil {
		tx = m.node.pool.Get(hash)
	}
	if tx == nil {
		return nil, m.indexed()
	}
	return tx.MarshalBinary()
}

// GetTransactionByBlockNumberAndIndex answers eth_getTransactionByBlockNumberAndIndex.
func (m transactionMethods) GetTransactionByBlockNumberAndIndex(ctx context.Context, number rpc.BlockNumber, index hexutil.Uint) (object, error) {
	block, err := m.node.BlockByNumber(ctx, number)
	return m.at(block, index), err
}

// GetTransactionByBlockHashAndIndex answers eth_getTransactionByBlockHashAndIndex.
func (m transactionMethods) GetTransactionByBlockHashAndIndex(hash common.Hash, index hexutil.Uint) object {
	return m.at(m.node.chain.GetBlockByHash(hash), index)
}

func (m transactionMethods) at(block *types.Block, index hexutil.Uint) object {
	if block == nil || int(index) >= len(block.Transactions()) {
		return nil
	}
	return minedObject(block, int(index), m.node.ChainConfig())
}

// GetRawTransactionByBlockNumberAndIndex answers eth_getRawTransactionByBlockNumberAndIndex.
func (m transactionMethods) GetRawTransactionByBlockNumberAndIndex(ctx context.Context, number rpc.BlockNumber, index hexutil.Uint) (hexutil.Bytes, error) {
	block, err := m.node.BlockByNumber(ctx, number)
	if err != nil {
		return nil, err
	}
	return rawAt(block, index)
}

// GetRawTransactionByBlockHashAndIndex answers eth_getRawTransactionByBlockHashAndIndex.
func (m transactionMethods) GetRawTransactionByBlockHashAndIndex(hash common.Hash, index hexutil.Uint) (hexutil.Bytes, error) {
	return rawAt(m.node.chain.GetBlockByHash(hash), index)
}

func rawAt(block *types.Block, index hexutil.Uint) (hexutil.Bytes, error) {
	if block == nil || int(index) >= len(block.Transactions()) {
		return nil, nil
	}
	return block.Transactions()[index].MarshalBinary()
}

// mined returns a transaction of the chain and its place, nil if there is none. The library writes
// the index of a new block's transactions before the block becomes the head: such a transaction is
// not returned yet, so that a caller that knows its receipt also reads the state after it.
func (m transactionMethods) mined(hash common.Hash) (*rawdb.LegacyTxLookupEntry, *types.Transaction) {
	place, tx := m.node.chain.GetCanonicalTransaction(hash)
	if place == nil || place.BlockIndex > m.node.chain.CurrentBlock().Number.Uint64() {
		return nil, nil
	}
	return place, tx
}

// GetTransactionReceipt answers eth_getTransactionReceipt.
func (m transactionMethods) GetTransactionReceipt(hash common.Hash) (object, error) {
	place, tx := m.mined(hash)
	if place == nil {
		return nil, m.indexed()
	}
	receipt, err := m.node.chain.GetCanonicalReceipt(tx, place.BlockHash, place.BlockIndex, place.Index)
	if err != nil {
		return nil, err
	}
	return receiptObject(receipt, tx, m.node.ChainConfig()), nil
}

// SendRawTransaction answers eth_sendRawTransaction.
func (m transactionMethods) SendRawTransaction(raw hexutil.Bytes) (common.Hash, error) {
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return common.Hash{}, err
	}
	if sidecar := tx.BlobTxSidecar(); sidecar != nil && sidecar.Version == types.BlobSidecarVersion0 {
		if err := sidecar.ToV1(); err != nil { // the only version since Osaka
			return common.Hash{}, fmt.Errorf("convert blob proofs: %w", err)
		}
		tx = tx.WithBlobTxSidecar(sidecar)
	}
	if !tx.Protected() {
		return common.Hash{}, errors.New("only replay-protected (EIP-155) transactions allowed over RPC")
	}
	if err := m.node.pool.Add([]*types.Transaction{tx}, false)[0]; err != nil {
		return common.Hash{}, err
	}
	return tx.Hash(), nil
}

// syncTimeoutError is a transaction that was not mined in time.
type syncTimeoutError struct {
	hash    common.Hash
	timeout time.Duration
}

func (e *syncTimeoutError) Error() string {
	return fmt.Sprintf("The transaction was added to the transaction pool but wasn't processed in %v", e.timeout)
}

// ErrorCode returns the code of JSON-RPC.
func (*syncTimeoutError) ErrorCode() int { return 4 }

// ErrorData returns the transaction's hash.
func (e *syncTimeoutError) ErrorData() any { return e.hash.Hex() }

// SendRawTransactionSync answers eth_sendRawTransactionSync with the receipt.
func (m transactionMethods) SendRawTransactionSync(ctx context.Context, raw hexutil.Bytes, milliseconds *uint64) (object, error) {
	heads := make(chan core.ChainHeadEvent, 16)
	subscription := m.node.SubscribeChainHeadEvent(heads)
	defer subscription.Unsubscribe()
	hash, err := m.SendRawTransaction(raw)
	if err != nil {
		return nil, err
	}
	timeout := syncTimeout
	if milliseconds != nil && *milliseconds > 0 {
		timeout = min(time.Duration(min(*milliseconds, 1<<32))*time.Millisecond, maxSyncTimeout)
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		if receipt, err := m.GetTransactionReceipt(hash); receipt != nil && err == nil {
			return receipt, nil
		}
		select {
		case <-heads:
		case <-timer.C:
			return nil, &syncTimeoutError{hash, timeout}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-subscription.Err():
			return nil, errors.New("the chain has stopped")
		}
	}
}

// poolMethods is the namespace txpool.
type poolMethods struct{ node *node }

// Status answers txpool_status.
func (m poolMethods) Status() object {
	pending, queued := m.node.pool.Stats()
	return object{"pending": hexutil.Uint(pending), "queued": hexutil.Uint(queued)}
}

// Content answers txpool_content.
func (m poolMethods) Content() object { return m.byAccount(m.full) }

// Inspect answers txpool_inspect.
func (m poolMethods) Inspect() object { return m.byAccount(inspected) }

// ContentFrom answers txpool_contentFrom.
func (m poolMethods) ContentFrom(account common.Address) object {
	pending, queued := m.node.pool.ContentFrom(account)
	return object{"pending": byNonce(pending, m.full), "queued": byNonce(queued, m.full)}
}

func (m poolMethods) byAccount(show func(*types.Transaction) any) object {
	pending, queued := m.node.pool.Content()
	lists := object{}
	for name, accounts := range map[string]map[common.Address][]*types.Transaction{"pending": pending, "queued": queued} {
		list := object{}
		for account, transactions := range accounts {
			list[account.Hex()] = byNonce(transactions, show)
		}
		lists[name] = list
	}
	return lists
}

func byNonce(transactions []*types.Transaction, show func(*types.Transaction) any) object {
	list := object{}
	for _, tx := range transactions {
		list[strconv.FormatUint(tx.Nonce(), 10)] = show(tx)
	}
	return list
}

func (m poolMethods) full(tx *types.Transaction) any {
	return transactionObject(tx, m.node.ChainConfig())
}

func inspected(tx *types.Transaction) any {
	to := "contract creation"
	if tx.To() != nil {
		to = tx.To().Hex()
	}
	return fmt.Sprintf("%s: %v wei + %v gas × %v wei", to, tx.Value(), tx.Gas(), tx.GasPrice())
}
