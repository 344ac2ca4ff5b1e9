package devnet

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/miner"
	"github.com/holiman/uint256"
)

// Keys of the package's own records, in the node's database so that one flush covers them and the
// blocks.
var (
	sealedKey = []byte("sortie-devnet-sealed") // hash of the newest block on disk
	setupKey  = []byte("sortie-devnet-setup")  // what set-up made, written when it is complete
)

// extraData is in the header of every block but the genesis block.
var extraData = []byte("sortie")

const (
	safeDepth      = 1
	finalizedDepth = 2
)

// ledger makes blocks and stores them.
type ledger struct {
	node *node
}

func (l ledger) head() *types.Header { return l.node.chain.CurrentBlock() }

// seal makes a block of all transactions in the pool, flushes it to the disk, and then makes it
// visible to clients.
func (l ledger) seal(timestamp uint64) (*types.Block, error) {
	chain, parent := l.node.chain, l.head()
	if err := l.node.pool.Sync(); err != nil { // the pool follows the head in the background
		return nil, fmt.Errorf("sync transaction pool: %w", err)
	}
	block, err := l.build(parent, timestamp)
	if err != nil {
		return nil, fmt.Errorf("build block %d: %w", parent.Number.Uint64()+1, err)
	}
	if _, err := chain.InsertBlockWithoutSetHead(context.Background(), block, false); err != nil {
		return nil, fmt.Errorf("insert block %d: %w", block.NumberU64(), err)
	}
	if err := l.note(sealedKey, block.Hash().Bytes()); err != nil {
		return nil, fmt.Errorf("keep block %d: %w", block.NumberU64(), err)
	}
	if err := l.show(block); err != nil {
		return nil, fmt.Errorf("show block %d: %w", block.NumberU64(), err)
	}
	return block, nil
}

// build uses the library's one-shot builder. The other one builds every block twice and keeps
// improving it in the background for a consensus client that does not exist here.
func (l ledger) build(parent *types.Header, timestamp uint64) (*types.Block, error) {
	block, _, err := l.node.miner.BuildTestingPayload(&miner.BuildPayloadArgs{
		Parent:       parent.Hash(),
		Timestamp:    timestamp,
		FeeRecipient: feeRecipient,
		Random:       crypto.Keccak256Hash(parent.Hash().Bytes()),
		Withdrawals:  types.Withdrawals{},
		BeaconRoot:   new(common.Hash),
	}, nil, false, extraData)
	return block, err
}

// show makes a block the head and moves the safe and finalized tags along.
func (l ledger) show(block *types.Block) error {
	chain := l.node.chain
	if _, err := chain.SetCanonical(block); err != nil {
		return err
	}
	chain.SetSafe(l.below(block.NumberU64(), safeDepth))
	chain.SetFinalized(l.below(block.NumberU64(), finalizedDepth))
	return nil
}

func (l ledger) below(number, depth uint64) *types.Header {
	return l.node.chain.GetHeaderByNumber(number - min(number, depth))
}

// recover makes the newest block on disk the head, if the process ended between storing and showing
// it.
func (l ledger) recover() error {
	noted, err := l.noted(sealedKey)
	if err != nil || noted == nil {
		return err
	}
	block := l.node.chain.GetBlockByHash(common.BytesToHash(noted))
	if block == nil {
		return fmt.Errorf("the newest block is missing from the chain data: %w", ErrReset)
	}
	if block.Hash() == l.head().Hash() {
		return nil
	}
	return l.show(block)
}

// rewind goes back to the genesis block.
func (l ledger) rewind() error {
	if err := l.node.db.Delete(sealedKey); err != nil {
		return err
	}
	if err := l.node.db.SyncKeyValue(); err != nil {
		return err
	}
	return l.node.chain.SetHead(0)
}

// note writes a value and everything written before it to the disk.
func (l ledger) note(key, value []byte) error {
	if err := l.node.db.Put(key, value); err != nil {
		return err
	}
	return l.node.db.SyncKeyValue()
}

// noted reads a value, nil if there is none.
func (l ledger) noted(key []byte) ([]byte, error) {
	if found, err := l.node.db.Has(key); err != nil || !found {
		return nil, err
	}
	return l.node.db.Get(key)
}

// mineable reports whether the next block would hold a transaction.
func (l ledger) mineable() bool {
	baseFee := eip1559.CalcBaseFee(l.node.chain.Config(), l.head())
	_, count := l.node.pool.Pending(txpool.PendingFilter{MinTip: uint256.NewInt(1), BaseFee: uint256.MustFromBig(baseFee)})
	return count > 0
}
