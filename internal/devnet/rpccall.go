package devnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth/gasestimator"
	"github.com/ethereum/go-ethereum/eth/tracers/logger"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"
)

const (
	callGasCap  = 50_000_000
	callTimeout = 5 * time.Second
	// estimateErrorRatio is how much an estimate may be above the least gas that succeeds.
	estimateErrorRatio = 0.015
)

// revertError is an execution that reverted, with what the contract returned.
type revertError struct {
	error
	data []byte
}

func newRevertError(data []byte) *revertError {
	err := vm.ErrExecutionReverted
	if reason, unpackErr := abi.UnpackRevert(data); unpackErr == nil {
		err = fmt.Errorf("%w: %v", err, reason)
	}
	return &revertError{err, data}
}

// ErrorCode returns the code of JSON-RPC.
func (*revertError) ErrorCode() int { return 3 }

// ErrorData returns the revert data.
func (e *revertError) ErrorData() any { return hexutil.Encode(e.data) }

// callRequest is a call that is executed without a transaction.
type callRequest struct {
	From                 common.Address               `json:"from"`
	To                   *common.Address              `json:"to"`
	Gas                  *hexutil.Uint64              `json:"gas"`
	GasPrice             *hexutil.Big                 `json:"gasPrice"`
	MaxFeePerGas         *hexutil.Big                 `json:"maxFeePerGas"`
	MaxPriorityFeePerGas *hexutil.Big                 `json:"maxPriorityFeePerGas"`
	Value                *hexutil.Big                 `json:"value"`
	Nonce                *hexutil.Uint64              `json:"nonce"`
	Data                 *hexutil.Bytes               `json:"data"` // the older name of input
	Input                *hexutil.Bytes               `json:"input"`
	AccessList           types.AccessList             `json:"accessList"`
	ChainID              *hexutil.Big                 `json:"chainId"`
	BlobFeeCap           *hexutil.Big                 `json:"maxFeePerBlobGas"`
	BlobHashes           []common.Hash                `json:"blobVersionedHashes"`
	AuthorizationList    []types.SetCodeAuthorization `json:"authorizationList"`
}

// message converts the request to a message of the EVM. Gas is the limit of a request that has
// none.
func (r *callRequest) message(rules *params.ChainConfig, baseFee *big.Int, gas uint64) (*core.Message, error) {
	switch {
	case r.GasPrice != nil && (r.MaxFeePerGas != nil || r.MaxPriorityFeePerGas != nil):
		return nil, errors.New("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")
	case r.To == nil && r.BlobHashes != nil:
		return nil, core.ErrBlobTxCreate
	case r.To == nil && r.AuthorizationList != nil:
		return nil, core.ErrSetCodeTxCreate
	case r.ChainID != nil && r.ChainID.ToInt().Cmp(rules.ChainID) != 0:
		return nil, fmt.Errorf("chainId does not match node's (have=%v, want=%v)", r.ChainID.ToInt(), rules.ChainID)
	}
	if r.Gas != nil {
		gas = min(uint64(*r.Gas), callGasCap)
	}
	message := &core.Message{
		From: r.From, To: r.To, GasLimit: gas, Value: amount(r.Value), AccessList: r.AccessList,
		BlobHashes: r.BlobHashes, SetCodeAuthorizations: r.AuthorizationList,
	}
	if input := cmp.Or(r.Input, r.Data); input != nil {
		message.Data = *input
	}
	if r.Nonce != nil {
		message.Nonce = uint64(*r.Nonce)
	}
	if r.BlobFeeCap != nil || r.BlobHashes != nil {
		message.BlobGasFeeCap = amount(r.BlobFeeCap)
	}
	r.setFees(message, baseFee)
	message.SkipNonceCheck()
	return message.SkipEOACheck().SkipGasLimitCapCheck(), nil
}

// setFees leaves the price at 0 if the request names no fee: then the sender need not hold funds.
func (r *callRequest) setFees(message *core.Message, baseFee *big.Int) {
	if r.GasPrice != nil {
		message.GasPrice = amount(r.GasPrice)
		message.GasFeeCap, message.GasTipCap = message.GasPrice, message.GasPrice
		return
	}
	message.GasPrice, message.GasFeeCap, message.GasTipCap = new(uint256.Int), amount(r.MaxFeePerGas), amount(r.MaxPriorityFeePerGas)
	if message.GasFeeCap.IsZero() && message.GasTipCap.IsZero() {
		return
	}
	message.GasPrice.Add(message.GasTipCap, uint256.MustFromBig(baseFee))
	if message.GasPrice.Gt(message.GasFeeCap) {
		message.GasPrice = message.GasFeeCap
	}
}

// amount converts a number; nil becomes 0.
func amount(number *hexutil.Big) *uint256.Int {
	if number == nil {
		return new(uint256.Int)
	}
	converted, _ := number.ToUint256() // hexutil.Big reads no more than 256 bits
	return converted
}

// accountOverride changes an account for one call.
type accountOverride struct {
	Nonce            *hexutil.Uint64             `json:"nonce"`
	Code             *hexutil.Bytes              `json:"code"`
	Balance          *hexutil.Big                `json:"balance"`
	State            map[common.Hash]common.Hash `json:"state"`
	StateDiff        map[common.Hash]common.Hash `json:"stateDiff"`
	MovePrecompileTo *common.Address             `json:"movePrecompileToAddress"`
}

// stateOverride changes accounts for one call.
type stateOverride map[common.Address]accountOverride

func (o stateOverride) apply(db *state.StateDB, precompiles vm.PrecompiledContracts) error {
	if o == nil {
		return nil
	}
	moved := map[common.Address]bool{}
	for _, address := range slices.SortedFunc(maps.Keys(o), common.Address.Cmp) {
		account := o[address]
		contract, precompiled := precompiles[address]
		delete(precompiles, address)
		if target := account.MovePrecompileTo; target != nil {
			if _, overridden := o[*target]; !precompiled || overridden {
				return fmt.Errorf("account %s: no precompile, or its new address %s is overridden", address, target)
			}
			precompiles[*target], moved[*target] = contract, true
		}
		if moved[address] || account.State != nil && account.StateDiff != nil {
			return fmt.Errorf("account %s is overridden twice, by state and stateDiff or by a precompile", address)
		}
		account.apply(db, address)
	}
	db.Finalise(params.Rules{})
	return nil
}

func (o accountOverride) apply(db *state.StateDB, address common.Address) {
	if o.Nonce != nil {
		db.SetNonce(address, uint64(*o.Nonce), tracing.NonceChangeUnspecified)
	}
	if o.Code != nil {
		db.SetCode(address, *o.Code, tracing.CodeChangeUnspecified)
	}
	if o.Balance != nil {
		db.SetBalance(address, amount(o.Balance), tracing.BalanceChangeUnspecified)
	}
	if o.State != nil {
		db.SetStorage(address, o.State)
	}
	for key, value := range o.StateDiff {
		db.SetState(address, key, value)
	}
}

// blockOverride changes the block that a call runs in.
type blockOverride struct {
	Number        *hexutil.Big
	Time          *hexutil.Uint64
	GasLimit      *hexutil.Uint64
	FeeRecipient  *common.Address
	PrevRandao    *common.Hash
	BaseFeePerGas *hexutil.Big
	BlobBaseFee   *hexutil.Big
}

// apply returns a changed copy of a header.
func (o *blockOverride) apply(header *types.Header) *types.Header {
	if o == nil {
		return header
	}
	header = types.CopyHeader(header)
	if o.Number != nil {
		header.Number = o.Number.ToInt()
	}
	if o.Time != nil {
		header.Time = uint64(*o.Time)
	}
	if o.GasLimit != nil {
		header.GasLimit = uint64(*o.GasLimit)
	}
	if o.FeeRecipient != nil {
		header.Coinbase = *o.FeeRecipient
	}
	if o.PrevRandao != nil {
		header.MixDigest = *o.PrevRandao
	}
	if o.BaseFeePerGas != nil {
		header.BaseFee = o.BaseFeePerGas.ToInt()
	}
	return header
}

// callMethods are the methods of eth that execute a message.
type callMethods struct{ node *node }

// execution is a state and a block to execute a message in.
type execution struct {
	node        *node
	state       *state.StateDB
	header      *types.Header
	block       vm.BlockContext
	precompiles vm.PrecompiledContracts
}

func (m callMethods) prepare(ctx context.Context, at *rpc.BlockNumberOrHash, accounts stateOverride, block *blockOverride) (*execution, error) {
	db, header, err := m.node.state(ctx, at)
	if err != nil {
		return nil, err
	}
	e := &execution{node: m.node, state: db, header: block.apply(header)}
	e.block = core.NewEVMBlockContext(e.header, m.node.chain, nil)
	if block != nil && block.BlobBaseFee != nil {
		e.block.BlobBaseFee = block.BlobBaseFee.ToInt()
	}
	e.precompiles = vm.ActivePrecompiledContracts(m.node.ChainConfig().Rules(e.header.Number, true, e.header.Time))
	return e, accounts.apply(db, e.precompiles)
}

// run executes a message and keeps its changes in db.
func (e *execution) run(ctx context.Context, message *core.Message, db *state.StateDB, tracer *tracing.Hooks) (*core.ExecutionResult, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	block := e.block
	if message.GasPrice.IsZero() { // no fee: then the block must not ask for one
		block.BaseFee = new(big.Int)
	}
	if message.BlobGasFeeCap != nil && message.BlobGasFeeCap.IsZero() {
		block.BlobBaseFee = new(big.Int)
	}
	evm := vm.NewEVM(block, db, e.node.ChainConfig(), vm.Config{NoBaseFee: true, Tracer: tracer})
	defer evm.Release()
	evm.SetPrecompiles(e.precompiles)
	stop := context.AfterFunc(ctx, evm.Cancel)
	result, err := core.ApplyMessage(evm, message.SkipExecutionGasCapCheck(), core.NewGasPool(callGasCap))
	if !stop() && evm.Cancelled() {
		return nil, fmt.Errorf("execution aborted (timeout = %v)", callTimeout)
	}
	if err := db.Error(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("err: %w (supplied gas %d)", err, message.GasLimit)
	}
	return result, nil
}

// Call answers eth_call.
func (m callMethods) Call(ctx context.Context, request callRequest, at *rpc.BlockNumberOrHash, accounts *stateOverride, block *blockOverride) (hexutil.Bytes, error) {
	execution, err := m.prepare(ctx, at, deref(accounts), block)
	if err != nil {
		return nil, err
	}
	message, err := request.message(m.node.ChainConfig(), execution.header.BaseFee, callGasCap)
	if err != nil {
		return nil, err
	}
	result, err := execution.run(ctx, message, execution.state, nil)
	if err != nil {
		return nil, err
	}
	if errors.Is(result.Err, vm.ErrExecutionReverted) {
		return nil, newRevertError(result.Revert())
	}
	return result.Return(), result.Err
}

func deref(accounts *stateOverride) stateOverride {
	if accounts == nil {
		return nil
	}
	return *accounts
}

// EstimateGas answers eth_estimateGas.
func (m callMethods) EstimateGas(ctx context.Context, request callRequest, at *rpc.BlockNumberOrHash, accounts *stateOverride, block *blockOverride) (hexutil.Uint64, error) {
	execution, err := m.prepare(ctx, at, deref(accounts), block)
	if err != nil {
		return 0, err
	}
	message, err := request.message(m.node.ChainConfig(), execution.header.BaseFee, 0)
	if err != nil {
		return 0, err
	}
	options := &gasestimator.Options{
		Config: m.node.ChainConfig(), Chain: m.node.chain, Header: execution.header, State: execution.state, ErrorRatio: estimateErrorRatio,
	}
	if block != nil && block.BlobBaseFee != nil {
		options.BlobBaseFee = block.BlobBaseFee.ToInt()
	}
	gas, revert, err := gasestimator.Estimate(ctx, message, options, callGasCap)
	if errors.Is(err, vm.ErrExecutionReverted) {
		return 0, newRevertError(revert)
	}
	return hexutil.Uint64(gas), err
}

// accessList is the answer to eth_createAccessList.
type accessList struct {
	List    types.AccessList `json:"accessList"`
	Error   string           `json:"error,omitempty"`
	GasUsed hexutil.Uint64   `json:"gasUsed"`
}

// CreateAccessList answers eth_createAccessList: it executes the message with the list of the last
// execution until the list does not change.
func (m callMethods) CreateAccessList(ctx context.Context, request callRequest, at *rpc.BlockNumberOrHash, accounts *stateOverride) (*accessList, error) {
	execution, err := m.prepare(ctx, at, deref(accounts), nil)
	if err != nil {
		return nil, err
	}
	excluded := execution.knownAddresses(&request)
	last := logger.NewAccessListTracer(request.AccessList, excluded)
	for ctx.Err() == nil {
		request.AccessList = last.AccessList()
		message, err := request.message(m.node.ChainConfig(), execution.header.BaseFee, callGasCap)
		if err != nil {
			return nil, err
		}
		tracer := logger.NewAccessListTracer(request.AccessList, excluded)
		result, err := execution.run(ctx, message, execution.state.Copy(), tracer.Hooks())
		if err != nil {
			return nil, err
		}
		if !tracer.Equal(last) {
			last = tracer
			continue
		}
		list := &accessList{List: request.AccessList, GasUsed: hexutil.Uint64(result.UsedGas)}
		if result.Err != nil {
			list.Error = result.Err.Error()
		}
		return list, nil
	}
	return nil, ctx.Err()
}

// knownAddresses returns the addresses that need no entry in an access list.
func (e *execution) knownAddresses(request *callRequest) map[common.Address]struct{} {
	to := crypto.CreateAddress(request.From, e.state.GetNonce(request.From))
	if request.To != nil {
		to = *request.To
	}
	known := map[common.Address]struct{}{request.From: {}, to: {}}
	for address := range e.precompiles {
		known[address] = struct{}{}
	}
	for _, authorization := range request.AuthorizationList {
		if authority, err := authorization.Authority(); err == nil {
			known[authority] = struct{}{}
		}
	}
	return known
}
