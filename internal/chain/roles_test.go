package chain_test

import (
	"context"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/devnet"
)

// administrator is the account that grants roles and sets caps.
func administrator(t *testing.T, net *devnet.Chain) *chain.Account {
	t.Helper()
	wallet := devnet.WalletByRole(devnet.RoleDeployer)
	account, err := chain.OpenAccount(t.Context(), net.Client(), devnet.NewSigner(wallet.Address, func(_ context.Context, digest sortie.Hash) (sortie.Bytes, error) {
		return wallet.Key.SignDigest(digest), nil
	}), net.ChainID())
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// Roles and caps are read from the contract, and unknown if one of two nodes does not answer.
func TestRolesAndCapsAreReadFromTheContract(t *testing.T) {
	t.Parallel()
	net, deployment := startChain(t)
	ctx := t.Context()
	open := func(urls ...string) *chain.Nodes {
		t.Helper()
		nodes, err := chain.OpenNodes(ctx, urls, deployment, quiet)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nodes.Close)
		return nodes
	}
	nodes := open(net.RPCURL())
	next := devnet.WalletByRole(devnet.RoleOperator).Address
	for _, want := range []struct {
		account sortie.Address
		holds   bool
	}{{deployment.Settler, true}, {deployment.Authorizer, false}, {next, false}} {
		if got, err := nodes.HoldsSettlerRole(ctx, deployment.Factory, want.account); err != nil || got != want.holds {
			t.Errorf("settler role of %s: %t, %v; want %t", want.account, got, err, want.holds)
		}
	}
	both := []sortie.Token{sortie.TokenUSDC, sortie.TokenService}
	if uncapped, err := nodes.UncappedTokens(ctx); err != nil || !slices.Equal(uncapped, both) {
		t.Errorf("without a cap: %v, %v; want %v", uncapped, err, both)
	}
	factory := missionfactory.NewMissionFactory()
	admin := administrator(t, net)
	send := func(data []byte) {
		t.Helper()
		tx, err := admin.Send(ctx, 300_000, &deployment.Factory, data)
		if err == nil {
			_, err = admin.Mined(ctx, tx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	send(factory.PackSetDailyCap(common.Address(deployment.USDC), big.NewInt(0))) // nothing is paid: that is a cap, too
	if uncapped, err := nodes.UncappedTokens(ctx); err != nil || !slices.Equal(uncapped, both[1:]) {
		t.Errorf("without a cap, of which USDC has one: %v, %v; want %v", uncapped, err, both[1:])
	}
	to := common.Address(deployment.Factory)
	answer, err := net.Client().CallContract(ctx, callMessage(to, factory.PackSETTLERROLE()), nil)
	if err != nil {
		t.Fatal(err)
	}
	role, err := factory.UnpackSETTLERROLE(answer)
	if err != nil {
		t.Fatal(err)
	}
	send(factory.PackGrantRole(role, common.Address(next)))
	send(factory.PackRevokeRole(role, common.Address(deployment.Settler)))
	for account, want := range map[sortie.Address]bool{deployment.Settler: false, next: true} {
		if got, err := nodes.HoldsSettlerRole(ctx, deployment.Factory, account); err != nil || got != want {
			t.Errorf("settler role of %s after the rotation: %t, %v; want %t", account, got, err, want)
		}
	}
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer down.Close()
	deployment.Settler = next
	halved := open(net.RPCURL(), down.URL)
	if got, err := halved.HoldsSettlerRole(ctx, deployment.Factory, next); err == nil {
		t.Errorf("one of two nodes is away, and the role is %t, want an error", got)
	}
	if got, err := halved.UncappedTokens(ctx); err == nil {
		t.Errorf("one of two nodes is away, and without a cap are %v, want an error", got)
	}
}
