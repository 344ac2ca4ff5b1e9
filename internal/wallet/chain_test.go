package wallet_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"log/slog"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/internal/devnet"
)

//go:generate node testdata/generate.mjs

//go:embed testdata/wallets.json
var walletCode []byte

const chainID = 1337

// chain is a real EVM with contract wallets on it.
type chain struct {
	client *ethclient.Client
	code   map[string]sortie.Bytes // creation code by name
	nonce  uint64

	wallets  map[string]sortie.Address // deployed without arguments, by name
	mine     sortie.Address            // OwnerWallet of owner
	mineToo  sortie.Address            // another OwnerWallet of owner
	factory  sortie.Address            // WalletFactory
	token    sortie.Address            // ServiceToken
	yesKey   *sortie.Key               // its account is delegated to YesWallet
	ownerKey *sortie.Key               // its account is delegated to mine, whose owner is owner
}

// openChain starts one chain for all tests: they only read it.
var openChain = sync.OnceValue(func() *chain {
	const yesSecret, ownerSecret = "0000000000000000000000000000000000000000000000000000000000000077", "0000000000000000000000000000000000000000000000000000000000000078"
	c := &chain{wallets: make(map[string]sortie.Address), yesKey: mustKey(yesSecret), ownerKey: mustKey(ownerSecret)}
	if err := json.Unmarshal(walletCode, &c.code); err != nil {
		panic(err)
	}
	started, err := devnet.Start(context.Background(), devnet.Config{
		ChainID: chainID, BlockInterval: 24 * time.Hour, ClockLead: 24 * time.Hour, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	c.client = started.Client()

	c.wallets["YesWallet"] = c.deploy(c.code["YesWallet"])
	c.mine = c.deploy(c.ownerWallet(owner.Address()))
	c.mineToo = c.deploy(c.ownerWallet(owner.Address()))
	c.factory = c.deploy(c.code["WalletFactory"])
	c.token = c.deploy(contracts.ServiceToken.CreateWith(servicetoken.NewServiceToken().PackConstructor(
		"Service", "SRV", common.Address(owner.Address()), big.NewInt(1_000_000))))
	for name, code := range c.code {
		if name != "OwnerWallet" && name != "YesWallet" && name != "WalletFactory" {
			c.wallets[name] = c.deploy(code)
		}
	}
	c.delegate(yesSecret, c.wallets["YesWallet"])
	c.delegate(ownerSecret, c.mine)
	return c
})

func deployedAt(deployer sortie.Address, nonce uint64) sortie.Address {
	return sortie.Address(crypto.CreateAddress(common.Address(deployer), nonce))
}

func (c *chain) ownerWallet(owner sortie.Address) []byte {
	return append(append([]byte(nil), c.code["OwnerWallet"]...), common.LeftPadBytes(owner[:], 32)...)
}

// deploy creates a contract and panics if it did not get its code.
func (c *chain) deploy(code []byte) sortie.Address {
	address := deployedAt(creator.Address(), c.nonce)
	c.send(&types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), Nonce: c.nonce, Gas: 10_000_000, Data: code,
		GasFeeCap: big.NewInt(100 * params.GWei), GasTipCap: big.NewInt(params.GWei),
	})
	c.wantCode(address)
	return address
}

// delegate lets an account run the code of a contract (EIP-7702).
func (c *chain) delegate(secret string, contract sortie.Address) {
	key, err := crypto.HexToECDSA(secret)
	if err != nil {
		panic(err)
	}
	authorization, err := types.SignSetCode(key, types.SetCodeAuthorization{ChainID: *uint256.NewInt(chainID), Address: common.Address(contract)})
	if err != nil {
		panic(err)
	}
	c.send(&types.SetCodeTx{
		ChainID: uint256.NewInt(chainID), Nonce: c.nonce, Gas: 100_000, AuthList: []types.SetCodeAuthorization{authorization},
		GasFeeCap: uint256.NewInt(100 * params.GWei), GasTipCap: uint256.NewInt(params.GWei),
	})
	c.wantCode(sortie.Address(crypto.PubkeyToAddress(key.PublicKey)))
}

// send signs a transaction of the creator and waits until it is mined.
func (c *chain) send(data types.TxData) {
	key, err := crypto.HexToECDSA("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
	if err != nil {
		panic(err)
	}
	encoded, err := types.MustSignNewTx(key, types.LatestSignerForChainID(big.NewInt(chainID)), data).MarshalBinary()
	if err != nil {
		panic(err)
	}
	if err := c.client.Client().Call(new(any), "eth_sendRawTransactionSync", hexutil.Bytes(encoded)); err != nil {
		panic(err)
	}
	c.nonce++
}

func (c *chain) wantCode(address sortie.Address) {
	if code, err := c.client.CodeAt(context.Background(), common.Address(address), nil); err != nil || len(code) == 0 {
		panic("no code at " + address.String())
	}
}

// call is the eth_call that the service gives to the verifier.
func (c *chain) call(ctx context.Context, data []byte, gas uint64) ([]byte, error) {
	return c.client.CallContract(ctx, ethereum.CallMsg{
		From: common.HexToAddress("0x00000000000000000000000000000000c0ffee00"), Gas: gas, Data: data,
	}, nil)
}

// undeployed returns the address at which the factory would create a contract.
func (c *chain) undeployed(code []byte) sortie.Address {
	return sortie.Address(crypto.CreateAddress2(common.Address(c.factory), [32]byte{}, crypto.Keccak256(code)))
}

var (
	abiAddress, _ = abi.NewType("address", "", nil)
	abiBytes, _   = abi.NewType("bytes", "", nil)
	abiWord, _    = abi.NewType("bytes32", "", nil)
	abiNumber, _  = abi.NewType("uint256", "", nil)
)

// encode returns the ABI encoding of a call of the named function.
func encode(t testing.TB, signature string, kinds []abi.Type, values ...any) []byte {
	t.Helper()
	var arguments abi.Arguments
	for _, kind := range kinds {
		arguments = append(arguments, abi.Argument{Type: kind})
	}
	packed, err := arguments.Pack(values...)
	if err != nil {
		t.Fatal(err)
	}
	if signature == "" {
		return packed
	}
	return append(crypto.Keccak256([]byte(signature))[:4], packed...)
}

func deployCall(t testing.TB, code []byte) []byte {
	t.Helper()
	return encode(t, "deploy(bytes,bytes32)", []abi.Type{abiBytes, abiWord}, code, [32]byte{})
}

// wrap returns the ERC-6492 wrapper of a signature.
func wrap(t testing.TB, factory sortie.Address, calldata, signature []byte) sortie.Bytes {
	t.Helper()
	packed := encode(t, "", []abi.Type{abiAddress, abiBytes, abiBytes}, common.Address(factory), calldata, signature)
	for range 16 {
		packed = append(packed, 0x64, 0x92)
	}
	return packed
}
