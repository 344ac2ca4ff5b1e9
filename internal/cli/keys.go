package cli

import (
	"context"
	"fmt"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/funding"
)

// AddressFlag is a flag for an address.
type AddressFlag struct{ sortie.Address }

// Type implements pflag.Value.
func (f *AddressFlag) Type() string { return "address" }

// String implements pflag.Value.
func (f *AddressFlag) String() string {
	if f.IsZero() {
		return ""
	}
	return f.Address.String()
}

// Set implements pflag.Value.
func (f *AddressFlag) Set(text string) (err error) {
	f.Address, err = sortie.ParseAddress(text)
	return err
}

// KeyFlag is a flag for a reference to a key, never for a key. Set does not parse it, because the
// flag library prints a value that it cannot parse, which may be a private key.
type KeyFlag struct{ text string }

// Type implements pflag.Value.
func (f *KeyFlag) Type() string { return "key" }

// String implements pflag.Value.
func (f *KeyFlag) String() string {
	reference, err := funding.ParseKeyRef(f.text)
	if err != nil {
		return ""
	}
	return reference.String()
}

// Set implements pflag.Value.
func (f *KeyFlag) Set(text string) error {
	f.text = text
	return nil
}

// Given reports whether the flag has a value.
func (f *KeyFlag) Given() bool { return f.text != "" }

// Check refuses a missing or malformed reference, without printing it.
func (f *KeyFlag) Check(flag string) error {
	if f.text == "" {
		return UsageError("--%s is missing: give keystore:PATH, command:PATH or dev:N", flag)
	}
	if _, err := funding.ParseKeyRef(f.text); err != nil {
		return UsageError("--%s: %w", flag, err)
	}
	return nil
}

// Open returns the signer that the flag refers to.
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
