package main

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/funding"
)

// addressFlag is a flag that takes an address.
type addressFlag struct{ sortie.Address }

func (f *addressFlag) Type() string { return "address" }

func (f *addressFlag) String() string {
	if f.IsZero() {
		return ""
	}
	return f.Address.String()
}

func (f *addressFlag) Set(text string) (err error) {
	f.Address, err = sortie.ParseAddress(text)
	return err
}

// keyFlag is a flag that takes a reference to a key, never a key. It parses late: the flag library
// repeats a value it cannot parse, and somebody may have given the key itself.
type keyFlag struct{ text string }

func (f *keyFlag) Type() string { return "key" }

func (f *keyFlag) String() string {
	reference, err := funding.ParseKeyRef(f.text)
	if err != nil {
		return ""
	}
	return reference.String()
}

func (f *keyFlag) Set(text string) error {
	f.text = text
	return nil
}

// check refuses a missing or malformed reference, without repeating it.
func (f *keyFlag) check(flag string) error {
	if f.text == "" {
		return usageError("--%s is missing: give keystore:PATH, command:PATH or dev:N", flag)
	}
	if _, err := funding.ParseKeyRef(f.text); err != nil {
		return usageError("--%s: %w", flag, err)
	}
	return nil
}

// open gives the signer the flag refers to.
func (f *keyFlag) open(ctx context.Context, flag string, chainID uint64) (funding.Signer, error) {
	reference, err := funding.ParseKeyRef(f.text)
	if err != nil {
		return nil, usageError("--%s: %w", flag, err)
	}
	signer, err := reference.Open(ctx, chainID, devnet.Key)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return signer, nil
}

// transactionSigner signs whole transactions, so that a signer with a policy sees what it signs.
type transactionSigner struct{ funding.Signer }

func (s transactionSigner) SignTransaction(ctx context.Context, chainID uint64, tx *types.Transaction) (*types.Transaction, error) {
	return funding.SignTransaction(ctx, s.Signer, chainID, tx)
}
