package follower_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/anviltest"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/chaintest"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/follower"
)

var quiet = slog.New(slog.DiscardHandler)

func startChain(t *testing.T) (*devnet.Chain, chain.Deployment) {
	t.Helper()
	net, err := devnet.Start(context.Background(), devnet.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := net.Close(); err != nil {
			t.Error(err)
		}
	})
	d := net.Deployment()
	return net, chain.Deployment{ChainID: d.ChainID, Factory: d.Factory, USDC: d.USDC, ServiceToken: d.ServiceToken}
}

// canonicalRows describes the logs of a factory on a chain, as the ledger describes its events.
func canonicalRows(t *testing.T, client *ethclient.Client, factory sortie.Address) []string {
	t.Helper()
	var topics []common.Hash
	for _, name := range []string{"MissionFunded", "SubmissionPaid", "PayoutDeferred", "MissionClosed"} {
		topics = append(topics, anviltest.Factory.GetABI().Events[name].ID)
	}
	logs, err := client.FilterLogs(t.Context(), ethereum.FilterQuery{
		FromBlock: new(big.Int), Addresses: []common.Address{common.Address(factory)}, Topics: [][]common.Hash{topics},
	})
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for i := range logs {
		row, err := follower.DescribeLog(&logs[i])
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func settle(t *testing.T, f *follower.Follower) {
	t.Helper()
	for range 1000 {
		progress, err := f.Converge(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !progress.More {
			return
		}
	}
	t.Fatal("Converge always has more to do, want it to end")
}

// A chain of anvil with the real contract is reorganized many times.
func TestFollowingAnvilThroughReorganizations(t *testing.T) {
	t.Parallel()
	r := anviltest.Start(t, 3)
	nodes, err := chain.OpenNodes(t.Context(), []string{r.URL}, r.Deployment, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nodes.Close)
	ledger := follower.NewMemoryLedger(time.Now)
	ledger.SetFactories(r.Deployment.Factory)
	config := follower.Config{
		Nodes: nodes, Ledger: ledger, ChainID: r.Deployment.ChainID, Finality: 40, MaxClockLead: 24 * time.Hour, Logger: quiet,
	}
	f := follower.New(config)
	settle(t, f)
	creator := devnet.WalletByRole(devnet.RoleCreator).Address
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	reorganizations := 0
	for i := range 60 {
		for range random.IntN(3) { // a creator may always revoke
			nonce := crypto.Keccak256Hash(fmt.Append(nil, i, random.Uint64()))
			r.RPC(nil, "eth_sendTransaction", map[string]any{
				"from": common.Address(creator), "to": common.Address(r.Deployment.Factory), "gas": "0x186a0",
				"data": "0x" + hex.EncodeToString(anviltest.Factory.PackRevokeAuthorization(common.Address(creator), nonce)),
			})
		}
		r.Mine()
		if random.IntN(2) == 0 && r.Head() > 25 {
			r.RPC(nil, "anvil_reorg", 1+random.IntN(20), []any{})
			reorganizations++
		}
		switch random.IntN(4) {
		case 0: // no step now
		case 1: // the process died
			f = follower.New(config)
			fallthrough
		default:
			if _, err := f.Converge(context.Background()); err != nil {
				t.Fatalf("seed %d: converge: got error %v, want none", seed, err)
			}
		}
	}
	settle(t, f)
	got, want := ledger.Rows(), canonicalRows(t, r.Client, r.Deployment.Factory)
	if !slices.Equal(got, want) || len(want) < 3 {
		t.Errorf("seed %d: after %d reorganizations the ledger has %d rows, the chain %d", seed, reorganizations, len(got), len(want))
	}
	if reorganizations < 5 {
		t.Errorf("seed %d: got %d reorganizations, want at least 5", seed, reorganizations)
	}
}

// A node that switches to another chain is put out of use, and used again after it switched back.
func TestFollowingOutlivesANodeThatChanges(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: waits for the checks of a node")
	}
	net, deployment := startChain(t)
	front := chaintest.NewSwitchable(t)
	front.Set(chaintest.ProxyTo(t, net.RPCURL()))
	nodes, err := chain.OpenNodes(t.Context(), []string{front.URL}, deployment, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer nodes.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- nodes.Run(ctx) }()
	ledger := follower.NewMemoryLedger(time.Now)
	ledger.SetFactories(deployment.Factory)
	f := follower.New(follower.Config{Nodes: nodes, Ledger: ledger, ChainID: deployment.ChainID, Logger: quiet})
	go func() { ended <- f.Run(ctx) }()
	chaintest.Await(t, func() bool { return f.Status().Tip > 0 && f.Status().Lag == 0 })

	other, err := devnet.Start(t.Context(), devnet.Config{Logger: quiet, ChainID: 1337})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	front.Set(chaintest.ProxyTo(t, other.RPCURL()))
	chaintest.Await(t, func() bool {
		return f.Status().AlarmCounts[follower.AlarmWrongChain]+f.Status().AlarmCounts[follower.AlarmUnreachable] > 0
	})
	chaintest.Await(t, func() bool { return nodes.Problem() != "" })
	tip := f.Status().Tip

	front.Set(http.HandlerFunc(chaintest.ProxyTo(t, net.RPCURL()).ServeHTTP))
	chaintest.Await(t, func() bool { return f.Status().Tip > tip && f.Status().State() == follower.StateOK })
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(ledger.Rows(), canonicalRows(t, net.Client(), deployment.Factory)) {
		t.Error("the rows of the ledger differ from the chain's events, want the same")
	}
}
