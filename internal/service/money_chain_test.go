package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/contracts/bind/testusdc"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/porttest"
)

var (
	factoryBinding = missionfactory.NewMissionFactory()
	tokenBinding   = servicetoken.NewServiceToken()
	usdcBinding    = testusdc.NewTestUSDC()
)

// moneyChain is anvil with the contracts deployed. It mines and removes blocks on demand.
type moneyChain struct {
	rpc        *rpc.Client
	eth        *ethclient.Client
	front      *unreliableNode // the node of the service
	deployment chain.Deployment
	accounts   []sortie.Address // all that may hold tokens, except the factory
	snapshot   string           // of the chain after the setup
	setup      struct {
		block    uint64
		time     time.Time
		balances map[holding]*big.Int
	}
}

// moneyGenesis is the time of the first block: far from midnight, because the contract counts its
// daily caps by UTC days.
var moneyGenesis = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

// holding identifies an account's balance of a token.
type holding struct{ token, account sortie.Address }

var (
	moneyCreators     = []devnet.Role{devnet.RoleCreator, devnet.RoleCreator2}
	moneyContributors = []sortie.Address{
		devnet.WalletByRole(devnet.RoleContributor1).Address, devnet.WalletByRole(devnet.RoleContributor2).Address,
		devnet.WalletByRole(devnet.RoleContributor3).Address, {0: 0xcc, 19: 1}, {0: 0xcc, 19: 2}, {0: 0xcc, 19: 3}, {0: 0xcc, 19: 4}, {0: 0xcc, 19: 5},
	}
)

func startMoneyChain(t *testing.T) *moneyChain {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: needs anvil")
	}
	programs, err := filepath.Glob("../../contracts/node_modules/@foundry-rs/anvil-*/bin/anvil")
	if err != nil || len(programs) == 0 {
		t.Fatal("anvil is missing: run make setup")
	}
	address := porttest.Reserve(t)
	host, port, _ := strings.Cut(address, ":")
	anvil := exec.Command(programs[0], "--quiet", "--host", host, "--port", port, "--chain-id", "31337", "--threads", "1", "--prune-history", "256",
		"--timestamp", strconv.FormatInt(moneyGenesis.Unix(), 10))
	if err := anvil.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = anvil.Process.Kill()
		_ = anvil.Wait()
	})
	c := &moneyChain{}
	if c.rpc, err = rpc.Dial("http://" + address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.rpc.Close)
	c.eth = ethclient.NewClient(c.rpc)
	looks := time.NewTicker(10 * time.Millisecond)
	defer looks.Stop()
	deadline := time.Now().Add(2 * time.Minute)
	for _, err = c.eth.BlockNumber(t.Context()); err != nil; _, err = c.eth.BlockNumber(t.Context()) {
		if time.Now().After(deadline) {
			t.Fatalf("wait for anvil: %v", err)
		}
		<-looks.C
	}
	c.front = newUnreliableNode(t, "http://"+address)
	c.prepare(t)
	return c
}

// prepare deploys the contracts, gives the creators tokens with an allowance for the factory, and
// takes a snapshot.
func (c *moneyChain) prepare(t *testing.T) {
	t.Helper()
	deployer := devnet.WalletByRole(devnet.RoleDeployer)
	signer := devnet.NewSigner(deployer.Address, func(_ context.Context, digest sortie.Hash) (sortie.Bytes, error) {
		return deployer.Key.SignDigest(digest), nil
	})
	d, err := devnet.Deploy(t.Context(), c.eth, signer, devnet.DeployParams{
		Authorizer: devnet.WalletByRole(devnet.RoleAuthorizer).Address, Settler: devnet.WalletByRole(devnet.RoleSettler).Address, WithTestTokens: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.deployment = chain.Deployment{ChainID: d.ChainID, Factory: d.Factory, USDC: d.USDC, ServiceToken: d.ServiceToken}
	for _, role := range moneyCreators {
		creator := common.Address(devnet.WalletByRole(role).Address)
		c.transact(t, deployer.Address, d.USDC, usdcBinding.PackMint(creator, big.NewInt(1e15)))
		c.transact(t, deployer.Address, d.ServiceToken, tokenBinding.PackTransfer(creator, new(big.Int).Exp(big.NewInt(10), big.NewInt(24), nil)))
		for _, token := range []sortie.Address{d.USDC, d.ServiceToken} {
			c.transact(t, sortie.Address(creator), token, tokenBinding.PackApprove(common.Address(d.Factory), new(big.Int).Lsh(big.NewInt(1), 255)))
		}
	}
	c.call(t, nil, "evm_setAutomine", false)
	c.call(t, nil, "anvil_mine", hexutil.Uint64(2*moneyFinality)) // no reorganization removes the setup
	for _, wallet := range devnet.Wallets() {
		c.accounts = append(c.accounts, wallet.Address)
	}
	c.accounts = append(c.accounts, moneyContributors[3:]...)
	head, err := c.eth.HeaderByNumber(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.setup.block, c.setup.time = head.Number.Uint64(), time.Unix(int64(head.Time), 0)
	c.setup.balances = c.balances(t)
	c.call(t, &c.snapshot, "evm_snapshot")
}

// reset returns the chain to the snapshot after the setup.
func (c *moneyChain) reset(t rapid.TB) {
	t.Helper()
	var reverted bool
	c.call(t, &reverted, "evm_revert", c.snapshot)
	if !reverted {
		t.Fatalf("revert to snapshot %s: got false, want true", c.snapshot)
	}
	c.call(t, nil, "anvil_dropAllTransactions")
	c.call(t, &c.snapshot, "evm_snapshot")
	c.front.misbehave(reliable, 0)
}

func (c *moneyChain) call(t rapid.TB, result any, method string, args ...any) {
	t.Helper()
	if err := c.rpc.CallContext(context.Background(), result, method, args...); err != nil {
		t.Fatalf("call %s: %v", method, err)
	}
}

// transact sends a transaction that anvil signs.
func (c *moneyChain) transact(t rapid.TB, from, to sortie.Address, data []byte) {
	t.Helper()
	c.call(t, nil, "eth_sendTransaction", map[string]any{"from": from, "to": to, "data": hexutil.Bytes(data), "gas": hexutil.Uint64(1_500_000)})
}

func (c *moneyChain) head(t rapid.TB) *types.Header {
	t.Helper()
	head, err := c.eth.HeaderByNumber(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// removable returns the transactions of the newest blocks.
func (c *moneyChain) removable(t rapid.TB, depth uint64) (raw []hexutil.Bytes) {
	t.Helper()
	head := c.head(t).Number.Uint64()
	for number := head - depth + 1; number <= head; number++ {
		block, err := c.eth.BlockByNumber(context.Background(), new(big.Int).SetUint64(number))
		if err != nil {
			t.Fatal(err)
		}
		for _, tx := range block.Transactions() {
			encoded, err := tx.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			raw = append(raw, encoded)
		}
	}
	return raw
}

// reading is a batch of contract calls at one block.
type reading struct {
	elements []rpc.BatchElem
	decoders []func([]byte) error
	block    string
}

func (c *moneyChain) readAt(block string) *reading { return &reading{block: block} }

func ask[T any](r *reading, to sortie.Address, data []byte, unpack func([]byte) (T, error), set func(T)) {
	r.elements = append(r.elements, rpc.BatchElem{
		Method: "eth_call", Args: []any{map[string]any{"to": to, "data": hexutil.Bytes(data)}, r.block}, Result: new(hexutil.Bytes),
	})
	r.decoders = append(r.decoders, func(answer []byte) error {
		value, err := unpack(answer)
		if err == nil {
			set(value)
		}
		return err
	})
}

func (c *moneyChain) do(t rapid.TB, r *reading) {
	t.Helper()
	if err := c.rpc.BatchCallContext(context.Background(), r.elements); err != nil {
		t.Fatal(err)
	}
	for i, element := range r.elements {
		err := element.Error
		if err == nil {
			err = r.decoders[i](*element.Result.(*hexutil.Bytes))
		}
		if err != nil {
			t.Fatalf("contract call %v: %v", element.Args, err)
		}
	}
}

func (c *moneyChain) tokens() []sortie.Address {
	return []sortie.Address{c.deployment.USDC, c.deployment.ServiceToken}
}

// balances returns the balances of all accounts that may hold tokens, and of the factory, in the
// newest block.
func (c *moneyChain) balances(t rapid.TB) map[holding]*big.Int {
	t.Helper()
	found := make(map[holding]*big.Int)
	reading := c.readAt("latest")
	for _, token := range c.tokens() {
		for _, account := range append([]sortie.Address{c.deployment.Factory}, c.accounts...) {
			ask(reading, token, tokenBinding.PackBalanceOf(common.Address(account)), tokenBinding.UnpackBalanceOf,
				func(balance *big.Int) { found[holding{token, account}] = balance })
		}
	}
	c.do(t, reading)
	return found
}

// developmentSigner returns the development key of a role.
func developmentSigner(t rapid.TB, role devnet.Role) funding.Signer {
	t.Helper()
	secret, err := devnet.Key(devnet.DefaultChainID, int(devnet.WalletByRole(role).Index))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := funding.NewKeySigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// misbehaviour is what a node does with a transaction that it receives.
type misbehaviour int

const (
	reliable   misbehaviour = iota
	refusing                // answers with an error and drops it
	mute                    // accepts it and answers with an error
	forgetting              // answers with success and drops it
)

// unreliableNode is a proxy of a node that mishandles a number of transactions on demand.
type unreliableNode struct {
	*httptest.Server
	node string

	mu   sync.Mutex
	does misbehaviour
	left int // transactions still to mishandle
}

func newUnreliableNode(t *testing.T, node string) *unreliableNode {
	u := &unreliableNode{node: node}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	return u
}

func (u *unreliableNode) misbehave(does misbehaviour, times int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.does, u.left = does, times
}

// next returns what the node does with the next transaction.
func (u *unreliableNode) next() misbehaviour {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.left == 0 {
		return reliable
	}
	u.left--
	return u.does
}

func (u *unreliableNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "read the request: "+err.Error(), http.StatusBadRequest)
		return
	}
	does := reliable
	var request struct {
		ID     json.RawMessage
		Method string
		Params []hexutil.Bytes
	}
	if bytes.Contains(body, []byte(`"eth_sendRawTransaction"`)) && json.Unmarshal(body, &request) == nil {
		does = u.next()
	}
	w.Header().Set("Content-Type", "application/json")
	if does == refusing || does == forgetting {
		u.answerItself(w, does, request.ID, request.Params)
		return
	}
	answer, err := http.Post(u.node, "application/json", bytes.NewReader(body))
	if err != nil {
		http.Error(w, "pass on the request: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	if does == mute {
		http.Error(w, "the gateway lost the answer", http.StatusBadGateway)
		return
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body)
}

func (u *unreliableNode) answerItself(w io.Writer, does misbehaviour, id json.RawMessage, params []hexutil.Bytes) {
	var tx types.Transaction
	if does == forgetting && len(params) == 1 && tx.UnmarshalBinary(params[0]) == nil {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%q}`, id, tx.Hash())
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"the node is busy"}}`, id)
}
