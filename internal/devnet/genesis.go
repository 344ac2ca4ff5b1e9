package devnet

import (
	"encoding/binary"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

const (
	// DefaultChainID is the chain id of `sortie dev`, the same as anvil's and Hardhat's.
	DefaultChainID = 31337

	blockGasLimit = 60_000_000

	// genesisTime is in the past for every machine with a working clock, and constant: block 0 must
	// be the same at every start.
	genesisTime = 1_767_225_600 // 2026-01-01T00:00:00Z
)

// feeRecipient collects the tips. It has no known key, and is not the zero address, which contracts
// treat specially.
var feeRecipient = common.HexToAddress("0x536f727469652064657620636861696e00000fee")

// gasAllowance is what every development wallet starts with: 10,000 ether.
var gasAllowance = new(big.Int).Mul(big.NewInt(10_000), big.NewInt(params.Ether))

// forkRules is every rule change up to and including Osaka, from block 0. The list is written out
// because the library's own development defaults switch on rules, and gas prices, that no public
// chain has yet.
func forkRules(chainID uint64) *params.ChainConfig {
	block, second := new(big.Int), new(uint64)
	return &params.ChainConfig{
		ChainID:                 new(big.Int).SetUint64(chainID),
		HomesteadBlock:          block,
		EIP150Block:             block,
		EIP155Block:             block,
		EIP158Block:             block,
		ByzantiumBlock:          block,
		ConstantinopleBlock:     block,
		PetersburgBlock:         block,
		IstanbulBlock:           block,
		MuirGlacierBlock:        block,
		BerlinBlock:             block,
		LondonBlock:             block,
		ArrowGlacierBlock:       block,
		GrayGlacierBlock:        block,
		MergeNetsplitBlock:      block,
		TerminalTotalDifficulty: new(big.Int),
		ShanghaiTime:            second,
		CancunTime:              second,
		PragueTime:              second,
		OsakaTime:               second,
		BlobScheduleConfig: &params.BlobScheduleConfig{
			Cancun: params.DefaultCancunBlobConfig,
			Prague: params.DefaultPragueBlobConfig, // Osaka keeps Prague's
		},
	}
}

func genesis(chainID uint64) *core.Genesis {
	alloc := systemContracts()
	for _, wallet := range Wallets() {
		alloc[common.Address(wallet.Address)] = types.Account{Balance: gasAllowance}
	}
	return &core.Genesis{
		Config:     forkRules(chainID),
		ExtraData:  binary.BigEndian.AppendUint64([]byte("sortie"), chainID), // or block 0 would be the same for every chain id
		Timestamp:  genesisTime,
		GasLimit:   blockGasLimit,
		BaseFee:    big.NewInt(params.InitialBaseFee),
		Difficulty: new(big.Int),
		Alloc:      alloc,
	}
}

// systemContracts are the two that every block since Prague must call, and the CREATE2 factory that
// deployment tools expect.
//
// The contracts of EIP-2935 and EIP-4788 are left out on purpose: they write three storage slots in
// every block, which turns an empty block of half a kilobyte into several kilobytes of state, kept
// for ever. The rules allow their absence, and the BLOCKHASH instruction does not need them.
func systemContracts() types.GenesisAlloc {
	contract := func(code []byte) types.Account {
		return types.Account{Nonce: 1, Code: code, Balance: new(big.Int)}
	}
	return types.GenesisAlloc{
		params.WithdrawalQueueAddress:      contract(params.WithdrawalQueueCode),
		params.ConsolidationQueueAddress:   contract(params.ConsolidationQueueCode),
		params.DeterministicFactoryAddress: contract(params.DeterministicFactoryCode),
	}
}
