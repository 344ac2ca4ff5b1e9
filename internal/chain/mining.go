package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sortie-labs/sortie"
)

// askAtOnce is how many transactions or blocks are asked for in one request.
const askAtOnce = 100

// mining says in which block a transaction is, and whether it had its effect.
type mining struct {
	transaction sortie.Hash
	blockHash   sortie.Hash
	block       uint64
	succeeded   bool
	cost        uint64 // in gwei, as one node says; 0: not known
}

// withoutCost is what nodes must agree on: what a transaction cost decides nothing.
func (m mining) withoutCost() mining {
	m.cost = 0
	return m
}

// minings tells which of the transactions are in blocks of the node's chain. Some endpoints
// remember receipts of blocks that were taken back; those do not count.
func (n *Node) minings(ctx context.Context, transactions []sortie.Hash) (map[sortie.Hash]mining, error) {
	found := make(map[sortie.Hash]mining)
	blocks := make(map[uint64]bool)
	for part := range slices.Chunk(transactions, askAtOnce) {
		calls := make([]call, len(part))
		for i, transaction := range part {
			calls[i] = receiptCall(transaction)
		}
		replies, err := n.batchWithin(ctx, calls, maxReceiptBytes)
		if err != nil {
			return nil, err
		}
		for i, transaction := range part {
			receipt, err := replies[i].receipt()
			if errors.Is(err, errAbsent) {
				continue
			}
			if err == nil && receipt.transaction != transaction {
				err = badAnswer("it is that of %s", receipt.transaction)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: receipt of %s: %w", n.name, transaction, err)
			}
			found[transaction] = mining{transaction, receipt.blockHash, receipt.block, receipt.succeeded, receipt.cost()}
			blocks[receipt.block] = true
		}
	}
	hashes, err := n.hashes(ctx, slices.Collect(maps.Keys(blocks)))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(found, func(_ sortie.Hash, m mining) bool { return hashes[m.block] != m.blockHash })
	return found, nil
}

// hashes gives the hashes of the node's blocks of these numbers, of those that it has.
func (n *Node) hashes(ctx context.Context, numbers []uint64) (map[uint64]sortie.Hash, error) {
	hashes := make(map[uint64]sortie.Hash, len(numbers))
	for part := range slices.Chunk(numbers, askAtOnce) {
		calls := make([]call, len(part))
		for i, number := range part {
			calls[i] = headerCall(hexNumber(number))
		}
		replies, err := n.batch(ctx, calls)
		if err != nil {
			return nil, err
		}
		for i, number := range part {
			block, err := replies[i].header(number)
			if errors.Is(err, errAbsent) {
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
