package e2e

import (
	"context"
	"crypto/ecdsa"
	_ "embed"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/contracts/bind/testusdc"
)

//go:generate node testdata/generate.mjs

//go:embed testdata/accounts.json
var accountCode []byte

// relayedCall is one call of a smart account's batch.
type relayedCall struct {
	Target common.Address
	Data   []byte
}

var relayedABI = func() abi.ABI {
	parsed, err := abi.JSON(strings.NewReader(`[{"type":"constructor","inputs":[{"name":"owner","type":"address"}]},
		{"type":"function","name":"execute","outputs":[],"inputs":[
			{"name":"calls","type":"tuple[]","components":[{"name":"target","type":"address"},{"name":"data","type":"bytes"}]},
			{"name":"signature","type":"bytes"}]}]`))
	if err != nil {
		panic(err)
	}
	return parsed
}()

// The money comes from the creator's account, and the transaction from any other. Only the
// contract's event counts.
func TestSmartAccountsFund(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, chain.serviceEnvironment(sqliteIn(t), "8"))

	t.Run("contract account", func(t *testing.T) {
		owner := secretOf(t, chain, "contributor3")
		code := append(codeOf(t, "RelayedAccount"), must(relayedABI.Pack("", crypto.PubkeyToAddress(owner.PublicKey)))...)
		account := chain.create("deployer", code)
		f := f.as(t, smartAccount{account, keyOf(t, owner)})
		draft := f.draft()
		chain.transact("contributor1", account, chain.relayed(account, owner, 0, fundingCalls(chain, draft)))
		chain.mine(2)
		f.awaitView(draft, viewInReview)
	})

	t.Run("delegated key", func(t *testing.T) {
		code := chain.create("deployer", append(codeOf(t, "RelayedAccount"), must(relayedABI.Pack("", common.Address{}))...))
		owner := secretOf(t, chain, "contributor2") // it sends no transaction
		account := sortie.Address(crypto.PubkeyToAddress(owner.PublicKey))
		f := f.as(t, keyOf(t, owner))
		draft := f.draft()
		chain.sendDelegating("contributor1", owner, code, chain.relayed(account, owner, 0, fundingCalls(chain, draft)))
		chain.mine(2)
		f.awaitView(draft, viewInReview)
	})
}

// Another wallet cannot fund a mission with the same calldata or with a fake event.
func TestOnlyTheCreatorCanFund(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, chain.serviceEnvironment(sqliteIn(t), "8"))
	copied, forged := f.draft(), f.draft()
	hash := chain.fund("creator2", copied.quote) // it has the same balance and allowance
	forger := chain.create("deployer", codeOf(t, "EventForger"))
	log := forge(chain, forged).logContent()
	chain.transact("creator2", forger, append(join(log.Topics), log.Data...))
	chain.mine(10)
	receipt, err := chain.eth.TransactionReceipt(f.ctx, hash)
	if err != nil || receipt.Status != types.ReceiptStatusFailed {
		t.Errorf("the same calldata from another wallet: got receipt %+v, %v; want a reverted transaction", receipt, err)
	}
	f.awaitTip()
	for _, draft := range []drafted{copied, forged} {
		if got := f.view(draft); got != viewQuoted {
			t.Errorf("view of %s: got %v, want it unfunded", draft.missionID, got)
		}
	}
	chain.fund("creator", copied.quote)
	chain.mine(2)
	f.awaitView(copied, viewInReview)
}

// A funding that is mined while the service is down, or after a rejection, is found.
func TestLateFundingIsFound(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, chain.serviceEnvironment(sqliteIn(t), "8"))
	whileDown, rejected := f.draft(), f.draft()
	f.reject(rejected)
	f.awaitView(rejected, viewRejectedUnfunded)

	f.stop()
	chain.fund("creator", whileDown.quote)
	chain.mine(30)
	f.restart()
	f.awaitView(whileDown, viewInReview)

	chain.fund("creator", rejected.quote)
	chain.mine(2)
	f.awaitView(rejected, viewRejectedFunded)
	had := chain.balance("creator")
	f.mineUntilView(rejected, viewRefunded)
	if refund := new(big.Int).Sub(chain.balance("creator"), had); refund.Cmp(budget(t, rejected.quote)) != 0 {
		t.Errorf("refund: got %s, want %s", refund, budget(t, rejected.quote))
	}
}

// as returns the same service with another creator.
func (f *following) as(t *testing.T, signer sortie.Signer) *following {
	t.Helper()
	client, err := sortie.NewClient(f.service.url, signer, sortie.WithAttempts(1))
	if err != nil {
		t.Fatal(err)
	}
	other := *f
	other.t, other.ctx, other.creator = t, t.Context(), client
	return &other
}

// smartAccount signs with the key of its owner.
type smartAccount struct {
	address sortie.Address
	owner   *sortie.Key
}

func (a smartAccount) Address() sortie.Address { return a.address }

func (a smartAccount) SignMessage(ctx context.Context, message []byte) ([]byte, error) {
	return a.owner.SignMessage(ctx, message)
}

func secretOf(t *testing.T, chain *anvil, role string) *ecdsa.PrivateKey {
	t.Helper()
	secret, err := crypto.HexToECDSA(strings.TrimPrefix(chain.key(t, role), "0x"))
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func keyOf(t *testing.T, secret *ecdsa.PrivateKey) *sortie.Key {
	t.Helper()
	key, err := sortie.NewKey([32]byte(crypto.FromECDSA(secret)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func codeOf(t *testing.T, contract string) []byte {
	t.Helper()
	var codes map[string]hexutil.Bytes
	if err := json.Unmarshal(accountCode, &codes); err != nil || len(codes[contract]) == 0 {
		t.Fatalf("code of %s: %v", contract, err)
	}
	return codes[contract]
}

func must(packed []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return packed
}

func join(words []common.Hash) (joined []byte) {
	for _, word := range words {
		joined = append(joined, word[:]...)
	}
	return joined
}

// create deploys a contract.
func (a *anvil) create(role string, code []byte) sortie.Address {
	a.t.Helper()
	var hash common.Hash
	a.call(&hash, "eth_sendTransaction", map[string]any{"from": a.wallet(role), "data": hexutil.Bytes(code), "gas": hexutil.Uint64(3_000_000)})
	a.mine(1)
	receipt, err := a.eth.TransactionReceipt(a.ctx, hash)
	if err != nil || receipt.Status != types.ReceiptStatusSuccessful {
		a.t.Fatalf("create a contract: %+v, %v", receipt, err)
	}
	return sortie.Address(receipt.ContractAddress)
}

// fundingCalls are the calls with which an account funds a mission. It receives the money first.
func fundingCalls(chain *anvil, draft drafted) []relayedCall {
	chain.t.Helper()
	amount := budget(chain.t, draft.quote)
	creator := common.Address(draft.quote.Authorization.Creator)
	chain.transact("deployer", draft.quote.TokenAddress, testusdc.NewTestUSDC().PackMint(creator, amount))
	chain.mine(1)
	factory := common.Address(draft.quote.FactoryAddress)
	return []relayedCall{
		{common.Address(draft.quote.TokenAddress), servicetoken.NewServiceToken().PackApprove(factory, amount)},
		{factory, draft.quote.Calldata},
	}
}

// relayed returns the call that makes a smart account execute calls signed by its owner.
func (a *anvil) relayed(account sortie.Address, owner *ecdsa.PrivateKey, executed int64, calls []relayedCall) []byte {
	a.t.Helper()
	word := func(kind string) abi.Argument { return abi.Argument{Type: must2(abi.NewType(kind, "", nil))} }
	signed := abi.Arguments{word("uint256"), word("address"), word("uint256"), relayedABI.Methods["execute"].Inputs[0]}
	content := must(signed.Pack(new(big.Int).SetUint64(a.ChainID), common.Address(account), big.NewInt(executed), calls))
	signature := must(crypto.Sign(crypto.Keccak256(content), owner))
	signature[64] += 27
	return must(relayedABI.Pack("execute", calls, signature))
}

func must2(kind abi.Type, err error) abi.Type {
	if err != nil {
		panic(err)
	}
	return kind
}

// sendDelegating sends a transaction that makes a key's account run code (EIP-7702), and calls that
// account.
func (a *anvil) sendDelegating(role string, owner *ecdsa.PrivateKey, code sortie.Address, data []byte) {
	a.t.Helper()
	account := crypto.PubkeyToAddress(owner.PublicKey)
	nonce, err := a.eth.NonceAt(a.ctx, account, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	chainID := uint256.NewInt(a.ChainID)
	delegation, err := types.SignSetCode(owner, types.SetCodeAuthorization{ChainID: *chainID, Address: common.Address(code), Nonce: nonce})
	if err != nil {
		a.t.Fatal(err)
	}
	sender := secretOf(a.t, a, role)
	transaction, err := types.SignNewTx(sender, types.LatestSignerForChainID(chainID.ToBig()), &types.SetCodeTx{
		ChainID: chainID, Nonce: a.minedBy(role), GasTipCap: uint256.NewInt(gwei), GasFeeCap: uint256.NewInt(100 * gwei), Gas: 1_000_000,
		To: account, Data: data, AuthList: []types.SetCodeAuthorization{delegation},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	if err := a.eth.SendTransaction(a.ctx, transaction); err != nil {
		a.t.Fatal(err)
	}
}

// balance is how much USDC an account holds.
func (a *anvil) balance(role string) *big.Int {
	a.t.Helper()
	return (&account{ctx: a.ctx, eth: a.eth}).balance(a.t, a.Tokens[sortie.TokenUSDC].Address, common.Address(a.wallet(role)))
}
