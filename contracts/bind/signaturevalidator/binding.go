// Code generated via abigen V2 - DO NOT EDIT.
// This file is a generated binding and any manual changes will be lost.

package signaturevalidator

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

// SignatureValidatorMetaData contains all meta data concerning the SignatureValidator contract.
var SignatureValidatorMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"hash\",\"type\":\"bytes32\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"}],\"stateMutability\":\"nonpayable\",\"type\":\"constructor\"}]",
	ID:  "SignatureValidator",
}

// SignatureValidator is an auto generated Go binding around an Ethereum contract.
type SignatureValidator struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *SignatureValidator) GetABI() abi.ABI {
	return c.abi
}

// NewSignatureValidator creates a new instance of SignatureValidator.
func NewSignatureValidator() *SignatureValidator {
	parsed, err := SignatureValidatorMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &SignatureValidator{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *SignatureValidator) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackConstructor is the Go binding used to pack the parameters required for
// contract deployment.
//
// Solidity: constructor(address account, bytes32 hash, bytes signature) returns()
func (signatureValidator *SignatureValidator) PackConstructor(account common.Address, hash [32]byte, signature []byte) []byte {
	enc, err := signatureValidator.abi.Pack("", account, hash, signature)
	if err != nil {
		panic(err)
	}
	return enc
}
