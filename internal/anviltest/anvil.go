// Package anviltest gives tests a chain of anvil with the contracts on it.
package anviltest

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/funding"
)

const anvilPath = "../../contracts/node_modules/.bin/anvil"

const Gwei = 1_000_000_000

var Factory = missionfactory.NewMissionFactory()

// Chain is a chain of anvil with the contracts on it, whose blocks the test makes.
type Chain struct {
	t          testing.TB
	URL        string
	Client     *ethclient.Client
	Deployment chain.Deployment
	Settler    *funding.Settler
	Missions   []string // ids of funded missions that are not closed
	BaseFee    int64    // of the next block
}

// Start starts anvil, deploys the contracts and funds missions.
func Start(t testing.TB, missions int) *Chain {
	t.Helper()
	c := &Chain{t: t, URL: StartAnvil(t, devnet.DefaultChainID, "--preserve-historical-states"), BaseFee: Gwei}
	var err error
	if c.Client, err = ethclient.Dial(c.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Client.Close)
	c.deploy()
	c.fundMissions(missions)
	return c
}

// Mine makes a block.
func (c *Chain) Mine() {
	c.t.Helper()
	c.RPC(nil, "anvil_setNextBlockBaseFeePerGas", fmt.Sprintf("0x%x", c.BaseFee))
	c.RPC(nil, "evm_mine")
}

// StartAnvil runs anvil for the time of a test and returns its URL.
func StartAnvil(t testing.TB, chainID uint64, options ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: needs anvil")
	}
	if _, err := os.Stat(anvilPath); err != nil {
		t.Fatalf("anvil is not installed: run `make setup` (%v)", err)
	}
	anvil := exec.Command(anvilPath, append([]string{"--port", "0", "--chain-id", strconv.FormatUint(chainID, 10)}, options...)...)
	anvil.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it is a script that starts the program: both must end
	output, err := anvil.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := anvil.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-anvil.Process.Pid, syscall.SIGKILL)
		_ = anvil.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if address, found := strings.CutPrefix(lines.Text(), "Listening on "); found {
			go func() { _, _ = io.Copy(io.Discard, output) }() // or anvil blocks on a full pipe
			return "http://" + address
		}
	}
	t.Fatal("anvil did not start")
	return ""
}

func SignerOf(key *sortie.Key) chain.TransactionSigner {
	return devnet.NewSigner(key.Address(), func(_ context.Context, digest sortie.Hash) (sortie.Bytes, error) {
		return key.SignDigest(digest), nil
	})
}

func (c *Chain) deploy() {
	c.t.Helper()
	d, err := devnet.Deploy(c.t.Context(), c.Client, SignerOf(devnet.WalletByRole(devnet.RoleDeployer).Key), devnet.DeployParams{
		Authorizer: devnet.WalletByRole(devnet.RoleAuthorizer).Address, Settler: devnet.WalletByRole(devnet.RoleSettler).Address,
		WithTestTokens: true,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.Deployment = chain.Deployment{ChainID: d.ChainID, Factory: d.Factory, USDC: d.USDC, ServiceToken: d.ServiceToken}
	if c.Settler, err = funding.NewSettler(c.domain(), c.developmentKey(devnet.RoleSettler)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Chain) domain() sortie.Domain {
	return sortie.Domain{ChainID: c.Deployment.ChainID, Factory: c.Deployment.Factory}
}

func (c *Chain) developmentKey(role devnet.Role) funding.Signer {
	c.t.Helper()
	secret, err := devnet.Key(devnet.DefaultChainID, int(devnet.WalletByRole(role).Index))
	if err != nil {
		c.t.Fatal(err)
	}
	signer, err := funding.NewKeySigner(secret)
	if err != nil {
		c.t.Fatal(err)
	}
	return signer
}

// fundMissions funds missions as the deployer, who owns all service tokens, and turns automatic
// mining off.
func (c *Chain) fundMissions(missions int) {
	c.t.Helper()
	ctx := c.t.Context()
	creator := devnet.WalletByRole(devnet.RoleDeployer).Key
	account, err := chain.OpenAccount(ctx, c.Client, SignerOf(creator), c.Deployment.ChainID)
	if err != nil {
		c.t.Fatal(err)
	}
	maxAllowance := new(big.Int).Lsh(big.NewInt(1), 255)
	approval := servicetoken.NewServiceToken().PackApprove(common.Address(c.Deployment.Factory), maxAllowance)
	if _, err := account.Send(ctx, 100_000, &c.Deployment.ServiceToken, approval); err != nil {
		c.t.Fatal(err)
	}
	c.RPC(nil, "evm_setAutomine", false)
	issuer, err := funding.NewIssuer(c.domain(), c.developmentKey(devnet.RoleAuthorizer), funding.DefaultTTL)
	if err != nil {
		c.t.Fatal(err)
	}
	for i := range missions {
		terms := sortie.MissionAuthorization{
			MissionID: fmt.Sprintf("mission-%d", i), Token: c.Deployment.ServiceToken, RewardPerSubmission: big.NewInt(1000),
			TargetCount: 3, Creator: creator.Address(),
		}
		_, _ = rand.Read(terms.Nonce[:])
		quote, err := issuer.Quote(ctx, terms, time.Now())
		if err != nil {
			c.t.Fatal(err)
		}
		if _, err := account.Send(ctx, 400_000, &c.Deployment.Factory, quote.Calldata); err != nil {
			c.t.Fatal(err)
		}
		c.Missions = append(c.Missions, terms.MissionID)
	}
	c.Mine()
	for _, id := range c.Missions {
		if c.Mission(id).Creator != common.Address(creator.Address()) {
			c.t.Fatalf("%s was not funded", id)
		}
	}
}

func (c *Chain) RPC(result any, method string, args ...any) {
	c.t.Helper()
	if err := c.Client.Client().CallContext(context.Background(), result, method, args...); err != nil {
		c.t.Fatalf("call %s: got error %v, want none", method, err)
	}
}

func (c *Chain) Head() uint64 {
	c.t.Helper()
	number, err := c.Client.BlockNumber(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	return number
}

func (c *Chain) Mission(id string) missionfactory.IMissionFactoryMission {
	c.t.Helper()
	to := common.Address(c.Deployment.Factory)
	answer, err := c.Client.CallContract(context.Background(), ethereum.CallMsg{To: &to, Data: Factory.PackMissions(sortie.MissionKey(id))}, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	mission, err := Factory.UnpackMissions(answer)
	if err != nil {
		c.t.Fatal(err)
	}
	return mission
}
