package chain_test

import (
	"context"
	"encoding/hex"
	"fmt"
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
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/devnet"
)

// canonicalRows are the logs that a chain holds of a factory, as the ledger describes events.
func canonicalRows(t *testing.T, client *ethclient.Client, factory sortie.Address) []string {
	t.Helper()
	var topics []common.Hash
	for _, name := range []string{"MissionFunded", "SubmissionPaid", "PayoutDeferred", "MissionClosed"} {
		topics = append(topics, FactoryABI.GetABI().Events[name].ID)
	}
	logs, err := client.FilterLogs(t.Context(), ethereum.FilterQuery{
		FromBlock: new(big.Int), Addresses: []common.Address{common.Address(factory)}, Topics: [][]common.Hash{topics},
	})
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for i := range logs {
		row, err := chain.DescribeLog(&logs[i])
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func settle(t *testing.T, follower *chain.Follower) {
	t.Helper()
	for range 1000 {
		progress, err := follower.Converge(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !progress.More {
			return
		}
	}
	t.Fatal("it never comes to rest")
}

// A chain of another maker, with the real contract, is reorganized again and again.
func TestFollowingAnvilThroughReorganizations(t *testing.T) {
	t.Parallel()
	r := StartAnvil(t, 3)
	nodes, err := chain.OpenNodes(t.Context(), []string{r.URL}, r.Deployment, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nodes.Close)
	ledger := chain.NewMemoryLedger(time.Now)
	ledger.SetFactories(r.Deployment.Factory)
	config := chain.FollowerConfig{
		Nodes: nodes, Ledger: ledger, ChainID: r.Deployment.ChainID, Finality: 40, MaxClockLead: 24 * time.Hour, Logger: quiet,
	}
	follower := chain.NewFollower(config)
	settle(t, follower)
	creator := devnet.WalletByRole(devnet.RoleCreator).Address
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	reorganizations := 0
	for i := range 60 {
		for range random.IntN(3) { // a creator may always revoke
			nonce := crypto.Keccak256Hash(fmt.Append(nil, i, random.Uint64()))
			r.RPC(nil, "eth_sendTransaction", map[string]any{
				"from": common.Address(creator), "to": common.Address(r.Deployment.Factory), "gas": "0x186a0",
				"data": "0x" + hex.EncodeToString(FactoryABI.PackRevokeAuthorization(common.Address(creator), nonce)),
			})
		}
		r.Mine()
		if random.IntN(2) == 0 && r.Head() > 25 {
			r.RPC(nil, "anvil_reorg", 1+random.IntN(20), []any{})
			reorganizations++
		}
		switch random.IntN(4) {
		case 0: // it looks later
		case 1: // it died
			follower = chain.NewFollower(config)
			fallthrough
		default:
			if _, err := follower.Converge(context.Background()); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
	settle(t, follower)
	got, want := ledger.Rows(), canonicalRows(t, r.Client, r.Deployment.Factory)
	if !slices.Equal(got, want) || len(want) < 3 {
		t.Errorf("seed %d: after %d reorganizations the ledger has %d rows, the chain %d", seed, reorganizations, len(got), len(want))
	}
	if reorganizations < 5 {
		t.Errorf("seed %d: only %d reorganizations", seed, reorganizations)
	}
}

// A node of another chain is put out of use in the middle of following, and used again when it is
// the right one again.
func TestFollowingOutlivesANodeThatChanges(t *testing.T) {
	t.Parallel()
	net, deployment := startChain(t)
	front := NewSwitchable(t)
	front.Set(ProxyTo(t, net.RPCURL()))
	nodes, err := chain.OpenNodes(t.Context(), []string{front.URL}, deployment, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer nodes.Close()
	nodes.CheckEvery(5 * time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- nodes.Run(ctx) }()
	ledger := chain.NewMemoryLedger(time.Now)
	ledger.SetFactories(deployment.Factory)
	follower := chain.NewFollower(chain.FollowerConfig{Nodes: nodes, Ledger: ledger, ChainID: deployment.ChainID, Logger: quiet})
	go func() { ended <- follower.Run(ctx) }()
	Await(t, func() bool { return follower.Status().Tip > 0 && follower.Status().Lag == 0 })

	other, err := devnet.Start(t.Context(), devnet.Config{Logger: quiet, ChainID: 1337})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	front.Set(ProxyTo(t, other.RPCURL()))
	Await(t, func() bool {
		return follower.Status().AlarmCounts[chain.AlarmWrongChain]+follower.Status().AlarmCounts[chain.AlarmUnreachable] > 0
	})
	Await(t, func() bool { return nodes.Problem() != "" })
	tip := follower.Status().Tip

	front.Set(http.HandlerFunc(ProxyTo(t, net.RPCURL()).ServeHTTP))
	Await(t, func() bool { return follower.Status().Tip > tip && follower.Status().State() == chain.StateOK })
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(ledger.Rows(), canonicalRows(t, net.Client(), deployment.Factory)) {
		t.Error("the rows are not those of the chain")
	}
}
