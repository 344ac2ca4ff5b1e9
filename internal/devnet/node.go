package devnet

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/history"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/txpool/blobpool"
	"github.com/ethereum/go-ethereum/core/txpool/legacypool"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth/gasprice"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/event"
	"github.com/ethereum/go-ethereum/miner"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
)

// node is an Ethereum node without peers: a chain, a transaction pool and a block builder on one
// database.
type node struct {
	db    ethdb.Database
	chain *core.BlockChain
	pool  *txpool.TxPool
	miner *miner.Miner
	fees  *gasprice.Oracle
}

// openNode opens the chain in a data directory, or one in memory if dataDir is empty. It opens no
// port.
func openNode(dataDir string, chainID uint64) (*node, error) {
	db, err := openDatabase(dataDir)
	if err != nil {
		return nil, err
	}
	n := &node{db: db}
	if err := n.open(chainID); err != nil {
		return nil, also(explainOpen(err, dataDir), n.Close())
	}
	return n, nil
}

func (n *node) open(chainID uint64) (err error) {
	engine := beacon.New(ethash.NewFaker())
	if n.chain, err = core.NewBlockChain(n.db, genesis(chainID), engine, chainOptions()); err != nil {
		return err
	}
	transactions := poolOptions()
	legacy := legacypool.New(transactions, n.chain)
	blobs := blobpool.DefaultConfig
	blobs.Datadir = "" // in memory
	if n.pool, err = txpool.New(transactions.PriceLimit, n.chain, []txpool.SubPool{legacy, blobpool.New(blobs, n.chain, legacy.HasPendingAuth)}); err != nil {
		return err
	}
	building := miner.DefaultConfig
	building.GasCeil = blockGasLimit
	building.GasPrice = big.NewInt(1)
	n.miner = miner.New(n, building, engine)
	if err := n.miner.SetExtra(extraData); err != nil {
		return err
	}
	n.fees = gasprice.NewOracle(n, gasprice.Config{
		Blocks: 20, Percentile: 60, MaxHeaderHistory: 1024, MaxBlockHistory: 1024,
		MaxPrice: gasprice.DefaultMaxPrice, IgnorePrice: gasprice.DefaultIgnorePrice,
	}, building.GasPrice)
	return nil
}

func explainOpen(err error, dataDir string) error {
	var mismatch *core.GenesisMismatchError
	if errors.As(err, &mismatch) {
		return fmt.Errorf("chain data %s belongs to another chain: choose another data directory, or %w", dataDir, ErrReset)
	}
	return fmt.Errorf("open chain data %s: %w", dataDir, err)
}

// chainOptions keeps every block's state on disk as the block is made (an "archive" in hash form),
// because the pruned forms hold the latest states in memory until a clean stop. It switches off
// every cache: the whole state fits into the database's own.
func chainOptions() *core.BlockChainConfig {
	return &core.BlockChainConfig{
		StateScheme:        rawdb.HashScheme,
		ArchiveMode:        true,
		HistoryPolicy:      history.HistoryPolicy{Mode: history.KeepAll},
		TxLookupLimit:      0, // index all transactions
		NoPrefetch:         true,
		SlowBlockThreshold: -1, // no log of slow blocks
	}
}

func poolOptions() legacypool.Config {
	options := legacypool.DefaultConfig
	options.NoLocals = true
	options.Journal = ""
	options.AccountSlots = 4096 // one sender may fill a test's whole burst
	options.AccountQueue = 4096
	options.Lifetime = time.Hour
	return options
}

// Close stops the node and frees its data directory.
func (n *node) Close() error {
	var err error
	if n.pool != nil {
		err = n.pool.Close()
	}
	if n.chain != nil {
		n.chain.Stop()
	}
	return errors.Join(err, n.db.Close())
}

// The methods below are what the library's block builder and gas price oracle ask for.

// BlockChain returns the chain.
func (n *node) BlockChain() *core.BlockChain { return n.chain }

// TxPool returns the transaction pool.
func (n *node) TxPool() *txpool.TxPool { return n.pool }

// ChainConfig returns the chain's rules.
func (n *node) ChainConfig() *params.ChainConfig { return n.chain.Config() }

// Pending returns the block that would be built now, with its receipts and state.
func (n *node) Pending() (*types.Block, types.Receipts, *state.StateDB) { return n.miner.Pending() }

// GetReceipts returns the receipts of a block.
func (n *node) GetReceipts(_ context.Context, block common.Hash) (types.Receipts, error) {
	return n.chain.GetReceiptsByHash(block), nil
}

// SubscribeChainHeadEvent sends every new head to heads.
func (n *node) SubscribeChainHeadEvent(heads chan<- core.ChainHeadEvent) event.Subscription {
	return n.chain.SubscribeChainHeadEvent(heads)
}

// HeaderByNumber returns a header by number or tag, nil if there is none.
func (n *node) HeaderByNumber(_ context.Context, number rpc.BlockNumber) (*types.Header, error) {
	var header *types.Header
	switch number {
	case rpc.PendingBlockNumber:
		if block, _, _ := n.Pending(); block != nil {
			header = block.Header()
		}
	case rpc.LatestBlockNumber:
		header = n.chain.CurrentBlock()
	case rpc.SafeBlockNumber:
		header = n.chain.CurrentSafeBlock()
	case rpc.FinalizedBlockNumber:
		header = n.chain.CurrentFinalBlock()
	case rpc.EarliestBlockNumber:
		header = n.chain.GetHeaderByNumber(0)
	default:
		return n.chain.GetHeaderByNumber(uint64(number)), nil
	}
	if header == nil {
		return nil, fmt.Errorf("%s block not found", number)
	}
	return header, nil
}

// BlockByNumber returns a block by number or tag, nil if there is none.
func (n *node) BlockByNumber(ctx context.Context, number rpc.BlockNumber) (*types.Block, error) {
	if number == rpc.PendingBlockNumber {
		block, _, _ := n.Pending()
		if block == nil {
			return nil, errors.New("pending block is not available")
		}
		return block, nil
	}
	header, err := n.HeaderByNumber(ctx, number)
	if header == nil || err != nil {
		return nil, err
	}
	return n.chain.GetBlock(header.Hash(), header.Number.Uint64()), nil
}

// header returns the header that a request names, nil if there is none.
func (n *node) header(ctx context.Context, at rpc.BlockNumberOrHash) (*types.Header, error) {
	if number, ok := at.Number(); ok {
		return n.HeaderByNumber(ctx, number)
	}
	hash, ok := at.Hash()
	if !ok {
		return nil, errors.New("invalid arguments; neither block nor hash specified")
	}
	header := n.chain.GetHeaderByHash(hash)
	if header != nil && at.RequireCanonical && n.chain.GetCanonicalHash(header.Number.Uint64()) != hash {
		return nil, errors.New("hash is not currently canonical")
	}
	return header, nil
}

// block returns the block that a request names, nil if there is none.
func (n *node) block(ctx context.Context, at rpc.BlockNumberOrHash) (*types.Block, error) {
	if number, ok := at.Number(); ok {
		return n.BlockByNumber(ctx, number)
	}
	header, err := n.header(ctx, at)
	if header == nil || err != nil {
		return nil, err
	}
	return n.chain.GetBlock(header.Hash(), header.Number.Uint64()), nil
}

// state returns the state after the block that a request names; without a block, the latest.
func (n *node) state(ctx context.Context, at *rpc.BlockNumberOrHash) (*state.StateDB, *types.Header, error) {
	if at == nil {
		latest := rpc.BlockNumberOrHashWithNumber(rpc.LatestBlockNumber)
		at = &latest
	}
	if number, ok := at.Number(); ok && number == rpc.PendingBlockNumber {
		block, _, pending := n.Pending()
		if block == nil || pending == nil {
			return nil, nil, errors.New("pending state is not available")
		}
		return pending, block.Header(), nil
	}
	header, err := n.header(ctx, *at)
	if err != nil {
		return nil, nil, err
	}
	if header == nil {
		return nil, nil, errors.New("header not found")
	}
	found, err := n.chain.StateAt(header.Root, header.Number, header.Time)
	return found, header, err
}
