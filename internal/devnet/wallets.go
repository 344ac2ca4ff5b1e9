package devnet

import (
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/sortie-labs/sortie"
)

// Mnemonic is the development mnemonic that anvil, Hardhat and others share. Everyone knows its
// keys.
const Mnemonic = "test test test test test test test test test test test junk"

// Role is what a development wallet is for.
type Role string

// The roles, in the order of their account numbers under the mnemonic.
const (
	RoleCreator      Role = "creator"
	RoleAuthorizer   Role = "authorizer"
	RoleContributor1 Role = "contributor1"
	RoleContributor2 Role = "contributor2"
	RoleContributor3 Role = "contributor3"
	RoleCreator2     Role = "creator2"
	RoleOperator     Role = "operator"
	RoleSettler      Role = "settler"
	RoleSender       Role = "sender"
	RoleDeployer     Role = "deployer" // also the contracts' admin and pauser
)

var roles = []Role{
	RoleCreator, RoleAuthorizer, RoleContributor1, RoleContributor2, RoleContributor3,
	RoleCreator2, RoleOperator, RoleSettler, RoleSender, RoleDeployer,
}

// Wallet is one account of the development mnemonic.
type Wallet struct {
	Role       Role
	Index      uint32 // N in m/44'/60'/0'/0/N
	Address    sortie.Address
	PrivateKey string // 0x and 64 hex digits; public knowledge
	Key        *sortie.Key
}

var derivedWallets = sync.OnceValues(func() ([]Wallet, error) {
	wallets := make([]Wallet, len(roles))
	for i, role := range roles {
		secret, err := accountSecret(uint32(i))
		if err != nil {
			return nil, err
		}
		key, err := sortie.NewKey(secret)
		if err != nil {
			return nil, err
		}
		wallets[i] = Wallet{role, uint32(i), key.Address(), "0x" + hex.EncodeToString(secret[:]), key}
	}
	return wallets, nil
})

// Wallets returns the wallet of every role, in the order of their account numbers.
func Wallets() []Wallet {
	wallets, err := derivedWallets()
	if err != nil {
		panic(err) // the mnemonic is a constant
	}
	return append([]Wallet(nil), wallets...)
}

// WalletByRole returns the wallet of a role. It panics on an unknown role.
func WalletByRole(role Role) Wallet {
	for _, wallet := range Wallets() {
		if wallet.Role == role {
			return wallet
		}
	}
	panic(fmt.Sprintf("devnet: no wallet has the role %q", role))
}

// UserWallets returns the wallets for users: the creators, the contributors and the operator, but
// none of the service's own keys. The ready file of `sortie dev` lists them.
func UserWallets() []Wallet {
	var users []Wallet
	for _, role := range []Role{RoleCreator, RoleCreator2, RoleContributor1, RoleContributor2, RoleContributor3, RoleOperator} {
		users = append(users, WalletByRole(role))
	}
	return users
}

// Key returns the n-th secret key of the development mnemonic, for the key reference `dev:N`. It
// refuses every chain id but 1337 and 31337: on any other chain, anyone can take money sent to
// these keys.
func Key(chainID uint64, n int) ([32]byte, error) {
	if !sortie.IsDevelopmentChain(chainID) {
		return [32]byte{}, fmt.Errorf("development key %d refused on chain id %d: everyone has it; use a keystore file or a signer command", n, chainID)
	}
	if n < 0 || n >= hardened {
		return [32]byte{}, fmt.Errorf("development key %d: want a number from 0 to %d", n, hardened-1)
	}
	return accountSecret(uint32(n))
}

var accountsKey = sync.OnceValues(func() (hdKey, error) {
	master, err := masterKey(Mnemonic)
	if err != nil {
		return hdKey{}, err
	}
	return master.path(accountPath...)
})

func accountSecret(n uint32) ([32]byte, error) {
	accounts, err := accountsKey()
	if err != nil {
		return [32]byte{}, err
	}
	account, err := accounts.child(n)
	if err != nil {
		return [32]byte{}, err
	}
	return account.secret.Bytes(), nil
}
