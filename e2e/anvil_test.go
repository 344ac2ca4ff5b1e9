package e2e

import (
	"context"
	"encoding/json"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/contracts/bind/testusdc"
	"github.com/sortie-labs/sortie/internal/porttest"
)

// The roles of the accounts of the development mnemonic, by number.
var anvilRoles = []string{
	"creator", "authorizer", "contributor1", "contributor2", "contributor3", "creator2", "operator", "settler", "sender", "deployer",
}

// anvil is a chain that mines and reorganizes blocks on request. The contracts are deployed on it,
// and the creators have tokens and have approved the factory.
type anvil struct {
	*process
	ready // accounts and addresses, as in the ready file of `sortie dev`
	t     *testing.T
	ctx   context.Context
	rpc   *rpc.Client
	eth   *ethclient.Client
}

// startAnvil runs a chain. After the set-up it mines so many empty blocks that no reorganization of
// a test reaches the set-up.
func startAnvil(t *testing.T, options ...string) *anvil {
	t.Helper()
	skipShort(t)
	programs, err := filepath.Glob("../contracts/node_modules/@foundry-rs/anvil-*/bin/anvil") // a kill does not end the wrapper in .bin
	if err != nil || len(programs) == 0 {
		t.Fatal("anvil is missing: run make setup")
	}
	address := porttest.Reserve(t)
	host, port, _ := strings.Cut(address, ":")
	config := filepath.Join(t.TempDir(), "anvil.json")
	// With states on disk anvil 1.7.1 loses all of them in a reorganization above block 900: keep a
	// few in memory instead.
	arguments := append([]string{
		"--quiet", "--host", host, "--port", port, "--threads", "2", "--config-out", config, "--prune-history", "256",
	}, options...)
	a := &anvil{process: spawn(t, nil, programs[0], arguments...), t: t, ctx: t.Context()}
	a.RPCURL, a.ChainID = "http://"+address, 31337
	if a.rpc, err = rpc.DialContext(a.ctx, a.RPCURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.rpc.Close)
	a.eth = ethclient.NewClient(a.rpc)
	a.await(t, "answer of anvil", func() bool {
		_, err := a.eth.BlockNumber(a.ctx)
		return err == nil && a.readWallets(config) == nil
	})
	a.deploy()
	a.handOutTokens()
	a.call(nil, "evm_setAutomine", false)
	a.mine(setupDepth)
	return a
}

const setupDepth = 64

// readWallets reads the keys of the accounts from the file that anvil writes when it starts.
func (a *anvil) readWallets(config string) error {
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	var written struct {
		Accounts []sortie.Address `json:"available_accounts"`
		Keys     []string         `json:"private_keys"`
	}
	if err := json.Unmarshal(text, &written); err != nil {
		return err // it is not complete yet
	}
	for i, role := range anvilRoles {
		a.Wallets = append(a.Wallets, readyWallet{role, written.Accounts[i], written.Keys[i]})
	}
	a.Authorizer = a.wallet("authorizer")
	return nil
}

// wallet is the address of a role.
func (a *anvil) wallet(role string) sortie.Address {
	i := slices.IndexFunc(a.Wallets, func(w readyWallet) bool { return w.Role == role })
	return a.Wallets[i].Address
}

// deploy deploys the contracts with `sortie contracts deploy`.
func (a *anvil) deploy() {
	a.t.Helper()
	command := exec.CommandContext(a.ctx, filepath.Join(binaries, "sortie"), "contracts", "deploy", "--rpc", a.RPCURL,
		"--deployer", "dev:9", "--with-test-tokens", "--cap-usdc", "none", "--cap-service-token", "none", "--authorizer", a.Authorizer.String(), "--settler", a.wallet("settler").String())
	output, err := command.Output()
	var deployed struct{ Factory, USDC, ServiceToken sortie.Address }
	if err == nil {
		err = json.Unmarshal(output, &deployed)
	}
	if err != nil {
		a.t.Fatalf("deploy the contracts: %v: %s", err, output)
	}
	a.FactoryAddress = deployed.Factory
	a.Tokens = map[sortie.Token]readyToken{
		sortie.TokenUSDC: {deployed.USDC, 6}, sortie.TokenService: {deployed.ServiceToken, 18},
	}
}

// handOutTokens gives tokens to the creators and approves the factory.
func (a *anvil) handOutTokens() {
	a.t.Helper()
	usdc, everything := a.Tokens[sortie.TokenUSDC].Address, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	for _, role := range []string{"creator", "creator2"} {
		creator := a.wallet(role)
		a.transact("deployer", usdc, testusdc.NewTestUSDC().PackMint(common.Address(creator), big.NewInt(1e15)))
		a.transact(role, usdc, servicetoken.NewServiceToken().PackApprove(common.Address(a.FactoryAddress), everything))
	}
}

// call makes a request that must succeed.
func (a *anvil) call(answer any, method string, arguments ...any) {
	a.t.Helper()
	if err := a.rpc.CallContext(a.ctx, answer, method, arguments...); err != nil {
		a.t.Fatalf("call %s: %v", method, err)
	}
}

// transaction is a transaction that anvil signs for one of its accounts.
func (a *anvil) transaction(role string, to sortie.Address, data []byte) map[string]any {
	return map[string]any{"from": a.wallet(role), "to": to, "data": hexutil.Bytes(data), "gas": hexutil.Uint64(1_000_000)}
}

// transact submits a transaction for the next block.
func (a *anvil) transact(role string, to sortie.Address, data []byte) (hash common.Hash) {
	a.t.Helper()
	a.call(&hash, "eth_sendTransaction", a.transaction(role, to, data))
	return hash
}

// fund submits the transaction of a quote.
func (a *anvil) fund(role string, quote sortie.Quote) common.Hash {
	a.t.Helper()
	return a.transact(role, quote.FactoryAddress, quote.Calldata)
}

// mine adds blocks. The first contains the pending transactions.
func (a *anvil) mine(blocks uint64) {
	a.t.Helper()
	a.call(nil, "anvil_mine", hexutil.Uint64(blocks))
}

// reorg replaces the newest blocks by the same number of others. Transactions of the old blocks are
// lost; the first new block contains the given transactions.
func (a *anvil) reorg(depth uint64, transactions ...map[string]any) {
	a.t.Helper()
	pairs := make([][2]any, len(transactions))
	for i, transaction := range transactions {
		pairs[i] = [2]any{transaction, 0}
	}
	a.call(nil, "anvil_reorg", depth, pairs)
}

// block is a block's number and hash.
type block struct {
	Number hexutil.Uint64 `json:"number"`
	Hash   sortie.Hash    `json:"hash"`
}

// head is the newest block.
func (a *anvil) head() (head block) {
	a.t.Helper()
	a.call(&head, "eth_getBlockByNumber", "latest", false)
	return head
}

// followedLogs are the factory's events that the service follows, in the order of the canonical
// chain.
func (a *anvil) followedLogs() []types.Log {
	a.t.Helper()
	var topics []common.Hash
	for _, event := range factoryABI.Events {
		if _, followed := followedKinds[event.Name]; followed {
			topics = append(topics, event.ID)
		}
	}
	logs, err := a.eth.FilterLogs(a.ctx, ethereum.FilterQuery{
		FromBlock: new(big.Int), Addresses: []common.Address{common.Address(a.FactoryAddress)}, Topics: [][]common.Hash{topics},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return logs
}

var factoryABI = missionfactory.NewMissionFactory().GetABI()

// followedKinds are the events of the contract that the service keeps, and the names it keeps them
// under.
var followedKinds = map[string]string{
	"MissionFunded": "mission_funded", "SubmissionPaid": "submission_paid", "PayoutDeferred": "payout_deferred",
	"MissionClosed": "mission_closed",
}

// minedBy is how many transactions of an account the canonical chain has.
func (a *anvil) minedBy(role string) uint64 {
	a.t.Helper()
	nonce, err := a.eth.NonceAt(a.ctx, common.Address(a.wallet(role)), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	return nonce
}

// closings counts how often a mission was closed on the canonical chain.
func (a *anvil) closings(missionID string) (count int) {
	a.t.Helper()
	for _, log := range a.followedLogs() {
		if log.Topics[0] == factoryABI.Events["MissionClosed"].ID && log.Topics[1] == common.Hash(sortie.MissionKey(missionID)) {
			count++
		}
	}
	return count
}

// serviceEnvironment configures `sortie serve` for this chain with all its keys and an operator.
// Funding is confirmed after 2 blocks and final after the given number.
func (a *anvil) serviceEnvironment(database, finality string, nodes ...string) []string {
	a.t.Helper()
	environment := append(a.serveEnvironment(a.t, database),
		"SORTIE_SETTLER=dev:7", "SORTIE_SENDER=dev:8", "SORTIE_OPERATORS="+a.wallet("operator").String(),
		"SORTIE_CONFIRMATIONS=2", "SORTIE_FINALITY="+finality, "SORTIE_AUTHORIZATION_TTL=1h")
	if len(nodes) > 0 {
		environment = append(environment, "SORTIE_RPC="+strings.Join(nodes, ",")) // the last value counts
	}
	return environment
}
