package devnet_test

import (
	"context"
	"errors"
	"log/slog"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/devnet"
)

// patience is how long a test waits for what should take milliseconds. It only decides how late a
// failure is reported.
const patience = 3 * time.Minute

// stopLimit is many times what a stop takes, for busy machines.
const stopLimit = time.Minute

// quiet makes no block but for transactions, and never waits for the clock.
func quiet() devnet.Config {
	return devnet.Config{BlockInterval: 24 * time.Hour, ClockLead: 24 * time.Hour, Logger: slog.New(slog.DiscardHandler)}
}

func startChain(t testing.TB, config devnet.Config) *devnet.Chain {
	t.Helper()
	config.Logger = slog.New(slog.DiscardHandler)
	chain, err := devnet.Start(t.Context(), config)
	if err != nil {
		t.Fatalf("start chain: %v", err)
	}
	t.Cleanup(func() {
		if err := chain.Close(); err != nil {
			t.Errorf("close chain: %v", err)
		}
	})
	return chain
}

// dial connects over the network.
func dial(t testing.TB, url string) *ethclient.Client {
	t.Helper()
	client, err := ethclient.DialContext(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// sender signs transactions of one wallet with growing nonces.
type sender struct {
	t       testing.TB
	client  *ethclient.Client
	wallet  devnet.Wallet
	chainID *big.Int
	nonce   uint64
}

func newSender(t testing.TB, client *ethclient.Client, role devnet.Role) *sender {
	t.Helper()
	wallet := devnet.WalletByRole(role)
	chainID, err := client.ChainID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	nonce, err := client.PendingNonceAt(t.Context(), common.Address(wallet.Address))
	if err != nil {
		t.Fatal(err)
	}
	return &sender{t, client, wallet, chainID, nonce}
}

func (s *sender) sign(data types.TxData) *types.Transaction {
	s.t.Helper()
	key, err := crypto.HexToECDSA(s.wallet.PrivateKey[2:])
	if err != nil {
		s.t.Fatal(err)
	}
	s.nonce++
	return types.MustSignNewTx(key, types.LatestSignerForChainID(s.chainID), data)
}

// transfer is the cheapest transaction: 21,000 gas, a tip of 1 wei.
func (s *sender) transfer(to common.Address) *types.Transaction {
	s.t.Helper()
	return s.call(to, 21_000, nil)
}

func (s *sender) call(to common.Address, gas uint64, data []byte) *types.Transaction {
	s.t.Helper()
	return s.sign(&types.DynamicFeeTx{
		ChainID: s.chainID, Nonce: s.nonce, GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(2_000_000_000),
		Gas: gas, To: &to, Value: new(big.Int), Data: data,
	})
}

func (s *sender) send(tx *types.Transaction) *types.Transaction {
	s.t.Helper()
	if err := s.client.SendTransaction(s.t.Context(), tx); err != nil {
		s.t.Fatalf("send transaction: %v", err)
	}
	return tx
}

func (s *sender) sendMined(tx *types.Transaction) *types.Receipt {
	s.t.Helper()
	receipt := waitMined(s.t, s.client, s.send(tx).Hash())
	if receipt.Status != types.ReceiptStatusSuccessful {
		s.t.Fatalf("transaction %s failed", tx.Hash())
	}
	return receipt
}

// waitFor asks again and again until answer is true.
func waitFor(t testing.TB, what string, answer func() bool) {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !answer() {
		select {
		case <-timeout.C:
			t.Fatalf("gave up waiting: %s", what)
		case <-ticker.C:
		}
	}
}

func waitMined(t testing.TB, client *ethclient.Client, hash common.Hash) *types.Receipt {
	t.Helper()
	var receipt *types.Receipt
	waitFor(t, "receipt of "+hash.String(), func() bool {
		var err error
		receipt, err = client.TransactionReceipt(t.Context(), hash)
		if err != nil && !errors.Is(err, ethereum.NotFound) {
			t.Fatalf("receipt: %v", err)
		}
		return err == nil
	})
	return receipt
}

func headNumber(t testing.TB, client *ethclient.Client) uint64 {
	t.Helper()
	number, err := client.BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return number
}

func tagged(t testing.TB, client *ethclient.Client, tag int64) *types.Header {
	t.Helper()
	header, err := client.HeaderByNumber(t.Context(), big.NewInt(tag))
	if err != nil {
		t.Fatal(err)
	}
	return header
}

func tokenBalance(t testing.TB, client *ethclient.Client, token, holder sortie.Address) *big.Int {
	t.Helper()
	address := common.Address(token)
	data := append(crypto.Keccak256([]byte("balanceOf(address)"))[:4], common.LeftPadBytes(holder[:], 32)...)
	answer, err := client.CallContract(t.Context(), ethereum.CallMsg{To: &address, Data: data}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return new(big.Int).SetBytes(answer)
}

// closeSoon closes a chain and fails if that takes longer than a user would wait.
func closeSoon(t testing.TB, chain *devnet.Chain) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stopLimit)
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- chain.Close() }()
	select {
	case err := <-result:
		if err != nil {
			t.Fatalf("close chain: %v", err)
		}
	case <-ctx.Done():
		t.Fatalf("the chain did not stop within %s", stopLimit)
	}
}
