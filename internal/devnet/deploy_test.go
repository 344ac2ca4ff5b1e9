package devnet_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/devnet"
)

// bothChains runs a test on this package's chain and on anvil.
func bothChains(t *testing.T, chainID uint64, test func(t *testing.T, client *ethclient.Client)) {
	t.Helper()
	t.Run("devnet", func(t *testing.T) {
		t.Parallel()
		config := quiet()
		config.ChainID = chainID
		test(t, dial(t, startChain(t, config).RPCURL()))
	})
	t.Run("anvil", func(t *testing.T) {
		t.Parallel()
		test(t, startAnvil(t, chainID))
	})
}

func signerOf(role devnet.Role) chain.TransactionSigner {
	key := devnet.WalletByRole(role).Key
	return devnet.NewSigner(key.Address(), func(_ context.Context, digest sortie.Hash) (sortie.Bytes, error) {
		return key.SignDigest(digest), nil
	})
}

func wholeParams() devnet.DeployParams {
	return devnet.DeployParams{
		Authorizer:     devnet.WalletByRole(devnet.RoleAuthorizer).Address,
		Settler:        devnet.WalletByRole(devnet.RoleSettler).Address,
		WithTestTokens: true,
	}
}

func deploy(t *testing.T, client *ethclient.Client, params devnet.DeployParams) devnet.Deployment {
	t.Helper()
	deployment, err := devnet.Deploy(t.Context(), client, signerOf(devnet.RoleSender), params)
	if err != nil {
		t.Fatal(err)
	}
	return deployment
}

// ask calls a view of the factory.
func ask[T any](t *testing.T, client *ethclient.Client, factory sortie.Address, call []byte, unpack func([]byte) (T, error)) T {
	t.Helper()
	to := common.Address(factory)
	answer, err := client.CallContract(t.Context(), ethereum.CallMsg{To: &to, Data: call}, nil)
	if err != nil {
		t.Fatal(err)
	}
	value, err := unpack(answer)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestDeployGivesEveryRoleItsHolder(t *testing.T) {
	t.Parallel()
	bothChains(t, devnet.DefaultChainID, func(t *testing.T, client *ethclient.Client) {
		params := wholeParams()
		params.Admin = devnet.WalletByRole(devnet.RoleOperator).Address
		params.AdminDelay = 2 * time.Hour
		params.USDCCap = big.NewInt(5_000_000)
		deployed := deploy(t, client, params)
		if deployed.ChainID != devnet.DefaultChainID || deployed.DeployedAtBlock == 0 || deployed.DeployedAtBlock > headNumber(t, client) {
			t.Errorf("the deployment is %+v", deployed)
		}

		abi := missionfactory.NewMissionFactory()
		if usdc := ask(t, client, deployed.Factory, abi.PackUsdc(), abi.UnpackUsdc); usdc != common.Address(deployed.USDC) {
			t.Errorf("the factory's USDC is %s, want %s", usdc, deployed.USDC)
		}
		if token := ask(t, client, deployed.Factory, abi.PackServiceToken(), abi.UnpackServiceToken); token != common.Address(deployed.ServiceToken) {
			t.Errorf("the factory's service token is %s, want %s", token, deployed.ServiceToken)
		}
		if admin := ask(t, client, deployed.Factory, abi.PackDefaultAdmin(), abi.UnpackDefaultAdmin); admin != common.Address(params.Admin) {
			t.Errorf("the admin is %s, want %s", admin, params.Admin)
		}
		if delay := ask(t, client, deployed.Factory, abi.PackDefaultAdminDelay(), abi.UnpackDefaultAdminDelay); delay.Int64() != 7200 {
			t.Errorf("the admin delay is %s s, want 7200", delay)
		}
		for name, holder := range map[string]sortie.Address{
			"AUTHORIZER_ROLE": params.Authorizer, "SETTLER_ROLE": params.Settler, "PAUSER_ROLE": devnet.WalletByRole(devnet.RoleSender).Address,
		} {
			role := ask(t, client, deployed.Factory, map[string]func() []byte{
				"AUTHORIZER_ROLE": abi.PackAUTHORIZERROLE, "SETTLER_ROLE": abi.PackSETTLERROLE, "PAUSER_ROLE": abi.PackPAUSERROLE,
			}[name](), abi.UnpackAUTHORIZERROLE)
			if !ask(t, client, deployed.Factory, abi.PackHasRole(role, common.Address(holder)), abi.UnpackHasRole) {
				t.Errorf("%s does not have %s", holder, name)
			}
		}
		if limit := ask(t, client, deployed.Factory, abi.PackDailyCaps(common.Address(deployed.USDC)), abi.UnpackDailyCaps).Limit; limit.Int64() != 5_000_000 {
			t.Errorf("the cap of USDC is %s, want 5000000", limit)
		}
		if limit := ask(t, client, deployed.Factory, abi.PackDailyCaps(common.Address(deployed.ServiceToken)), abi.UnpackDailyCaps).Limit; limit.BitLen() != 256 {
			t.Errorf("the cap of the service token is %s, want none", limit)
		}
	})
}

func TestDeployTakesExistingTokens(t *testing.T) {
	t.Parallel()
	bothChains(t, devnet.DefaultChainID, func(t *testing.T, client *ethclient.Client) {
		first := deploy(t, client, wholeParams())
		params := wholeParams()
		params.WithTestTokens, params.USDC, params.ServiceToken = false, first.USDC, first.ServiceToken
		second := deploy(t, client, params)
		if second.USDC != first.USDC || second.ServiceToken != first.ServiceToken || second.Factory == first.Factory {
			t.Errorf("first %+v, then %+v", first, second)
		}
	})
}

func TestDeployRefusesBeforeItSends(t *testing.T) {
	t.Parallel()
	bothChains(t, devnet.DefaultChainID, func(t *testing.T, client *ethclient.Client) {
		tokens, others := deploy(t, client, wholeParams()), deploy(t, client, wholeParams())
		unused := sortie.MustAddress("0x00000000000000000000000000000000000000ff")
		existing := func(usdc, serviceToken sortie.Address) devnet.DeployParams {
			params := wholeParams()
			params.WithTestTokens, params.USDC, params.ServiceToken = false, usdc, serviceToken
			return params
		}
		cases := []struct {
			name   string
			params devnet.DeployParams
			want   string
		}{
			{"no authorizer", devnet.DeployParams{Settler: unused, WithTestTokens: true}, "authorizer: the address is missing"},
			{"no settler", devnet.DeployParams{Authorizer: unused, WithTestTokens: true}, "settler: the address is missing"},
			{"no tokens", existing(sortie.Address{}, sortie.Address{}), "or deploy test tokens"},
			{"one token", existing(tokens.USDC, sortie.Address{}), "give both addresses"},
			{"the same token twice", existing(tokens.USDC, tokens.USDC), "same address"},
			{"no code at the token", existing(unused, tokens.ServiceToken), "USDC " + unused.String() + ": there is no contract"},
			{"tokens swapped", existing(tokens.ServiceToken, tokens.USDC), "has 18 decimals, want 6"},
			{"wrong decimals of the service token", existing(tokens.USDC, others.USDC), "has 6 decimals, want 18"},
			{"a contract that is no token", existing(tokens.Factory, tokens.ServiceToken), "USDC " + tokens.Factory.String()},
		}
		nonce := newSender(t, client, devnet.RoleSender).nonce
		for _, c := range cases {
			_, err := devnet.Deploy(t.Context(), client, signerOf(devnet.RoleSender), c.params)
			if err == nil {
				t.Fatalf("%s: deployed", c.name)
			}
			wantOneLine(t, err.Error(), c.want)
		}
		params := wholeParams()
		params.USDCCap = new(big.Int).Lsh(big.NewInt(1), 112)
		_, err := devnet.Deploy(t.Context(), client, signerOf(devnet.RoleSender), params)
		if err == nil || !strings.Contains(err.Error(), "cap of USDC") {
			t.Errorf("a cap that does not fit: %v", err)
		}
		if after := newSender(t, client, devnet.RoleSender).nonce; after != nonce {
			t.Errorf("%d transactions were sent by refused deployments", after-nonce)
		}
	})
}

func TestDeployNeedsGas(t *testing.T) {
	t.Parallel()
	bothChains(t, devnet.DefaultChainID, func(t *testing.T, client *ethclient.Client) {
		key, err := sortie.NewKey([32]byte{31: 0x77})
		if err != nil {
			t.Fatal(err)
		}
		poor := devnet.NewSigner(key.Address(), func(_ context.Context, digest sortie.Hash) (sortie.Bytes, error) {
			return key.SignDigest(digest), nil
		})
		_, err = devnet.Deploy(t.Context(), client, poor, wholeParams())
		if err == nil {
			t.Fatal("deployed without gas")
		}
		wantOneLine(t, err.Error(), "has 0.000000000 ether")
	})
}

func TestDeploySaysWhatIsUnderWayWhenItGivesUp(t *testing.T) {
	t.Parallel()
	client := startAnvil(t, devnet.DefaultChainID, "--no-mining")
	ctx, cancel := context.WithCancel(t.Context())
	impatient := &watched{Client: client, asked: cancel}
	_, err := devnet.Deploy(ctx, impatient, signerOf(devnet.RoleSender), wholeParams())
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v, want that of the context", err)
	}
	wantOneLine(t, err.Error(), "may still be mined")
}

// watched cancels a context as soon as a receipt is asked for.
type watched struct {
	*ethclient.Client
	asked context.CancelFunc
}

func (w *watched) TransactionReceipt(ctx context.Context, hash common.Hash) (*types.Receipt, error) {
	w.asked()
	return w.Client.TransactionReceipt(ctx, hash)
}

func TestDeployNamesAnUnreachableChain(t *testing.T) {
	t.Parallel()
	client := dial(t, "http://127.0.0.1:1")
	_, err := devnet.Deploy(t.Context(), client, signerOf(devnet.RoleSender), wholeParams())
	if err == nil {
		t.Fatal("deployed to nowhere")
	}
	wantOneLine(t, err.Error(), "does not answer")
}

func TestSignersMayNumberTheirParityEitherWay(t *testing.T) {
	t.Parallel()
	client := dial(t, startChain(t, quiet()).RPCURL())
	key := devnet.WalletByRole(devnet.RoleOperator).Key
	bare := devnet.NewSigner(key.Address(), func(_ context.Context, digest sortie.Hash) (sortie.Bytes, error) {
		signature := key.SignDigest(digest)
		signature[64] -= 27
		return signature, nil
	})
	if _, err := devnet.Deploy(t.Context(), client, bare, wholeParams()); err != nil {
		t.Errorf("v 0 and 1: %v", err)
	}
	other := devnet.WalletByRole(devnet.RoleCreator).Key
	wrong := devnet.NewSigner(key.Address(), func(_ context.Context, digest sortie.Hash) (sortie.Bytes, error) {
		return other.SignDigest(digest), nil
	})
	if _, err := devnet.Deploy(t.Context(), client, wrong, wholeParams()); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("a signer with another key: %v", err)
	}
	short := devnet.NewSigner(key.Address(), func(context.Context, sortie.Hash) (sortie.Bytes, error) { return make([]byte, 64), nil })
	if _, err := devnet.Deploy(t.Context(), client, short, wholeParams()); err == nil || !strings.Contains(err.Error(), "64 bytes") {
		t.Errorf("a signer that gives 64 bytes: %v", err)
	}
}

func TestDeploymentIsWrittenAsTheCommandPrintsIt(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(devnet.Deployment{
		ChainID:         31337,
		Factory:         sortie.MustAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
		USDC:            sortie.MustAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
		ServiceToken:    sortie.MustAddress("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"),
		DeployedAtBlock: 3,
	})
	want := `{"chainId":31337,"factory":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","usdc":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8",` +
		`"serviceToken":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC","deployedAtBlock":3}`
	if err != nil || string(text) != want {
		t.Errorf("the deployment is written %s, want %s", text, want)
	}
}
