// Code generated via abigen V2 - DO NOT EDIT.
// This file is a generated binding and any manual changes will be lost.

package testusdc

import (
	"bytes"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Reference imports to suppress errors if they are not otherwise used.
var (
	_ = bytes.Equal
	_ = errors.New
	_ = big.NewInt
	_ = common.Big1
	_ = types.BloomLookup
	_ = abi.ConvertType
)

// TestUSDCProxyMetaData contains all meta data concerning the TestUSDCProxy contract.
var TestUSDCProxyMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"internalType\":\"address\",\"name\":\"issuer\",\"type\":\"address\"}],\"stateMutability\":\"nonpayable\",\"type\":\"constructor\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"target\",\"type\":\"address\"}],\"name\":\"AddressEmptyCode\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"implementation\",\"type\":\"address\"}],\"name\":\"ERC1967InvalidImplementation\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"ERC1967NonPayable\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"ERC1967ProxyUninitialized\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"FailedCall\",\"type\":\"error\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"implementation\",\"type\":\"address\"}],\"name\":\"Upgraded\",\"type\":\"event\"},{\"stateMutability\":\"payable\",\"type\":\"fallback\"}]",
	ID:  "TestUSDCProxy",
}

// TestUSDCProxy is an auto generated Go binding around an Ethereum contract.
type TestUSDCProxy struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *TestUSDCProxy) GetABI() abi.ABI {
	return c.abi
}

// NewTestUSDCProxy creates a new instance of TestUSDCProxy.
func NewTestUSDCProxy() *TestUSDCProxy {
	parsed, err := TestUSDCProxyMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &TestUSDCProxy{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *TestUSDCProxy) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackConstructor is the Go binding used to pack the parameters required for
// contract deployment.
//
// Solidity: constructor(address issuer) returns()
func (testUSDCProxy *TestUSDCProxy) PackConstructor(issuer common.Address) []byte {
	enc, err := testUSDCProxy.abi.Pack("", issuer)
	if err != nil {
		panic(err)
	}
	return enc
}

// TestUSDCProxyUpgraded represents a Upgraded event raised by the TestUSDCProxy contract.
type TestUSDCProxyUpgraded struct {
	Implementation common.Address
	Raw            *types.Log // Blockchain specific contextual infos
}

const TestUSDCProxyUpgradedEventName = "Upgraded"

// ContractEventName returns the user-defined event name.
func (TestUSDCProxyUpgraded) ContractEventName() string {
	return TestUSDCProxyUpgradedEventName
}

// UnpackUpgradedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Upgraded(address indexed implementation)
func (testUSDCProxy *TestUSDCProxy) UnpackUpgradedEvent(log *types.Log) (*TestUSDCProxyUpgraded, error) {
	event := "Upgraded"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testUSDCProxy.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestUSDCProxyUpgraded)
	if len(log.Data) > 0 {
		if err := testUSDCProxy.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testUSDCProxy.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// UnpackError attempts to decode the provided error data using user-defined
// error definitions.
func (testUSDCProxy *TestUSDCProxy) UnpackError(raw []byte) (any, error) {
	if bytes.Equal(raw[:4], testUSDCProxy.abi.Errors["AddressEmptyCode"].ID.Bytes()[:4]) {
		return testUSDCProxy.UnpackAddressEmptyCodeError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDCProxy.abi.Errors["ERC1967InvalidImplementation"].ID.Bytes()[:4]) {
		return testUSDCProxy.UnpackERC1967InvalidImplementationError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDCProxy.abi.Errors["ERC1967NonPayable"].ID.Bytes()[:4]) {
		return testUSDCProxy.UnpackERC1967NonPayableError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDCProxy.abi.Errors["ERC1967ProxyUninitialized"].ID.Bytes()[:4]) {
		return testUSDCProxy.UnpackERC1967ProxyUninitializedError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDCProxy.abi.Errors["FailedCall"].ID.Bytes()[:4]) {
		return testUSDCProxy.UnpackFailedCallError(raw[4:])
	}
	return nil, errors.New("Unknown error")
}

// TestUSDCProxyAddressEmptyCode represents a AddressEmptyCode error raised by the TestUSDCProxy contract.
type TestUSDCProxyAddressEmptyCode struct {
	Target common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error AddressEmptyCode(address target)
func TestUSDCProxyAddressEmptyCodeErrorID() common.Hash {
	return common.HexToHash("0x9996b315c842ff135b8fc4a08ad5df1c344efbc03d2687aecc0678050d2aac89")
}

// UnpackAddressEmptyCodeError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error AddressEmptyCode(address target)
func (testUSDCProxy *TestUSDCProxy) UnpackAddressEmptyCodeError(raw []byte) (*TestUSDCProxyAddressEmptyCode, error) {
	out := new(TestUSDCProxyAddressEmptyCode)
	if err := testUSDCProxy.abi.UnpackIntoInterface(out, "AddressEmptyCode", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCProxyERC1967InvalidImplementation represents a ERC1967InvalidImplementation error raised by the TestUSDCProxy contract.
type TestUSDCProxyERC1967InvalidImplementation struct {
	Implementation common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC1967InvalidImplementation(address implementation)
func TestUSDCProxyERC1967InvalidImplementationErrorID() common.Hash {
	return common.HexToHash("0x4c9c8ce3ceb3130f17f7cdba48d89b5b0129f266a8bac114e6e315a41879b617")
}

// UnpackERC1967InvalidImplementationError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC1967InvalidImplementation(address implementation)
func (testUSDCProxy *TestUSDCProxy) UnpackERC1967InvalidImplementationError(raw []byte) (*TestUSDCProxyERC1967InvalidImplementation, error) {
	out := new(TestUSDCProxyERC1967InvalidImplementation)
	if err := testUSDCProxy.abi.UnpackIntoInterface(out, "ERC1967InvalidImplementation", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCProxyERC1967NonPayable represents a ERC1967NonPayable error raised by the TestUSDCProxy contract.
type TestUSDCProxyERC1967NonPayable struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC1967NonPayable()
func TestUSDCProxyERC1967NonPayableErrorID() common.Hash {
	return common.HexToHash("0xb398979fa84f543c8e222f17890372c487baf85e062276c127fef521eea7224b")
}

// UnpackERC1967NonPayableError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC1967NonPayable()
func (testUSDCProxy *TestUSDCProxy) UnpackERC1967NonPayableError(raw []byte) (*TestUSDCProxyERC1967NonPayable, error) {
	out := new(TestUSDCProxyERC1967NonPayable)
	if err := testUSDCProxy.abi.UnpackIntoInterface(out, "ERC1967NonPayable", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCProxyERC1967ProxyUninitialized represents a ERC1967ProxyUninitialized error raised by the TestUSDCProxy contract.
type TestUSDCProxyERC1967ProxyUninitialized struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC1967ProxyUninitialized()
func TestUSDCProxyERC1967ProxyUninitializedErrorID() common.Hash {
	return common.HexToHash("0xc28a273c3fe16468cad2234091c09b146f46a93b2ad4069739c7beddfa5b3529")
}

// UnpackERC1967ProxyUninitializedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC1967ProxyUninitialized()
func (testUSDCProxy *TestUSDCProxy) UnpackERC1967ProxyUninitializedError(raw []byte) (*TestUSDCProxyERC1967ProxyUninitialized, error) {
	out := new(TestUSDCProxyERC1967ProxyUninitialized)
	if err := testUSDCProxy.abi.UnpackIntoInterface(out, "ERC1967ProxyUninitialized", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCProxyFailedCall represents a FailedCall error raised by the TestUSDCProxy contract.
type TestUSDCProxyFailedCall struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error FailedCall()
func TestUSDCProxyFailedCallErrorID() common.Hash {
	return common.HexToHash("0xd6bda27508c0fb6d8a39b4b122878dab26f731a7d4e4abe711dd3731899052a4")
}

// UnpackFailedCallError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error FailedCall()
func (testUSDCProxy *TestUSDCProxy) UnpackFailedCallError(raw []byte) (*TestUSDCProxyFailedCall, error) {
	out := new(TestUSDCProxyFailedCall)
	if err := testUSDCProxy.abi.UnpackIntoInterface(out, "FailedCall", raw); err != nil {
		return nil, err
	}
	return out, nil
}
