package chain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/contracts/bind/testusdc"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/chaintest"
	"github.com/sortie-labs/sortie/internal/devnet"
)

// The simulation of a settlement decides whether it is sent, made smaller, delayed or given up.
func TestASettlementIsTriedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	net, deployment := startChain(t)
	ctx, node := t.Context(), dial(t, net.RPCURL())
	nodes, err := chain.OpenNodes(ctx, []string{net.RPCURL()}, deployment, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nodes.Close)
	domain, receipt := redeemable(t, node, deployment, "tried")
	sender := devnet.WalletByRole(devnet.RoleSender).Address
	sign := func(role devnet.Role, payments ...sortie.Payment) []byte {
		settlement := sortie.Settlement{MissionKey: receipt.MissionKey, Payments: payments}
		return settlement.Calldata(devnet.WalletByRole(role).Key.SignDigest(settlement.Digest(domain.Separator())))
	}
	check := func(name string, data []byte, maxGas uint64, want chain.Trial) {
		t.Helper()
		got, err := nodes.TrySettlement(ctx, sender, domain.Factory, data, maxGas)
		if err != nil || got.Verdict != want.Verdict || got.Slot != want.Slot || want.Reason != "" && got.Reason != want.Reason {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, want)
		}
	}
	good := receipt.Payments[0]
	second := sortie.Payment{Slot: 1, Recipient: deployment.Factory, SubmissionKey: sortie.SubmissionKey("sub_2")}
	far := sortie.Payment{Slot: 9, Recipient: good.Recipient, SubmissionKey: sortie.SubmissionKey("sub_3")}
	unknown := sortie.Settlement{MissionKey: sortie.MissionKey("never funded"), Payments: []sortie.Payment{good}}
	data := sign(devnet.RoleSettler, good)
	check("a good one", data, 6_000_000, chain.Trial{Verdict: chain.Works})
	check("more gas than allowed", data, 50_000, chain.Trial{Verdict: chain.TooLarge})
	check("a recipient that the contract refuses", sign(devnet.RoleSettler, good, second), 6_000_000, chain.Trial{Verdict: chain.BadPayment, Slot: 1, Reason: "InvalidRecipient"})
	check("a slot that the mission does not have", sign(devnet.RoleSettler, good, far), 6_000_000, chain.Trial{Verdict: chain.BadPayment, Slot: 9, Reason: "SlotOutOfRange"})
	check("signed by another key", sign(devnet.RoleOperator, good), 6_000_000, chain.Trial{Verdict: chain.Waits, Reason: "UnauthorizedSigner"})
	check("a mission that was never funded", unknown.Calldata(devnet.WalletByRole(devnet.RoleSettler).Key.SignDigest(unknown.Digest(domain.Separator()))),
		6_000_000, chain.Trial{Verdict: chain.Gone, Reason: "UnknownMission"})

	factory := missionfactory.NewMissionFactory()
	pay(t, node, devnet.RoleDeployer, domain.Factory, factory.PackSetDailyCap(common.Address(deployment.USDC), big.NewInt(6)))
	check("above the daily cap", data, 6_000_000, chain.Trial{Verdict: chain.Waits, Reason: "DailyCapExceeded"})
	if limit, err := nodes.DailyCap(ctx, domain.Factory, deployment.USDC); err != nil || limit.Room() == nil || limit.Room().Int64() != 6 {
		t.Errorf("the cap is %+v, %v; want room for 6", limit, err)
	}
	if limit, err := nodes.DailyCap(ctx, domain.Factory, deployment.ServiceToken); err != nil || limit.Room() != nil {
		t.Errorf("the cap is %+v, %v; want none", limit, err)
	}
	pay(t, node, devnet.RoleDeployer, domain.Factory, factory.PackSetDailyCap(common.Address(deployment.USDC), big.NewInt(100)))
	pay(t, node, devnet.RoleDeployer, domain.Factory, factory.PackPause())
	check("while the contract is paused", data, 6_000_000, chain.Trial{Verdict: chain.Waits, Reason: "EnforcedPause"})
	pay(t, node, devnet.RoleDeployer, domain.Factory, factory.PackUnpause())

	moves := func(name string, amount int64, want bool) {
		t.Helper()
		if got, err := nodes.Transfers(ctx, deployment.USDC, domain.Factory, sender, big.NewInt(amount)); err != nil || got != want {
			t.Errorf("%s: the token transfers: %t, %v; want %t", name, got, err, want)
		}
	}
	moves("as much as the contract holds", 14, true)
	moves("more than the contract holds", 15, false)
	pay(t, node, devnet.RoleDeployer, deployment.USDC, testusdc.NewTestUSDC().PackPause())
	moves("while the token is paused", 7, false)
	pay(t, node, devnet.RoleDeployer, deployment.USDC, testusdc.NewTestUSDC().PackUnpause())

	pay(t, node, devnet.RoleCreator2, domain.Factory, data)
	paid, err := nodes.PaidSlots(ctx, domain.Factory, receipt.MissionKey, []uint32{1, 0, 9})
	if err != nil || paid[0] || !paid[1] || paid[2] {
		t.Errorf("slots 1, 0 and 9 are paid: %v, %v; want slot 0 alone", paid, err)
	}
	if limit, err := nodes.DailyCap(ctx, domain.Factory, deployment.USDC); err != nil || limit.Room().Int64() != 93 {
		t.Errorf("the cap is %+v, %v; want room for 93", limit, err)
	}
	end := sortie.Close{MissionKey: receipt.MissionKey, PaidCount: 1}
	pay(t, node, devnet.RoleCreator2, domain.Factory, end.Calldata(devnet.WalletByRole(devnet.RoleSettler).Key.SignDigest(end.Digest(domain.Separator()))))
	check("a mission that is closed", data, 6_000_000, chain.Trial{Verdict: chain.Gone, Reason: "MissionAlreadyClosed"})
}

// One of two nodes cannot set a payout aside, and cannot prevent one by reporting it as paid.
func TestATrialNeedsTheNodesToAgree(t *testing.T) {
	t.Parallel()
	net, deployment := startChain(t)
	silent := chaintest.NewSwitchable(t)
	silent.Set(chaintest.ProxyTo(t, net.RPCURL()))
	nodes, err := chain.OpenNodes(t.Context(), []string{net.RPCURL(), silent.URL}, deployment, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nodes.Close)
	domain, receipt := redeemable(t, dial(t, net.RPCURL()), deployment, "agreed")
	sender := devnet.WalletByRole(devnet.RoleSender).Address
	try := func() error {
		_, err := nodes.TrySettlement(t.Context(), sender, domain.Factory, receipt.Calldata(receipt.Signature), 6_000_000)
		return err
	}
	ask := func() error {
		_, err := nodes.PaidSlots(t.Context(), domain.Factory, receipt.MissionKey, []uint32{0})
		return err
	}
	for name, run := range map[string]func() error{"try": try, "ask": ask} {
		if err := run(); err != nil {
			t.Errorf("%s with both nodes: got %v, want no error", name, err)
		}
	}
	silent.Set(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	for name, run := range map[string]func() error{"try": try, "ask": ask} {
		if err := run(); err == nil {
			t.Errorf("%s with one of two nodes: no error, want one", name)
		}
	}
}

// A busy node is not a token that refuses the transfer.
func TestANodeThatIsBusyIsNoRefusalOfTheToken(t *testing.T) {
	t.Parallel()
	net, deployment := startChain(t)
	busy := chaintest.NewSwitchable(t)
	healthy := chaintest.ProxyTo(t, net.RPCURL())
	busy.Set(healthy)
	nodes, err := chain.OpenNodes(t.Context(), []string{busy.URL}, deployment, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nodes.Close)
	busy.Set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(body, &request) == nil && request.Method == "eth_call" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32005,"message":"limit exceeded"}}`, request.ID)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		healthy.ServeHTTP(w, r)
	}))
	sender := devnet.WalletByRole(devnet.RoleSender).Address
	if transfers, err := nodes.Transfers(t.Context(), deployment.USDC, deployment.Factory, sender, big.NewInt(7)); err == nil {
		t.Errorf("the token transfers: %t, want an error", transfers)
	}
}
