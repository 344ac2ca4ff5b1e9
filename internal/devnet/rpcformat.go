package devnet

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

// object is a JSON object of an answer.
type object map[string]any

func headerObject(header *types.Header) object {
	fields := object{
		"number":           (*hexutil.Big)(header.Number),
		"hash":             header.Hash(),
		"parentHash":       header.ParentHash,
		"nonce":            header.Nonce,
		"mixHash":          header.MixDigest,
		"sha3Uncles":       header.UncleHash,
		"logsBloom":        header.Bloom,
		"stateRoot":        header.Root,
		"miner":            header.Coinbase,
		"difficulty":       (*hexutil.Big)(header.Difficulty),
		"extraData":        hexutil.Bytes(header.Extra),
		"gasLimit":         hexutil.Uint64(header.GasLimit),
		"gasUsed":          hexutil.Uint64(header.GasUsed),
		"timestamp":        hexutil.Uint64(header.Time),
		"transactionsRoot": header.TxHash,
		"receiptsRoot":     header.ReceiptHash,
		"baseFeePerGas":    (*hexutil.Big)(header.BaseFee),
	}
	for name, hash := range map[string]*common.Hash{
		"withdrawalsRoot": header.WithdrawalsHash, "parentBeaconBlockRoot": header.ParentBeaconRoot, "requestsHash": header.RequestsHash,
	} {
		if hash != nil {
			fields[name] = hash
		}
	}
	for name, amount := range map[string]*uint64{"blobGasUsed": header.BlobGasUsed, "excessBlobGas": header.ExcessBlobGas} {
		if amount != nil {
			fields[name] = hexutil.Uint64(*amount)
		}
	}
	return fields
}

// blockObject returns a block with its transactions in full, or with their hashes only.
func blockObject(block *types.Block, full bool, rules *params.ChainConfig) object {
	fields := headerObject(block.Header())
	fields["size"] = hexutil.Uint64(block.Size())
	transactions := make([]any, len(block.Transactions()))
	for i, tx := range block.Transactions() {
		transactions[i] = tx.Hash()
		if full {
			transactions[i] = minedObject(block, i, rules)
		}
	}
	fields["transactions"] = transactions
	fields["uncles"] = []common.Hash{}
	if block.Withdrawals() != nil {
		fields["withdrawals"] = block.Withdrawals()
	}
	return fields
}

// minedObject returns a transaction of a block.
func minedObject(block *types.Block, index int, rules *params.ChainConfig) object {
	tx := block.Transactions()[index]
	fields := transactionObject(tx, rules)
	fields["blockHash"] = block.Hash()
	fields["blockNumber"] = (*hexutil.Big)(block.Number())
	fields["blockTimestamp"] = hexutil.Uint64(block.Time())
	fields["transactionIndex"] = hexutil.Uint64(index)
	if tx.Type() >= types.DynamicFeeTxType {
		price := new(big.Int).Add(tx.GasTipCap(), block.BaseFee())
		if price.Cmp(tx.GasFeeCap()) > 0 {
			price = tx.GasFeeCap()
		}
		fields["gasPrice"] = (*hexutil.Big)(price)
	}
	return fields
}

// transactionObject returns a transaction without a block.
func transactionObject(tx *types.Transaction, rules *params.ChainConfig) object {
	from, _ := types.Sender(types.LatestSigner(rules), tx)
	v, r, s := tx.RawSignatureValues()
	fields := object{
		"blockHash": nil, "blockNumber": nil, "blockTimestamp": nil, "transactionIndex": nil,
		"type":     hexutil.Uint64(tx.Type()),
		"from":     from,
		"gas":      hexutil.Uint64(tx.Gas()),
		"gasPrice": (*hexutil.Big)(tx.GasPrice()), // the fee cap, for newer kinds
		"hash":     tx.Hash(),
		"input":    hexutil.Bytes(tx.Data()),
		"nonce":    hexutil.Uint64(tx.Nonce()),
		"to":       tx.To(),
		"value":    (*hexutil.Big)(tx.Value()),
		"v":        (*hexutil.Big)(v),
		"r":        (*hexutil.Big)(r),
		"s":        (*hexutil.Big)(s),
	}
	if id := tx.ChainId(); id.Sign() != 0 {
		fields["chainId"] = (*hexutil.Big)(id)
	}
	if tx.Type() >= types.AccessListTxType {
		fields["accessList"] = tx.AccessList()
		fields["yParity"] = hexutil.Uint64(v.Sign())
	}
	if tx.Type() >= types.DynamicFeeTxType {
		fields["maxFeePerGas"] = (*hexutil.Big)(tx.GasFeeCap())
		fields["maxPriorityFeePerGas"] = (*hexutil.Big)(tx.GasTipCap())
	}
	switch tx.Type() {
	case types.BlobTxType:
		fields["maxFeePerBlobGas"] = (*hexutil.Big)(tx.BlobGasFeeCap())
		fields["blobVersionedHashes"] = tx.BlobHashes()
	case types.SetCodeTxType:
		fields["authorizationList"] = tx.SetCodeAuthorizations()
	}
	return fields
}

// receiptObject returns a receipt. It adds sender, recipient and position in the block to the
// stored receipt.
func receiptObject(receipt *types.Receipt, tx *types.Transaction, rules *params.ChainConfig) object {
	from, _ := types.Sender(types.LatestSigner(rules), tx)
	fields := object{
		"blockHash":         receipt.BlockHash,
		"blockNumber":       (*hexutil.Big)(receipt.BlockNumber),
		"transactionHash":   tx.Hash(),
		"transactionIndex":  hexutil.Uint64(receipt.TransactionIndex),
		"from":              from,
		"to":                tx.To(),
		"gasUsed":           hexutil.Uint64(receipt.GasUsed),
		"cumulativeGasUsed": hexutil.Uint64(receipt.CumulativeGasUsed),
		"contractAddress":   nil,
		"logs":              orEmpty(receipt.Logs),
		"logsBloom":         receipt.Bloom,
		"type":              hexutil.Uint(tx.Type()),
		"status":            hexutil.Uint(receipt.Status),
		"effectiveGasPrice": (*hexutil.Big)(receipt.EffectiveGasPrice),
	}
	if receipt.ContractAddress != (common.Address{}) {
		fields["contractAddress"] = receipt.ContractAddress
	}
	if tx.Type() == types.BlobTxType {
		fields["blobGasUsed"] = hexutil.Uint64(receipt.BlobGasUsed)
		fields["blobGasPrice"] = (*hexutil.Big)(receipt.BlobGasPrice)
	}
	return fields
}

// orEmpty makes a nil list [] in JSON, not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
