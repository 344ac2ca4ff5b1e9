package chain_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/chaintest"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/setting"
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
	return net, chain.Deployment{
		ChainID: d.ChainID, Factory: d.Factory, USDC: d.USDC, ServiceToken: d.ServiceToken,
		Authorizer: devnet.WalletByRole(devnet.RoleAuthorizer).Address, Settler: devnet.WalletByRole(devnet.RoleSettler).Address,
	}
}

func dial(t *testing.T, url string) *chain.Node {
	t.Helper()
	node, err := chain.Dial(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	return node
}

func TestDeploymentIsComparedWithTheChain(t *testing.T) {
	t.Parallel()
	net, right := startChain(t)
	node := dial(t, net.RPCURL())
	if err := right.Check(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	unknown := sortie.MustAddress("0x1111111111111111111111111111111111111111")
	for want, alter := range map[string]func(*chain.Deployment){
		"chain id 5: the node is on chain 31337":                             func(d *chain.Deployment) { d.ChainID = 5 },
		"factory " + unknown.String() + ": there is no contract":             func(d *chain.Deployment) { d.Factory = unknown },
		"no MissionFactory of version 1":                                     func(d *chain.Deployment) { d.Factory = d.ServiceToken },
		"USDC " + unknown.String() + ": the factory pays with":               func(d *chain.Deployment) { d.USDC = unknown },
		"service token " + unknown.String() + ": the factory pays with":      func(d *chain.Deployment) { d.ServiceToken = unknown },
		"authorizer " + unknown.String() + ": it does not have that role":    func(d *chain.Deployment) { d.Authorizer = unknown },
		"settler " + right.Authorizer.String() + ": it does not have that r": func(d *chain.Deployment) { d.Settler = d.Authorizer },
	} {
		wrong := right
		alter(&wrong)
		err := wrong.Check(t.Context(), node)
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, chain.ErrUnreachable) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := chain.CheckToken(t.Context(), node, setting.USDC, right.ServiceToken, 6); err == nil || !strings.Contains(err.Error(), "18 decimals, want 6") {
		t.Errorf("decimals of the token: got %v, want an error about them", err)
	}
}

func TestANodeIsUsedOnceItHasShownItself(t *testing.T) {
	t.Parallel()
	net, deployment := startChain(t)
	front := chaintest.NewSwitchable(t)
	nodes, err := chain.OpenNodes(t.Context(), []string{front.URL}, deployment, quiet)
	if err != nil {
		t.Fatal(err) // a node that is down is no error
	}
	defer nodes.Close()
	if _, err := nodes.RunCreationCode(t.Context(), nil, 100_000); !errors.Is(err, chain.ErrUnreachable) || nodes.Problem() == "" {
		t.Errorf("before the node answers: got error %v and problem %q, want unreachable and a problem", err, nodes.Problem())
	}
	front.Set(chaintest.ProxyTo(t, net.RPCURL()))
	nodes.CheckEvery(10 * time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- nodes.Run(ctx) }()
	chaintest.Await(t, func() bool { return nodes.Problem() == "" })
	returnWord := common.FromHex("602a60005260206000f3") // PUSH1 42, MSTORE, RETURN one word
	answer, err := nodes.RunCreationCode(t.Context(), returnWord, 100_000)
	if err != nil || new(big.Int).SetBytes(answer).Int64() != 42 {
		t.Errorf("after the node answers: got %x, %v, want 42", answer, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestANodeOfAnotherChainStopsTheService(t *testing.T) {
	t.Parallel()
	net, deployment := startChain(t)
	wrong := deployment
	wrong.ChainID = 1
	if _, err := chain.OpenNodes(t.Context(), []string{net.RPCURL()}, wrong, quiet); err == nil || !strings.Contains(err.Error(), "chain id 1: the node is on chain") {
		t.Errorf("open nodes of another chain: got %v, want an error about the chain id", err)
	}
	front := chaintest.NewSwitchable(t)
	nodes, err := chain.OpenNodes(t.Context(), []string{front.URL}, wrong, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer nodes.Close()
	nodes.CheckEvery(10 * time.Millisecond)
	front.Set(chaintest.ProxyTo(t, net.RPCURL()))
	if err := nodes.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "chain id 1: the node is on chain") {
		t.Errorf("run with a node of another chain: got %v, want an error about the chain id", err)
	}
}

func TestANodeThatTurnsIntoAnotherIsPutOutOfUse(t *testing.T) {
	t.Parallel()
	net, deployment := startChain(t)
	front := chaintest.NewSwitchable(t)
	front.Set(chaintest.ProxyTo(t, net.RPCURL()))
	nodes, err := chain.OpenNodes(t.Context(), []string{front.URL}, deployment, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer nodes.Close()
	nodes.CheckEvery(time.Millisecond)
	front.Set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x1"}`)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- nodes.Run(ctx) }()
	chaintest.Await(t, func() bool { return nodes.Problem() != "" })
	if _, err := nodes.RunCreationCode(t.Context(), nil, 100_000); !errors.Is(err, chain.ErrUnreachable) {
		t.Errorf("call after the node changed: got %v, want unreachable", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("run with a node that changed: got %v, want no error", err)
	}
}

// Provider URLs have keys in paths and queries.
func TestErrorsKeepURLsSecret(t *testing.T) {
	t.Parallel()
	_, deployment := startChain(t)
	for name, handler := range map[string]http.HandlerFunc{
		"closed":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"refused": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"a page":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"empty":   func(http.ResponseWriter, *http.Request) {},
		"endless": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x`)
			block := bytes.Repeat([]byte("0"), 1<<20)
			for i := 0; i < 1024 && r.Context().Err() == nil; i++ {
				if _, err := w.Write(block); err == nil && i > 64 {
					t.Errorf("the client read %d MB of an endless answer, want it to stop at the limit", i)
					return
				}
			}
		},
	} {
		front := chaintest.NewSwitchable(t)
		front.Set(handler)
		secretURL := strings.Replace(front.URL, "http://", "http://user:hunter2@", 1) + "/v3/hunter2?key=hunter2"
		node := dial(t, secretURL)
		for what, err := range map[string]error{"check": deployment.Check(t.Context(), node), "call": second(node.RunCreationCode(t.Context(), nil, 1))} {
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s, %s: got error %v, want one without the secret", name, what, err)
			}
			if what == "check" && !errors.Is(err, chain.ErrUnreachable) {
				t.Errorf("%s: %v, want unreachable", name, err)
			}
		}
	}
	for _, bad := range []string{"", "ftp://hunter2@x", "hunter2", "http://", "://hunter2"} {
		if _, err := chain.Dial(t.Context(), bad); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("dial %q: got error %v, want one without the secret", bad, err)
		}
	}
}

func second[A any](_ A, err error) error { return err }

func TestApproveExactlyAndRefusalsInTheContractsWords(t *testing.T) {
	t.Parallel()
	net, deployment := startChain(t)
	creator := devnet.WalletByRole(devnet.RoleCreator)
	account, err := chain.OpenAccount(t.Context(), net.Client(), devnet.NewSigner(creator.Address, func(_ context.Context, digest sortie.Hash) (sortie.Bytes, error) {
		return creator.Key.SignDigest(digest), nil
	}), deployment.ChainID)
	if err != nil {
		t.Fatal(err)
	}
	allowance := func() string {
		erc20 := servicetoken.NewServiceToken()
		to := common.Address(deployment.USDC)
		answer, err := net.Client().CallContract(t.Context(), callMessage(to, erc20.PackAllowance(common.Address(creator.Address), common.Address(deployment.Factory))), nil)
		if err != nil {
			t.Fatal(err)
		}
		value, err := erc20.UnpackAllowance(answer)
		if err != nil {
			t.Fatal(err)
		}
		return value.String()
	}
	tx, err := chain.ApproveExactly(t.Context(), account, deployment.USDC, deployment.Factory, big.NewInt(10_000_000))
	if err != nil || tx == nil || allowance() != "10000000" {
		t.Fatalf("approve: got %v, %v and allowance %s, want a transaction and 10000000", tx, err, allowance())
	}
	if tx, err := chain.ApproveExactly(t.Context(), account, deployment.USDC, deployment.Factory, big.NewInt(9_000_000)); err != nil || tx != nil {
		t.Errorf("approve less than the allowance: got %v, %v, want no transaction", tx, err)
	}
	tooMuch := new(big.Int).Exp(big.NewInt(10), big.NewInt(30), nil)
	if _, err := chain.ApproveExactly(t.Context(), account, deployment.USDC, deployment.Factory, tooMuch); err == nil || !strings.Contains(err.Error(), "send it more first") {
		t.Errorf("approve more than the balance: got %v, want an error", err)
	}

	authorization := sortie.MissionAuthorization{
		MissionID: "some-mission-00000000", Token: deployment.USDC, RewardPerSubmission: big.NewInt(1), TargetCount: 1,
		Creator: creator.Address, Nonce: sortie.Hash{1}, Deadline: uint64(time.Now().Add(time.Hour).Unix()),
	}
	forged := creator.Key.SignDigest(authorization.Digest(sortie.Domain{ChainID: deployment.ChainID, Factory: deployment.Factory}.Separator()))
	if _, err := account.Estimate(t.Context(), &deployment.Factory, authorization.Calldata(forged)); err == nil || err.Error() != "the contract refused it: UnauthorizedSigner" {
		t.Errorf("estimate a forged authorization: got %v, want UnauthorizedSigner", err)
	}
	if funded, err := chain.IsFunded(t.Context(), net.Client(), deployment.Factory, authorization.MissionID); err != nil || funded {
		t.Errorf("is funded: got %v, %v, want false", funded, err)
	}
}

func callMessage(to common.Address, data []byte) ethereum.CallMsg {
	return ethereum.CallMsg{To: &to, Data: data}
}
