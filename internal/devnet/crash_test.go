package devnet_test

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/sortie-labs/sortie/internal/devnet"
)

// witness remembers what a client has seen.
type witness struct {
	receipts map[common.Hash]*types.Receipt
	blocks   map[uint64]common.Hash
}

func (w witness) see(receipt *types.Receipt) {
	w.receipts[receipt.TxHash] = receipt
	w.blocks[receipt.BlockNumber.Uint64()] = receipt.BlockHash
}

// check asks a chain for everything again.
func (w witness) check(t *testing.T, client *ethclient.Client) {
	t.Helper()
	for hash, seen := range w.receipts {
		receipt, err := client.TransactionReceipt(t.Context(), hash)
		if err != nil {
			t.Fatalf("the receipt of %s in block %d is lost: %v", hash, seen.BlockNumber, err)
		}
		if receipt.BlockHash != seen.BlockHash || receipt.TransactionIndex != seen.TransactionIndex {
			t.Fatalf("transaction %s was in block %s and is in %s now", hash, seen.BlockHash, receipt.BlockHash)
		}
	}
	for number, hash := range w.blocks {
		header, err := client.HeaderByNumber(t.Context(), new(big.Int).SetUint64(number))
		if err != nil || header.Hash() != hash {
			t.Fatalf("block %d is lost or another (%v)", number, err)
		}
	}
}

// TestNothingSeenIsLostByKilling kills the chain at the very moment a client sees a receipt, again
// and again.
func TestNothingSeenIsLostByKilling(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	seen := witness{map[common.Hash]*types.Receipt{}, map[uint64]common.Hash{}}
	recipient := common.HexToAddress("0x00000000000000000000000000000000000c0de2")

	const rounds = 6
	for round := range rounds {
		chain := startChild(t, "chain", dataDir)
		client := dial(t, chain.url())
		seen.check(t, client)
		sender := newSender(t, client, devnet.RoleCreator)
		if balance, err := client.BalanceAt(t.Context(), recipient, nil); err != nil || balance.Uint64() != sender.nonce {
			t.Fatalf("round %d: the recipient has %v wei after %d transfers of one (%v)", round, balance, sender.nonce, err)
		}
		for range 1 + rand.IntN(8) {
			var batch []common.Hash
			for range 1 + rand.IntN(4) {
				tx := sender.sign(&types.DynamicFeeTx{
					ChainID: sender.chainID, Nonce: sender.nonce, GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(2_000_000_000),
					Gas: 21_000, To: &recipient, Value: big.NewInt(1),
				})
				batch = append(batch, sender.send(tx).Hash())
			}
			for _, hash := range batch {
				seen.see(waitMined(t, client, hash))
			}
		}
		chain.kill()
	}
	chain := startChild(t, "chain", dataDir)
	seen.check(t, dial(t, chain.url()))
	chain.terminate()

	chain = startChild(t, "chain", dataDir) // and over a clean stop
	seen.check(t, dial(t, chain.url()))
	if len(seen.receipts) < rounds {
		t.Fatalf("only %d receipts were seen", len(seen.receipts))
	}
}

// TestKillingDuringSetUpDoesNoHarm kills the first starts of a chain at random moments. The
// contracts end up where they belong.
func TestKillingDuringSetUpDoesNoHarm(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	for range 4 {
		chain := startChild(t, "chain", dataDir)
		<-time.After(time.Duration(rand.IntN(300)) * time.Millisecond) // the fault's moment, nothing is waited for
		chain.kill()
	}
	client := dial(t, startChild(t, "chain", dataDir).url())

	want := startChain(t, quiet()).Deployment()
	for name, address := range map[string]common.Address{
		"factory": common.Address(want.Factory), "USDC": common.Address(want.USDC), "ServiceToken": common.Address(want.ServiceToken),
	} {
		if code, err := client.CodeAt(t.Context(), address, nil); err != nil || len(code) == 0 {
			t.Errorf("there is no %s at %s (%v)", name, address, err)
		}
	}
	creator := devnet.WalletByRole(devnet.RoleCreator).Address
	if balance := tokenBalance(t, client, want.USDC, creator); balance.Cmp(big.NewInt(1_000_000_000_000)) != 0 {
		t.Errorf("the creator has %s base units of USDC, want 1,000,000 USDC exactly", balance)
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	first := startChild(t, "chain", dataDir)
	first.url()
	second := startChild(t, "chain", dataDir)
	if err := second.process.Wait(); err == nil {
		t.Fatal("a second process took the same data")
	}
	wantOneLine(t, second.stderr.String(), "in use by another process")
}
