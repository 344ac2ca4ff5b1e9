package devnet

import (
	"context"
	"encoding/hex"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"
)

// maxProofKeys is how many storage keys one eth_getProof may name.
const maxProofKeys = 1024

// invalidParams is an error of JSON-RPC with code -32602.
type invalidParams string

func (e invalidParams) Error() string { return string(e) }

// ErrorCode returns the code of JSON-RPC.
func (invalidParams) ErrorCode() int { return -32602 }

// web3 is the namespace of the same name.
type web3 struct{}

// ClientVersion answers web3_clientVersion.
func (web3) ClientVersion() string { return "sortie-devnet/" + runtime.Version() }

// Sha3 answers web3_sha3.
func (web3) Sha3(input hexutil.Bytes) hexutil.Bytes { return crypto.Keccak256(input) }

// network is the namespace net.
type network struct{ id uint64 }

// Version answers net_version.
func (n network) Version() string { return strconv.FormatUint(n.id, 10) }

// Listening answers net_listening.
func (network) Listening() bool { return true }

// PeerCount answers net_peerCount.
func (network) PeerCount() hexutil.Uint { return 0 }

// chainMethods are the methods of eth that read blocks, state and fees.
type chainMethods struct{ node *node }

// ChainId answers eth_chainId.
func (m chainMethods) ChainId() *hexutil.Big { return (*hexutil.Big)(m.node.ChainConfig().ChainID) }

// BlockNumber answers eth_blockNumber.
func (m chainMethods) BlockNumber() hexutil.Uint64 {
	return hexutil.Uint64(m.node.chain.CurrentBlock().Number.Uint64())
}

// Syncing answers eth_syncing: never, without peers.
func (m chainMethods) Syncing() bool { return false }

// Accounts answers eth_accounts: the chain holds no keys.
func (m chainMethods) Accounts() []common.Address { return []common.Address{} }

// GasPrice answers eth_gasPrice.
func (m chainMethods) GasPrice(ctx context.Context) (*hexutil.Big, error) {
	tip, err := m.node.fees.SuggestTipCap(ctx)
	if err != nil {
		return nil, err
	}
	return (*hexutil.Big)(tip.Add(tip, m.node.chain.CurrentBlock().BaseFee)), nil
}

// MaxPriorityFeePerGas answers eth_maxPriorityFeePerGas.
func (m chainMethods) MaxPriorityFeePerGas(ctx context.Context) (*hexutil.Big, error) {
	tip, err := m.node.fees.SuggestTipCap(ctx)
	return (*hexutil.Big)(tip), err
}

// BaseFee answers eth_baseFee: that of the next block.
func (m chainMethods) BaseFee() *hexutil.Big {
	return (*hexutil.Big)(eip1559.CalcBaseFee(m.node.ChainConfig(), m.node.chain.CurrentBlock()))
}

// BlobBaseFee answers eth_blobBaseFee.
func (m chainMethods) BlobBaseFee() *hexutil.Big {
	return (*hexutil.Big)(eip4844.CalcBlobFee(m.node.ChainConfig(), m.node.chain.CurrentBlock()))
}

// feeHistory is the answer to eth_feeHistory.
type feeHistory struct {
	OldestBlock      *hexutil.Big     `json:"oldestBlock"`
	Reward           [][]*hexutil.Big `json:"reward,omitempty"`
	BaseFee          []*hexutil.Big   `json:"baseFeePerGas,omitempty"`
	GasUsedRatio     []float64        `json:"gasUsedRatio"`
	BlobBaseFee      []*hexutil.Big   `json:"baseFeePerBlobGas,omitempty"`
	BlobGasUsedRatio []float64        `json:"blobGasUsedRatio,omitempty"`
}

// FeeHistory answers eth_feeHistory.
func (m chainMethods) FeeHistory(ctx context.Context, blocks math.HexOrDecimal64, last rpc.BlockNumber, percentiles []float64) (*feeHistory, error) {
	oldest, rewards, baseFees, used, blobFees, blobUsed, err := m.node.fees.FeeHistory(ctx, uint64(blocks), last, percentiles)
	if err != nil {
		return nil, err
	}
	history := &feeHistory{OldestBlock: (*hexutil.Big)(oldest), GasUsedRatio: used, BlobGasUsedRatio: blobUsed}
	for _, ofBlock := range rewards {
		reward := make([]*hexutil.Big, len(ofBlock))
		for i, amount := range ofBlock {
			reward[i] = (*hexutil.Big)(amount)
		}
		history.Reward = append(history.Reward, reward)
	}
	for _, fee := range baseFees {
		history.BaseFee = append(history.BaseFee, (*hexutil.Big)(fee))
	}
	for _, fee := range blobFees {
		history.BlobBaseFee = append(history.BlobBaseFee, (*hexutil.Big)(fee))
	}
	return history, nil
}

// GetHeaderByNumber answers eth_getHeaderByNumber.
func (m chainMethods) GetHeaderByNumber(ctx context.Context, number rpc.BlockNumber) (object, error) {
	if number == rpc.PendingBlockNumber {
		return nil, nil
	}
	header, err := m.node.HeaderByNumber(ctx, number)
	if header == nil || err != nil {
		return nil, err
	}
	return headerObject(header), nil
}

// GetHeaderByHash answers eth_getHeaderByHash.
func (m chainMethods) GetHeaderByHash(hash common.Hash) object {
	header := m.node.chain.GetHeaderByHash(hash)
	if header == nil {
		return nil
	}
	return headerObject(header)
}

// GetBlockByNumber answers eth_getBlockByNumber.
func (m chainMethods) GetBlockByNumber(ctx context.Context, number rpc.BlockNumber, full bool) (object, error) {
	block, err := m.node.BlockByNumber(ctx, number)
	if block == nil || err != nil {
		return nil, err
	}
	fields := blockObject(block, full, m.node.ChainConfig())
	if number == rpc.PendingBlockNumber {
		fields["hash"], fields["nonce"], fields["miner"] = nil, nil, nil
	}
	return fields, nil
}

// GetBlockByHash answers eth_getBlockByHash.
func (m chainMethods) GetBlockByHash(hash common.Hash, full bool) object {
	block := m.node.chain.GetBlockByHash(hash)
	if block == nil {
		return nil
	}
	return blockObject(block, full, m.node.ChainConfig())
}

// GetUncleCountByBlockNumber answers eth_getUncleCountByBlockNumber.
func (m chainMethods) GetUncleCountByBlockNumber(ctx context.Context, number rpc.BlockNumber) (*hexutil.Uint, error) {
	block, err := m.node.BlockByNumber(ctx, number)
	return count(block, nil), err
}

// GetUncleCountByBlockHash answers eth_getUncleCountByBlockHash.
func (m chainMethods) GetUncleCountByBlockHash(hash common.Hash) *hexutil.Uint {
	return count(m.node.chain.GetBlockByHash(hash), nil)
}

// GetBlockTransactionCountByNumber answers eth_getBlockTransactionCountByNumber.
func (m chainMethods) GetBlockTransactionCountByNumber(ctx context.Context, number rpc.BlockNumber) (*hexutil.Uint, error) {
	block, err := m.node.BlockByNumber(ctx, number)
	return count(block, (*types.Block).Transactions), err
}

// GetBlockTransactionCountByHash answers eth_getBlockTransactionCountByHash.
func (m chainMethods) GetBlockTransactionCountByHash(hash common.Hash) *hexutil.Uint {
	return count(m.node.chain.GetBlockByHash(hash), (*types.Block).Transactions)
}

// count counts what a block holds: nil without a block, 0 for uncles, which this chain never has.
func count(block *types.Block, list func(*types.Block) types.Transactions) *hexutil.Uint {
	if block == nil {
		return nil
	}
	var n hexutil.Uint
	if list != nil {
		n = hexutil.Uint(len(list(block)))
	}
	return &n
}

// GetBlockReceipts answers eth_getBlockReceipts.
func (m chainMethods) GetBlockReceipts(ctx context.Context, at rpc.BlockNumberOrHash) ([]object, error) {
	var receipts types.Receipts
	block, err := m.node.block(ctx, at)
	if number, ok := at.Number(); ok && number == rpc.PendingBlockNumber {
		block, receipts, _ = m.node.Pending()
	} else if block != nil {
		receipts = m.node.chain.GetReceiptsByHash(block.Hash())
	}
	if block == nil || err != nil {
		return nil, err
	}
	objects := make([]object, len(receipts))
	for i, receipt := range receipts {
		objects[i] = receiptObject(receipt, block.Transactions()[i], m.node.ChainConfig())
	}
	return objects, nil
}

// GetBalance answers eth_getBalance.
func (m chainMethods) GetBalance(ctx context.Context, account common.Address, at *rpc.BlockNumberOrHash) (*hexutil.Big, error) {
	state, _, err := m.node.state(ctx, at)
	if err != nil {
		return nil, err
	}
	return (*hexutil.Big)(state.GetBalance(account).ToBig()), state.Error()
}

// GetCode answers eth_getCode.
func (m chainMethods) GetCode(ctx context.Context, account common.Address, at *rpc.BlockNumberOrHash) (hexutil.Bytes, error) {
	state, _, err := m.node.state(ctx, at)
	if err != nil {
		return nil, err
	}
	return state.GetCode(account), state.Error()
}

// GetStorageAt answers eth_getStorageAt.
func (m chainMethods) GetStorageAt(ctx context.Context, account common.Address, key string, at *rpc.BlockNumberOrHash) (hexutil.Bytes, error) {
	slot, _, err := decodeStorageKey(key)
	if err != nil {
		return nil, err
	}
	state, _, err := m.node.state(ctx, at)
	if err != nil {
		return nil, err
	}
	value := state.GetState(account, slot)
	return value[:], state.Error()
}

// decodeStorageKey reads up to 32 bytes in hex, with or without 0x, and their number.
func decodeStorageKey(text string) (common.Hash, int, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X")
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	key, err := hex.DecodeString(digits)
	if err != nil || len(key) > common.HashLength {
		return common.Hash{}, 0, invalidParams(fmt.Sprintf("storage key %q: want up to 32 bytes in hex", text))
	}
	return common.BytesToHash(key), len(key), nil
}

// proofNodes collects the nodes of a Merkle proof.
type proofNodes []hexutil.Bytes

// Put adds a node.
func (p *proofNodes) Put(_, value []byte) error {
	*p = append(*p, value)
	return nil
}

// Delete is required by the library's interface.
func (*proofNodes) Delete([]byte) error { return nil }

// GetProof answers eth_getProof.
func (m chainMethods) GetProof(ctx context.Context, account common.Address, keys []string, at *rpc.BlockNumberOrHash) (object, error) {
	if len(keys) > maxProofKeys {
		return nil, invalidParams(fmt.Sprintf("%d storage keys; at most %d", len(keys), maxProofKeys))
	}
	state, header, err := m.node.state(ctx, at)
	if err != nil {
		return nil, err
	}
	accounts, err := state.Database().OpenTrie(header.Root)
	if err != nil {
		return nil, err
	}
	accountProof := proofNodes{}
	if err := accounts.Prove(crypto.Keccak256(account[:]), &accountProof); err != nil {
		return nil, err
	}
	root, storageProof := state.GetStorageRoot(account), make([]object, len(keys))
	for i, text := range keys {
		key, length, err := decodeStorageKey(text)
		if err != nil {
			return nil, err
		}
		proof := proofNodes{}
		if root != types.EmptyRootHash && root != (common.Hash{}) {
			storage, err := state.Database().OpenStorageTrie(header.Root, account, root, nil)
			if err != nil {
				return nil, err
			}
			if err := storage.Prove(crypto.Keccak256(key[:]), &proof); err != nil {
				return nil, err
			}
		}
		name := hexutil.EncodeBig(key.Big())
		if length == common.HashLength {
			name = key.Hex()
		}
		storageProof[i] = object{"key": name, "value": (*hexutil.Big)(state.GetState(account, key).Big()), "proof": proof}
	}
	return object{
		"address": account, "accountProof": accountProof, "balance": (*hexutil.Big)(state.GetBalance(account).ToBig()),
		"codeHash": state.GetCodeHash(account), "nonce": hexutil.Uint64(state.GetNonce(account)), "storageHash": root, "storageProof": storageProof,
	}, state.Error()
}
