package devnet

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

func openLedger(t *testing.T, dataDir string) (*node, ledger) {
	t.Helper()
	opened, err := openNode(dataDir, DefaultChainID)
	if err != nil {
		t.Fatal(err)
	}
	return opened, ledger{opened}
}

func sealOne(t *testing.T, l ledger) {
	t.Helper()
	if _, err := l.seal(l.head().Time + 1); err != nil {
		t.Fatal(err)
	}
}

// TestBlockKeptButNotShownComesBack plays a process that dies between the two steps of sealing.
func TestBlockKeptButNotShownComesBack(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	opened, l := openLedger(t, dataDir)
	sealOne(t, l)
	parent := l.head()
	block, err := l.build(parent, parent.Time+1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.node.chain.InsertBlockWithoutSetHead(t.Context(), block, false); err != nil {
		t.Fatal(err)
	}
	if err := l.note(sealedKey, block.Hash().Bytes()); err != nil {
		t.Fatal(err)
	}
	if l.head().Hash() != parent.Hash() {
		t.Fatal("a block is visible before it is shown")
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}

	opened, l = openLedger(t, dataDir)
	defer opened.Close()
	if l.head().Hash() != parent.Hash() {
		t.Fatal("the library already found the block: this test proves nothing")
	}
	if err := l.recover(); err != nil {
		t.Fatal(err)
	}
	if l.head().Hash() != block.Hash() {
		t.Errorf("the head is block %d, want the kept block %d", l.head().Number, block.Number())
	}
	sealOne(t, l)
	if l.head().ParentHash != block.Hash() {
		t.Error("the chain does not go on from the kept block")
	}
}

// TestHalfSetUpChainStartsAfresh leaves blocks without the record of a complete set-up.
func TestHalfSetUpChainStartsAfresh(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	opened, l := openLedger(t, dataDir)
	for range 5 {
		sealOne(t, l)
	}
	orphan := l.head()
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	chain, err := Start(t.Context(), Config{DataDir: dataDir, BlockInterval: time.Hour, ClockLead: time.Hour, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer chain.Close()
	if _, err := chain.Client().HeaderByHash(t.Context(), orphan.Hash()); err == nil {
		t.Error("a block of the half set-up chain is still there")
	}
	if chain.Deployment().Factory.IsZero() {
		t.Error("the contracts are not deployed")
	}
}

func TestClockSetBackIsRefused(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	opened, l := openLedger(t, dataDir)
	if _, err := l.seal(uint64(time.Now().Add(time.Hour).Unix())); err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	chain, err := Start(t.Context(), Config{DataDir: dataDir, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		chain.Close()
		t.Fatal("a chain from the future started")
	}
}

func TestOtherContractsAreRefused(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	opened, l := openLedger(t, dataDir)
	sealOne(t, l)
	if err := l.note(setupKey, []byte(`{"deployment":{"chainId":31337},"code":"0x0000000000000000000000000000000000000000000000000000000000000001"}`)); err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	chain, err := Start(ctx, Config{DataDir: dataDir, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		chain.Close()
		t.Fatal("a chain with other contracts started")
	}
}
