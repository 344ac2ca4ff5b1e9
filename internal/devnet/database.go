package devnet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/ethdb/leveldb"
)

const (
	databaseDir     = "leveldb"
	databaseCache   = 16 // megabytes
	databaseHandles = 64

	// formerDir is where earlier releases kept the chain, in a format that this one cannot read.
	formerDir = "node"
)

// openDatabase opens the database in a data directory, or one in memory if dataDir is empty.
func openDatabase(dataDir string) (ethdb.Database, error) {
	if dataDir == "" {
		return rawdb.NewMemoryDatabase(), nil
	}
	if _, err := os.Stat(filepath.Join(dataDir, formerDir, "chaindata")); err == nil {
		return nil, fmt.Errorf("chain data %s was written by an earlier release: choose another data directory, or %w", dataDir, ErrReset)
	}
	dir := filepath.Join(dataDir, databaseDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open chain data: %w", err)
	}
	store, err := leveldb.New(dir, databaseCache, databaseHandles, "", false)
	if errors.Is(err, syscall.EAGAIN) { // LevelDB could not lock its directory
		return nil, fmt.Errorf("chain data %s is in use by another process: stop it first, or choose another data directory", dataDir)
	}
	if err != nil {
		return nil, fmt.Errorf("open chain data %s: %w", dataDir, err)
	}
	return rawdb.NewDatabase(&syncedStore{store, dir}), nil
}

// syncedStore is LevelDB with a SyncKeyValue that flushes. The library's does nothing.
type syncedStore struct {
	*leveldb.Database
	dir string
}

// SyncKeyValue flushes the write-ahead logs to the disk, and with them every earlier write. A log
// that disappears meanwhile has become a table, which LevelDB flushes itself.
func (s *syncedStore) SyncKeyValue() error {
	logs, err := filepath.Glob(filepath.Join(s.dir, "*.log"))
	if err != nil {
		return err
	}
	for _, path := range append(logs, s.dir) {
		if err := syncFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("flush %s: %w", path, err)
		}
	}
	return nil
}

func syncFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
