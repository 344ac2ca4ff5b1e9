// Package contracts is the on-chain half of Sortie as Go sees it: for each contract its ABI and the
// code that creates it, as committed in artifacts/. The packages below bind/ encode calls and
// decode answers, events and errors of them.
//
// It knows no chain: nothing here deploys, signs or sends. And it holds nothing written by hand:
// `go generate` rebuilds artifacts/ and bind/ from src/ with a pinned compiler, byte for byte.
package contracts

//go:generate node generate.mjs

import (
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
)

//go:embed artifacts/[A-Z]*
var artifacts embed.FS

// The contracts. Constructor arguments are encoded by the PackConstructor method of the bindings.
const (
	// MissionFactory is the ledger of funded missions; its address is the factoryAddress of quotes.
	MissionFactory Contract = "MissionFactory"
	// ServiceToken is the reward token with 18 decimals.
	ServiceToken Contract = "ServiceToken"
	// SignatureValidator asks contract accounts whether they accept a signature. It is never
	// deployed: CreateWith's result is the data of an eth_call without a recipient, and the answer
	// is one word, 1 or 0.
	SignatureValidator Contract = "SignatureValidator"
	// TestUSDC is the ABI of the development stand-in for USDC; TestUSDCProxy is how to deploy it.
	TestUSDC Contract = "TestUSDC"
	// TestUSDCProxy creates a TestUSDC and the proxy in front of it. Speak to its address with
	// TestUSDC's ABI.
	TestUSDCProxy Contract = "TestUSDCProxy"
)

// A Contract names one of the compiled contracts.
type Contract string

// ABI returns the contract's interface in the JSON form that every Ethereum library reads.
func (c Contract) ABI() []byte {
	return c.artifact("json")
}

// CreateWith returns the data of the transaction that creates the contract with these ABI-encoded
// constructor arguments.
func (c Contract) CreateWith(encodedArguments []byte) []byte {
	code, err := hex.DecodeString(strings.TrimSpace(string(c.artifact("bin"))))
	if err != nil {
		panic(fmt.Sprintf("contracts: committed bytecode of %s is damaged, run go generate ./contracts: %v", c, err))
	}
	return append(code, encodedArguments...)
}

func (c Contract) artifact(extension string) []byte {
	data, err := artifacts.ReadFile(fmt.Sprintf("artifacts/%s.%s", c, extension))
	if err != nil {
		panic(fmt.Sprintf("contracts: %q is not one of the constants of this package: %v", string(c), err))
	}
	return data
}
