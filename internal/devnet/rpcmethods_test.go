package devnet_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/sortie-labs/sortie/internal/devnet"
)

// answerTo calls a method and fails the test on an error.
func answerTo[T any](t *testing.T, client *rpc.Client, method string, arguments ...any) T {
	t.Helper()
	var answer T
	if err := client.CallContext(t.Context(), &answer, method, arguments...); err != nil {
		t.Fatalf("call %s: %v", method, err)
	}
	return answer
}

// tokenTransfer sends 1 base unit of USDC to a recipient and waits for the receipt.
func tokenTransfer(chain *devnet.Chain, from *sender, to common.Address) *types.Receipt {
	from.t.Helper()
	data := append(crypto.Keccak256([]byte("transfer(address,uint256)"))[:4], common.LeftPadBytes(to.Bytes(), 32)...)
	return from.sendMined(from.call(common.Address(chain.Deployment().USDC), 200_000, append(data, common.LeftPadBytes([]byte{1}, 32)...)))
}

func TestFiltersReportWhatIsNewSinceTheLastPoll(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet())
	client := dial(t, chain.RPCURL())
	raw, creator := client.Client(), newSender(t, client, devnet.RoleCreator)
	criteria := map[string]any{"address": chain.Deployment().USDC.String(), "topics": []any{transferTopic}}

	tokenTransfer(chain, creator, common.HexToAddress("0xbeef")) // before the filters: not reported
	logs := answerTo[rpc.ID](t, raw, "eth_newFilter", criteria)
	blocks := answerTo[rpc.ID](t, raw, "eth_newBlockFilter")
	pending := answerTo[rpc.ID](t, raw, "eth_newPendingTransactionFilter")
	receipt := tokenTransfer(chain, creator, common.HexToAddress("0xbeef"))

	if changes := answerTo[[]types.Log](t, raw, "eth_getFilterChanges", logs); len(changes) != 1 || changes[0].TxHash != receipt.TxHash {
		t.Errorf("the log filter reported %v, want the log of %s", changes, receipt.TxHash)
	}
	if changes := answerTo[[]common.Hash](t, raw, "eth_getFilterChanges", blocks); len(changes) != 1 || changes[0] != receipt.BlockHash {
		t.Errorf("the block filter reported %s, want %s", changes, receipt.BlockHash)
	}
	if changes := answerTo[[]common.Hash](t, raw, "eth_getFilterChanges", pending); len(changes) != 1 || changes[0] != receipt.TxHash {
		t.Errorf("the transaction filter reported %s, want %s", changes, receipt.TxHash)
	}
	for name, filter := range map[string]rpc.ID{"log": logs, "block": blocks, "transaction": pending} {
		if again := answerTo[[]any](t, raw, "eth_getFilterChanges", filter); len(again) != 0 {
			t.Errorf("the second poll of the %s filter reported %v, want nothing", name, again)
		}
		if removed := answerTo[bool](t, raw, "eth_uninstallFilter", filter); !removed {
			t.Errorf("eth_uninstallFilter of the %s filter answered false, want true", name)
		}
		if err := raw.CallContext(t.Context(), new([]any), "eth_getFilterChanges", filter); err == nil {
			t.Errorf("a poll of the removed %s filter answered, want an error", name)
		}
	}
}

func TestSubscribersGetLogsAndPendingTransactions(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet())
	client := dial(t, chain.WebSocketURL())
	creator := newSender(t, client, devnet.RoleCreator)
	logs, pending := make(chan types.Log, 16), make(chan common.Hash, 16)
	for subscription, channel := range map[string]any{"logs": logs, "newPendingTransactions": pending} {
		arguments := []any{subscription}
		if subscription == "logs" {
			arguments = append(arguments, map[string]any{"address": chain.Deployment().USDC.String()})
		}
		subscribed, err := client.Client().EthSubscribe(t.Context(), channel, arguments...)
		if err != nil {
			t.Fatalf("subscribe to %s: %v", subscription, err)
		}
		defer subscribed.Unsubscribe()
	}
	receipt := tokenTransfer(chain, creator, common.HexToAddress("0xbeef"))
	if hash := <-pending; hash != receipt.TxHash {
		t.Errorf("the pending transaction is %s, want %s", hash, receipt.TxHash)
	}
	if log := <-logs; log.TxHash != receipt.TxHash {
		t.Errorf("the log is of transaction %s, want %s", log.TxHash, receipt.TxHash)
	}
}

func TestTransactionsAreReadInEveryWay(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet())
	client := dial(t, chain.RPCURL())
	raw, creator := client.Client(), newSender(t, client, devnet.RoleCreator)
	receipt := tokenTransfer(chain, creator, common.HexToAddress("0xbeef"))
	number := hexutil.EncodeBig(receipt.BlockNumber)

	want := answerTo[json.RawMessage](t, raw, "eth_getTransactionByHash", receipt.TxHash)
	for method, block := range map[string]any{"eth_getTransactionByBlockHashAndIndex": receipt.BlockHash, "eth_getTransactionByBlockNumberAndIndex": number} {
		if got := answerTo[json.RawMessage](t, raw, method, block, "0x0"); string(got) != string(want) {
			t.Errorf("%s answered %s, want %s", method, got, want)
		}
	}
	encoded := answerTo[hexutil.Bytes](t, raw, "eth_getRawTransactionByHash", receipt.TxHash)
	if hash := crypto.Keccak256Hash(encoded); hash != receipt.TxHash {
		t.Errorf("the raw transaction has the hash %s, want %s", hash, receipt.TxHash)
	}
	receipts := answerTo[[]*types.Receipt](t, raw, "eth_getBlockReceipts", number)
	if len(receipts) != 1 || receipts[0].TxHash != receipt.TxHash || receipts[0].GasUsed != receipt.GasUsed {
		t.Errorf("eth_getBlockReceipts answered %v, want the receipt of %s", receipts, receipt.TxHash)
	}
	if got := answerTo[hexutil.Uint](t, raw, "eth_getBlockTransactionCountByNumber", number); got != 1 {
		t.Errorf("the block has %d transactions, want 1", got)
	}
}

func TestSendRawTransactionSyncAnswersWithTheReceipt(t *testing.T) {
	t.Parallel()
	client := dial(t, startChain(t, quiet()).RPCURL())
	creator := newSender(t, client, devnet.RoleCreator)
	tx := creator.transfer(common.HexToAddress("0xbeef"))
	encoded, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if receipt := answerTo[types.Receipt](t, client.Client(), "eth_sendRawTransactionSync", hexutil.Bytes(encoded)); receipt.TxHash != tx.Hash() || receipt.BlockNumber.Sign() == 0 {
		t.Errorf("the receipt is of %s in block %d, want %s in a block", receipt.TxHash, receipt.BlockNumber, tx.Hash())
	}
	later := creator.sign(&types.DynamicFeeTx{ // a gap in the nonces: it stays in the pool
		ChainID: creator.chainID, Nonce: creator.nonce + 1, GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(2_000_000_000), Gas: 21_000, To: &common.Address{1},
	})
	if encoded, err = later.MarshalBinary(); err != nil {
		t.Fatal(err)
	}
	err = client.Client().CallContext(t.Context(), new(any), "eth_sendRawTransactionSync", hexutil.Bytes(encoded), 50)
	var timeout rpc.DataError
	if !errors.As(err, &timeout) || timeout.ErrorData() != later.Hash().Hex() {
		t.Errorf("a transaction that is not mined: got %v, want an error with its hash %s", err, later.Hash())
	}
}

func TestProofsAndAccessListsNameTheTokensStorage(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet())
	client := dial(t, chain.RPCURL())
	raw, token := client.Client(), common.Address(chain.Deployment().ServiceToken)
	creator := common.Address(devnet.WalletByRole(devnet.RoleCreator).Address)

	data := append(crypto.Keccak256([]byte("transfer(address,uint256)"))[:4], common.LeftPadBytes([]byte{7}, 32)...)
	list := answerTo[struct {
		AccessList types.AccessList
		Error      string
	}](t, raw, "eth_createAccessList", map[string]any{"from": creator, "to": token, "data": hexutil.Bytes(append(data, common.LeftPadBytes([]byte{1}, 32)...))})
	if list.Error != "" || list.AccessList.StorageKeys() == 0 {
		t.Fatalf("the access list of a transfer is %v (%s), want storage keys of the token", list.AccessList, list.Error)
	}
	key := list.AccessList[0].StorageKeys[0]
	proof := answerTo[struct {
		AccountProof []hexutil.Bytes
		CodeHash     common.Hash
		StorageProof []struct {
			Value *hexutil.Big
			Proof []hexutil.Bytes
		}
	}](t, raw, "eth_getProof", list.AccessList[0].Address, []string{key.Hex()}, "latest")
	head := tagged(t, client, int64(rpc.LatestBlockNumber))
	if got := crypto.Keccak256Hash(proof.AccountProof[0]); got != head.Root {
		t.Errorf("the account proof begins at %s, want the state root %s", got, head.Root)
	}
	if len(proof.StorageProof) != 1 || len(proof.StorageProof[0].Proof) == 0 {
		t.Errorf("the storage proof is %v, want one with nodes", proof.StorageProof)
	}
}

func TestRevertsCarryTheContractsData(t *testing.T) {
	t.Parallel()
	chain := startChain(t, quiet())
	raw := dial(t, chain.RPCURL()).Client()
	empty := common.HexToAddress("0xdead") // holds no token
	data := append(crypto.Keccak256([]byte("transfer(address,uint256)"))[:4], common.LeftPadBytes([]byte{7}, 32)...)
	call := map[string]any{"from": empty, "to": chain.Deployment().ServiceToken.String(), "input": hexutil.Bytes(append(data, common.LeftPadBytes([]byte{1}, 32)...))}
	for _, method := range []string{"eth_call", "eth_estimateGas"} {
		err := raw.CallContext(t.Context(), new(any), method, call, "latest")
		var revert rpc.DataError
		var code rpc.Error
		if !errors.As(err, &revert) || !errors.As(err, &code) || code.ErrorCode() != 3 || len(revert.ErrorData().(string)) < 10 {
			t.Errorf("%s of a transfer without funds: got %v, want code 3 with revert data", method, err)
		}
	}
}

func TestDataOfEarlierReleaseIsRefused(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dataDir, "node", "chaindata"), 0o700); err != nil {
		t.Fatal(err)
	}
	chain, err := devnet.Start(t.Context(), onDisk(dataDir))
	if err == nil {
		chain.Close()
		t.Fatal("the chain started on data of an earlier release")
	}
	wantOneLine(t, err.Error(), "remove the chain data")
}
