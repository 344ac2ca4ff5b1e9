package cli

import (
	"context"
	"fmt"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/funding"
)

// addressFlag is a flag that takes an address.
type AddressFlag struct{ sortie.Address }

func (f *AddressFlag) Type() string { return "address" }

func (f *AddressFlag) String() string {
	if f.IsZero() {
		return ""
	}
	return f.Address.String()
}

func (f *AddressFlag) Set(text string) (err error) {
	f.Address, err = sortie.ParseAddress(text)
	return err
}

// keyFlag is a flag that takes a reference to a key, never a key. It parses late: the flag library
// repeats a value it cannot parse, and somebody may have given the key itself.
type KeyFlag struct{ text string }

func (f *KeyFlag) Type() string { return "key" }

func (f *KeyFlag) String() string {
	reference, err := funding.ParseKeyRef(f.text)
	if err != nil {
		return ""
	}
	return reference.String()
}

func (f *KeyFlag) Set(text string) error {
	f.text = text
	return nil
}

// given reports whether the flag has a value.
func (f *KeyFlag) Given() bool { return f.text != "" }

// check refuses a missing or malformed reference, without repeating it.
func (f *KeyFlag) Check(flag string) error {
	if f.text == "" {
		return UsageError("--%s is missing: give keystore:PATH, command:PATH or dev:N", flag)
	}
	if _, err := funding.ParseKeyRef(f.text); err != nil {
		return UsageError("--%s: %w", flag, err)
	}
	return nil
}

// open gives the signer the flag refers to.
func (f *KeyFlag) Open(ctx context.Context, flag string, chainID uint64) (funding.Signer, error) {
	reference, err := funding.ParseKeyRef(f.text)
	if err != nil {
		return nil, UsageError("--%s: %w", flag, err)
	}
	signer, err := reference.Open(ctx, chainID, devnet.Key)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return signer, nil
}
