package devnet_test

import (
	"bytes"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"

	"github.com/sortie-labs/sortie/internal/devnet"
)

var transferTopic = crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))

func TestEveryKindOfTransactionIsMinedAtOnce(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet()) // no block but for transactions: what is mined was mined for itself
	client := dial(t, chain.RPCURL())
	creator := newSender(t, client, devnet.RoleCreator)
	to := common.HexToAddress("0x00000000000000000000000000000000000c0de1")

	transactions := map[string]types.TxData{
		"legacy":      &types.LegacyTx{GasPrice: big.NewInt(2_000_000_000), Gas: 21_000, To: &to},
		"access list": &types.AccessListTx{ChainID: creator.chainID, GasPrice: big.NewInt(2_000_000_000), Gas: 21_000, To: &to},
		"dynamic fee": &types.DynamicFeeTx{ChainID: creator.chainID, GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(2_000_000_000), Gas: 21_000, To: &to},
	}
	for name, data := range transactions {
		switch tx := data.(type) {
		case *types.LegacyTx:
			tx.Nonce = creator.nonce
		case *types.AccessListTx:
			tx.Nonce = creator.nonce
		case *types.DynamicFeeTx:
			tx.Nonce = creator.nonce
		}
		if receipt := creator.sendMined(creator.sign(data)); receipt.GasUsed != 21_000 {
			t.Errorf("%s: used %d gas, want 21000", name, receipt.GasUsed)
		}
	}
}

func TestKeyCanDelegateToContract(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet())
	client := dial(t, chain.RPCURL())
	creator := newSender(t, client, devnet.RoleCreator)
	delegate := common.Address(chain.Deployment().ServiceToken)

	key, err := crypto.HexToECDSA(creator.wallet.PrivateKey[2:])
	if err != nil {
		t.Fatal(err)
	}
	authorization, err := types.SignSetCode(key, types.SetCodeAuthorization{
		ChainID: *uint256.MustFromBig(creator.chainID), Address: delegate, Nonce: creator.nonce + 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	receipt := creator.sendMined(creator.sign(&types.SetCodeTx{
		ChainID: uint256.MustFromBig(creator.chainID), Nonce: creator.nonce,
		GasTipCap: uint256.NewInt(1), GasFeeCap: uint256.NewInt(2_000_000_000), Gas: 100_000,
		To: common.HexToAddress("0x01"), AuthList: []types.SetCodeAuthorization{authorization},
	}))
	if receipt.Type != types.SetCodeTxType {
		t.Errorf("the receipt's type is %d, want 4", receipt.Type)
	}
	code, err := client.CodeAt(t.Context(), common.Address(creator.wallet.Address), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := types.AddressToDelegation(delegate); !bytes.Equal(code, want) {
		t.Errorf("the account's code is %x, want %x", code, want)
	}
}

func TestLogsAreFound(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet())
	client := dial(t, chain.RPCURL())
	creator := newSender(t, client, devnet.RoleCreator)
	token, to := common.Address(chain.Deployment().USDC), common.HexToAddress("0xbeef")

	data := append(crypto.Keccak256([]byte("transfer(address,uint256)"))[:4], common.LeftPadBytes(to.Bytes(), 32)...)
	receipt := creator.sendMined(creator.call(token, 200_000, append(data, common.LeftPadBytes([]byte{7}, 32)...)))

	query := ethereum.FilterQuery{
		FromBlock: new(big.Int), Addresses: []common.Address{token},
		Topics: [][]common.Hash{{transferTopic}, nil, {common.BytesToHash(to.Bytes())}},
	}
	logs, err := client.FilterLogs(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) != 1 || logs[0].TxHash != receipt.TxHash || logs[0].BlockHash != receipt.BlockHash || new(big.Int).SetBytes(logs[0].Data).Int64() != 7 {
		t.Errorf("the search found %+v, want the one transfer in %s", logs, receipt.TxHash)
	}
	query.Topics[2] = []common.Hash{common.HexToHash("0xdead")}
	if logs, err := client.FilterLogs(t.Context(), query); err != nil || len(logs) != 0 {
		t.Errorf("a search for another recipient found %d logs (%v)", len(logs), err)
	}
}

func TestBlocksComeWithoutTransactionsAndFinalityFollows(t *testing.T) {
	t.Parallel()
	chain := startChain(t, devnet.Config{BlockInterval: 5 * time.Millisecond, ClockLead: 24 * time.Hour})
	client := dial(t, chain.WebSocketURL())
	heads := make(chan *types.Header, 16)
	subscription, err := client.SubscribeNewHead(t.Context(), heads)
	if err != nil {
		t.Fatal(err)
	}
	defer subscription.Unsubscribe()

	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	var last *types.Header
	for range 20 {
		select {
		case head := <-heads:
			if last != nil && (head.Number.Uint64() != last.Number.Uint64()+1 || head.Time <= last.Time || head.ParentHash != last.Hash()) {
				t.Fatalf("block %d at %d does not follow block %d at %d", head.Number, head.Time, last.Number, last.Time)
			}
			last = head
		case err := <-subscription.Err():
			t.Fatal(err)
		case <-timeout.C:
			t.Fatal("no blocks")
		}
	}
	before := tagged(t, client, int64(rpc.FinalizedBlockNumber)).Number.Uint64()
	waitFor(t, "finality to pass the head seen", func() bool {
		finalized := tagged(t, client, int64(rpc.FinalizedBlockNumber)).Number.Uint64()
		safe := tagged(t, client, int64(rpc.SafeBlockNumber)).Number.Uint64()
		if finalized > safe || safe > headNumber(t, client) {
			t.Fatalf("finalized %d, safe %d: out of order", finalized, safe)
		}
		return finalized > last.Number.Uint64() && finalized > before
	})
}

func TestSafeAndFinalizedAreOneAndTwoBlocksBelowTheHead(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet())
	client := dial(t, chain.RPCURL())
	creator := newSender(t, client, devnet.RoleCreator)
	for range 3 {
		creator.sendMined(creator.transfer(common.HexToAddress("0xbeef")))
		head := headNumber(t, client)
		safe := tagged(t, client, int64(rpc.SafeBlockNumber)).Number.Uint64()
		finalized := tagged(t, client, int64(rpc.FinalizedBlockNumber)).Number.Uint64()
		if safe != head-1 || finalized != head-2 {
			t.Errorf("head %d, safe %d, finalized %d: want one and two below", head, safe, finalized)
		}
	}
}

// TestTrafficDoesNotPushTheClock sends more transactions, each after the last was mined, than the
// clock's window has seconds; then many at once.
func TestTrafficDoesNotPushTheClock(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: waits for the chain's clock")
	}
	chain := startChain(t, devnet.Config{}) // the clock of `sortie dev`
	client := dial(t, chain.RPCURL())
	creator := newSender(t, client, devnet.RoleCreator)
	lead := func(receipt *types.Receipt) time.Duration {
		t.Helper()
		header, err := client.HeaderByHash(t.Context(), receipt.BlockHash)
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(time.Unix(int64(header.Time), 0))
	}
	for range 16 {
		if lead := lead(creator.sendMined(creator.transfer(common.HexToAddress("0xbeef")))); lead > 2*time.Second {
			t.Fatalf("the chain's clock is %s ahead", lead)
		}
	}
	first, began := headNumber(t, client), time.Now()
	var last common.Hash
	for range 100 {
		last = creator.send(creator.transfer(common.HexToAddress("0xbeef"))).Hash()
	}
	receipt := waitMined(t, client, last)
	if lead := lead(receipt); lead > 2*time.Second {
		t.Errorf("a burst pushed the chain's clock %s ahead", lead)
	}
	idle := uint64(time.Since(began) / time.Second) // a block each second comes in any case
	if blocks := receipt.BlockNumber.Uint64() - first; blocks > 50+idle {
		t.Errorf("100 transactions sent one after the other took %d blocks", blocks)
	}
}

func TestFeesAndGasAreEstimated(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet())
	client := dial(t, chain.RPCURL())
	from, to := common.Address(devnet.WalletByRole(devnet.RoleCreator).Address), common.HexToAddress("0xbeef")

	if head := tagged(t, client, int64(rpc.LatestBlockNumber)); head.BaseFee == nil || head.GasLimit < 30_000_000 {
		t.Errorf("the latest block has base fee %v and gas limit %d", head.BaseFee, head.GasLimit)
	}
	if tip, err := client.SuggestGasTipCap(t.Context()); err != nil || tip.Sign() <= 0 {
		t.Errorf("the suggested tip is %v (%v)", tip, err)
	}
	if history, err := client.FeeHistory(t.Context(), 3, nil, []float64{50}); err != nil || len(history.BaseFee) != 4 {
		t.Errorf("the fee history is %+v (%v)", history, err)
	}
	if gas, err := client.EstimateGas(t.Context(), ethereum.CallMsg{From: from, To: &to, Value: big.NewInt(1)}); err != nil || gas != 21_000 {
		t.Errorf("a transfer is estimated at %d gas (%v), want 21000", gas, err)
	}
}

func TestCallsTakeForeignState(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet())
	raw := dial(t, chain.RPCURL()).Client()
	var answer hexutil.Bytes
	call := map[string]any{"to": "0x000000000000000000000000000000000000beef"}
	overrides := map[string]any{"0x000000000000000000000000000000000000beef": map[string]any{"code": "0x602a5f5260205ff3"}} // return 42
	if err := raw.CallContext(t.Context(), &answer, "eth_call", call, "latest", overrides); err != nil {
		t.Fatal(err)
	}
	if new(big.Int).SetBytes(answer).Int64() != 42 {
		t.Errorf("the call answered %s, want 42", answer)
	}
}

func TestRulesArePinned(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet())
	raw := dial(t, chain.RPCURL()).Client()
	run := func(code string) error {
		call := map[string]any{"data": code}
		return raw.CallContext(t.Context(), new(hexutil.Bytes), "eth_call", call, "latest")
	}
	if err := run("0x60011e00"); err != nil { // CLZ came with Osaka
		t.Errorf("CLZ: %v", err)
	}
	for name, code := range map[string]string{"SLOTNUM of Amsterdam": "0x4b00", "DUPN of Amsterdam": "0x6001e600"} {
		if err := run(code); err == nil || !strings.Contains(err.Error(), "invalid opcode") {
			t.Errorf("%s: %v, want an invalid opcode", name, err)
		}
	}
}

func TestRPCServerOffersPublicNamespacesOnly(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet())
	raw := dial(t, chain.RPCURL()).Client()
	modules, err := raw.SupportedModules()
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"admin", "debug", "miner", "engine", "dev", "testing", "personal"} {
		if _, found := modules[module]; found {
			t.Errorf("the RPC server offers %s, want it hidden", module)
		}
	}
	for _, module := range []string{"eth", "net", "web3"} {
		if _, found := modules[module]; !found {
			t.Errorf("the RPC server does not offer %s", module)
		}
	}
	var version string
	if err := raw.CallContext(t.Context(), &version, "net_version"); err != nil || version != "31337" {
		t.Errorf("net_version is %q (%v), want 31337", version, err)
	}
	if err := raw.CallContext(t.Context(), &version, "web3_clientVersion"); err != nil || !strings.HasPrefix(version, "sortie-devnet/") {
		t.Errorf("web3_clientVersion is %q (%v)", version, err)
	}
}

func TestPagesOfAnyOriginMayCall(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, chain.RPCURL(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Origin", "http://127.0.0.1:8080")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if allowed := response.Header.Get("Access-Control-Allow-Origin"); allowed != "*" || !bytes.Contains(body, []byte(`"0x7a69"`)) {
		t.Errorf("answer %s allows origin %q, want any", body, allowed)
	}
}
