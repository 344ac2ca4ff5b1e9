package devnet

import (
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
)

// openNode starts the library's node on a data directory, or in memory if dataDir is empty. It
// opens no port.
func openNode(dataDir string, chainID uint64) (*node.Node, *eth.Ethereum, error) {
	stack, err := node.New(&node.Config{
		Name:    "node",
		DataDir: dataDir,
		P2P:     p2p.Config{NoDiscovery: true, NoDial: true},
	})
	if errors.Is(err, node.ErrDatadirUsed) {
		return nil, nil, fmt.Errorf("chain data %s is in use by another process: stop it first, or choose another data directory", dataDir)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open chain data %s: %w", dataDir, err)
	}
	ethereum, err := eth.New(stack, nodeConfig(chainID))
	if err != nil {
		return nil, nil, also(explainOpen(err, dataDir), stack.Close())
	}
	if err := stack.Start(); err != nil { // which closes the node itself when it fails
		return nil, nil, explainOpen(err, dataDir)
	}
	ethereum.SetSynced()
	return stack, ethereum, nil
}

func explainOpen(err error, dataDir string) error {
	var mismatch *core.GenesisMismatchError
	if errors.As(err, &mismatch) {
		return fmt.Errorf("chain data %s belongs to another chain: start with --reset, or choose another data directory", dataDir)
	}
	return fmt.Errorf("open chain data %s: %w", dataDir, err)
}

// nodeConfig keeps every block's state on disk as the block is made (an "archive" in hash form),
// because the pruned forms hold the latest states in memory until a clean stop. It switches off
// what a chain without peers does not need, and every cache: the whole state fits into the
// database's own.
func nodeConfig(chainID uint64) *ethconfig.Config {
	config := ethconfig.Defaults
	config.Genesis = genesis(chainID)
	config.NetworkId = chainID
	config.SyncMode = ethconfig.FullSync

	config.StateScheme = rawdb.HashScheme
	config.NoPruning = true
	config.TransactionHistory = 0 // all of it
	config.LogNoHistory = true    // no index: log searches read the headers' bloom filters

	config.DatabaseCache = 16 // megabytes, like those below
	config.DatabaseHandles = 64
	config.TrieCleanCache = 0
	config.TrieDirtyCache = 0
	config.SnapshotCache = 0
	config.NoPrefetch = true

	config.Miner.GasCeil = blockGasLimit
	config.Miner.GasPrice = big.NewInt(1)
	config.TxPool.PriceLimit = 1
	config.TxPool.NoLocals = true
	config.TxPool.Journal = ""
	config.TxPool.AccountSlots = 4096 // one sender may fill a test's whole burst
	config.TxPool.AccountQueue = 4096
	config.TxPool.Lifetime = time.Hour
	config.BlobPool.Datadir = ""
	config.RPCTxFeeCap = 0
	return &config
}
