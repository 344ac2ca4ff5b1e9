package devnet_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/devnet"
)

func TestWalletsAreThoseOfTheDevelopmentMnemonic(t *testing.T) {
	t.Parallel()
	want := []struct {
		role    devnet.Role
		address string
	}{
		{devnet.RoleCreator, "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"},
		{devnet.RoleAuthorizer, "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"},
		{devnet.RoleContributor1, "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"},
		{devnet.RoleContributor2, "0x90F79bf6EB2c4f870365E785982E1f101E93b906"},
		{devnet.RoleContributor3, "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"},
		{devnet.RoleCreator2, "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"},
		{devnet.RoleOperator, "0x976EA74026E726554dB657fA54763abd0C3a0aa9"},
		{devnet.RoleSettler, "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955"},
		{devnet.RoleSender, "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"},
		{devnet.RoleDeployer, "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720"},
	}
	wallets := devnet.Wallets()
	if len(wallets) != len(want) {
		t.Fatalf("got %d wallets, want %d", len(wallets), len(want))
	}
	for i, wallet := range wallets {
		if wallet.Role != want[i].role || wallet.Address.String() != want[i].address || wallet.Index != uint32(i) {
			t.Errorf("wallet %d is %s %s with index %d, want %s %s", i, wallet.Role, wallet.Address, wallet.Index, want[i].role, want[i].address)
		}
		key, err := sortie.ParseKey(wallet.PrivateKey)
		if err != nil || key.Address() != wallet.Address || wallet.Key.Address() != wallet.Address {
			t.Errorf("wallet %d: its private key is not that of its address (%v)", i, err)
		}
		if byRole := devnet.WalletByRole(wallet.Role); byRole.Address != wallet.Address {
			t.Errorf("the %s is %s, want %s", wallet.Role, byRole.Address, wallet.Address)
		}
	}
}

func TestServiceKeysAreThoseOfTheVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../spec/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Keys struct{ Creator, Service struct{ PrivateKey string } }
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if got := devnet.WalletByRole(devnet.RoleCreator).PrivateKey; got != vectors.Keys.Creator.PrivateKey {
		t.Error("the creator's key is not that of the vectors")
	}
	if got := devnet.WalletByRole(devnet.RoleAuthorizer).PrivateKey; got != vectors.Keys.Service.PrivateKey {
		t.Error("the authorizer's key is not that of the vectors")
	}
}

func TestUserWalletsHoldNoServiceKey(t *testing.T) {
	t.Parallel()
	var roles []string
	for _, wallet := range devnet.UserWallets() {
		roles = append(roles, string(wallet.Role))
	}
	if got, want := strings.Join(roles, " "), "creator creator2 contributor1 contributor2 contributor3 operator"; got != want {
		t.Errorf("user wallets are %s, want %s", got, want)
	}
}

func TestKeyIsGivenOutOnDevelopmentChainsOnly(t *testing.T) {
	t.Parallel()
	for _, chainID := range []uint64{1337, 31337} {
		secret, err := devnet.Key(chainID, 5)
		if err != nil {
			t.Fatalf("chain %d: %v", chainID, err)
		}
		key, err := sortie.NewKey(secret)
		if err != nil || key.Address() != devnet.WalletByRole(devnet.RoleCreator2).Address {
			t.Errorf("chain %d: key 5 is not that of wallet 5 (%v)", chainID, err)
		}
	}
	for _, chainID := range []uint64{0, 1, 10, 137, 8453, 11155111, 31338} {
		if secret, err := devnet.Key(chainID, 0); err == nil || secret != [32]byte{} {
			t.Errorf("chain %d: a development key was given out", chainID)
		} else if strings.Contains(err.Error(), "ac0974bec39a17e3") {
			t.Errorf("chain %d: the refusal holds the key", chainID)
		}
	}
	if _, err := devnet.Key(31337, -1); err == nil {
		t.Error("key -1 was given out")
	}
	if _, err := devnet.Key(31337, 1<<31); err == nil {
		t.Error("a key beyond the last was given out")
	}
}
