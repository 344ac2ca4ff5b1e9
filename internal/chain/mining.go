package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sortie-labs/sortie"
)

// askAtOnce is the number of transactions or blocks in one request.
const askAtOnce = 100

// MinedTx is the block of a transaction, and whether it succeeded.
type MinedTx struct {
	Transaction sortie.Hash
	BlockHash   sortie.Hash
	Block       uint64
	Succeeded   bool
	Cost        uint64 // in gwei, according to one node; 0: not known
}

// WithoutCost is the part that nodes must agree on.
func (m MinedTx) WithoutCost() MinedTx {
	m.Cost = 0
	return m
}

// MinedTransactions returns those of the transactions that are in blocks of the node's chain. Some
// endpoints return receipts of replaced blocks; those do not count.
func (n *Node) MinedTransactions(ctx context.Context, transactions []sortie.Hash) (map[sortie.Hash]MinedTx, error) {
	found := make(map[sortie.Hash]MinedTx)
	blocks := make(map[uint64]bool)
	for part := range slices.Chunk(transactions, askAtOnce) {
		calls := make([]Call, len(part))
		for i, transaction := range part {
			calls[i] = receiptCall(transaction)
		}
		replies, err := n.batchWithin(ctx, calls, maxReceiptBytes)
		if err != nil {
			return nil, err
		}
		for i, transaction := range part {
			receipt, err := replies[i].receipt()
			if errors.Is(err, ErrAbsent) {
				continue
			}
			if err == nil && receipt.transaction != transaction {
				err = BadAnswer("it is that of %s", receipt.transaction)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: receipt of %s: %w", n.name, transaction, err)
			}
			found[transaction] = MinedTx{transaction, receipt.blockHash, receipt.block, receipt.succeeded, receipt.cost()}
			blocks[receipt.block] = true
		}
	}
	hashes, err := n.BlockHashes(ctx, slices.Collect(maps.Keys(blocks)))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(found, func(_ sortie.Hash, m MinedTx) bool { return hashes[m.Block] != m.BlockHash })
	return found, nil
}

// BlockHashes returns the hashes of blocks by number, for those that the node has.
func (n *Node) BlockHashes(ctx context.Context, numbers []uint64) (map[uint64]sortie.Hash, error) {
	hashes := make(map[uint64]sortie.Hash, len(numbers))
	for part := range slices.Chunk(numbers, askAtOnce) {
		calls := make([]Call, len(part))
		for i, number := range part {
			calls[i] = HeaderCall(HexNumber(number))
		}
		replies, err := n.Batch(ctx, calls)
		if err != nil {
			return nil, err
		}
		for i, number := range part {
			block, err := replies[i].Header(number)
			if errors.Is(err, ErrAbsent) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", n.name, err)
			}
			hashes[number] = block.Hash
		}
	}
	return hashes, nil
}
