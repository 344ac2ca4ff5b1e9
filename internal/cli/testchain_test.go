package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/contracts/bind/testusdc"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/devnet"
)

var (
	factoryCalls = missionfactory.NewMissionFactory()
	usdcCalls    = testusdc.NewTestUSDC()
)

// testChain is a chain with the contracts deployed and without a service.
type testChain struct {
	t          *testing.T
	net        *devnet.Chain
	deployment devnet.Deployment
	files      string
}

func startTestChain(t *testing.T) *testChain {
	t.Helper()
	net, err := devnet.Start(context.Background(), devnet.Config{Logger: slog.New(slog.DiscardHandler), ClockLead: 12 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := net.Close(); err != nil {
			t.Error(err)
		}
	})
	return &testChain{t: t, net: net, deployment: net.Deployment(), files: t.TempDir()}
}

func (c *testChain) domain() sortie.Domain {
	return sortie.Domain{ChainID: c.net.ChainID(), Factory: c.deployment.Factory}
}

func (c *testChain) signer(role devnet.Role) chain.TransactionSigner {
	wallet := devnet.WalletByRole(role)
	return devnet.NewSigner(wallet.Address, func(_ context.Context, digest sortie.Hash) (sortie.Bytes, error) {
		return wallet.Key.SignDigest(digest), nil
	})
}

// transact sends a call of a role and waits until it has succeeded.
func (c *testChain) transact(role devnet.Role, to sortie.Address, data []byte) *types.Receipt {
	c.t.Helper()
	account, err := chain.OpenAccount(c.t.Context(), c.net.Client(), c.signer(role), c.net.ChainID())
	if err != nil {
		c.t.Fatal(err)
	}
	gas, err := account.Estimate(c.t.Context(), &to, data)
	if err != nil {
		c.t.Fatal(err)
	}
	tx, err := account.Send(c.t.Context(), gas, &to, data)
	if err != nil {
		c.t.Fatal(err)
	}
	receipt, err := account.Mined(c.t.Context(), tx)
	if err != nil {
		c.t.Fatal(err)
	}
	return receipt
}

const (
	payoutReward  = 2_500_000 // base units of USDC
	payoutMission = "photo-of-the-gate-1"
)

// fund funds a mission of three slots in USDC and returns the time from which its creator may
// reclaim.
func (c *testChain) fund(missionID string) (reclaimAfter time.Time) {
	c.t.Helper()
	head, err := c.net.Client().HeaderByNumber(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	authorization := sortie.MissionAuthorization{
		MissionID: missionID, Token: c.deployment.USDC, RewardPerSubmission: big.NewInt(payoutReward), TargetCount: 3,
		Creator: devnet.WalletByRole(devnet.RoleCreator).Address, Deadline: head.Time + 3600,
	}
	c.transact(devnet.RoleCreator, c.deployment.USDC, usdcCalls.PackApprove(common.Address(c.deployment.Factory), authorization.TotalBudget()))
	signature := devnet.WalletByRole(devnet.RoleAuthorizer).Key.SignDigest(authorization.Digest(c.domain().Separator()))
	funded := c.transact(devnet.RoleCreator, c.deployment.Factory, authorization.Calldata(signature))
	for _, log := range funded.Logs {
		if event, err := factoryCalls.UnpackMissionFundedEvent(log); err == nil {
			return time.Unix(event.ReclaimAfter.Int64(), 0)
		}
	}
	c.t.Fatal("funding: got no MissionFunded event, want one")
	return time.Time{}
}

// receipt returns the receipt of a slot, signed by the settler.
func (c *testChain) receipt(missionID string, slot uint32, reclaimAfter time.Time) sortie.Receipt {
	settler := devnet.WalletByRole(devnet.RoleSettler)
	submissionID, reclaim := fmt.Sprintf("sub_%d", slot), sortie.FormatTime(reclaimAfter)
	settlement := sortie.Settlement{MissionKey: sortie.MissionKey(missionID), Payments: []sortie.Payment{{
		Slot: slot, Recipient: devnet.WalletByRole(devnet.RoleContributor1).Address, SubmissionKey: sortie.SubmissionKey(submissionID),
	}}}
	return sortie.Receipt{
		Settlement: settlement, Signature: settler.Key.SignDigest(settlement.Digest(c.domain().Separator())), Signer: &settler.Address,
		ChainID: c.net.ChainID(), Factory: c.deployment.Factory, MissionID: missionID, SubmissionID: submissionID,
		Token: sortie.TokenUSDC, AmountBaseUnits: fmt.Sprint(payoutReward), ReclaimAfter: &reclaim,
		DependsOn: []sortie.ReceiptCondition{{Code: sortie.ReceiptPause, Message: "it waits while the contract is paused"}},
	}
}

// write writes a value to a file as JSON and returns its path.
func (c *testChain) write(value any) string {
	c.t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.writeText(string(text))
}

func (c *testChain) writeText(text string) string {
	c.t.Helper()
	file, err := os.CreateTemp(c.files, "receipt-*.json")
	if err != nil {
		c.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		c.t.Fatal(err)
	}
	return filepath.Clean(file.Name())
}

// sortie runs the program against the chain with the wallet of a third party.
func (c *testChain) sortie(args ...string) (code ExitCode, stdout, stderr string) {
	c.t.Helper()
	return c.run(append(args, "--rpc", c.net.RPCURL(), "--key", "dev:5")...)
}

func (c *testChain) run(args ...string) (code ExitCode, stdout, stderr string) {
	var out, errors bytes.Buffer
	nothing := func(string) (string, bool) { return "", false }
	code = ExitCode(run(c.t.Context(), args, nothing, &out, &errors))
	return code, out.String(), errors.String()
}

// nonce returns the number of transactions of the wallet that pays the gas.
func (c *testChain) nonce() uint64 {
	c.t.Helper()
	nonce, err := c.net.Client().PendingNonceAt(c.t.Context(), common.Address(devnet.WalletByRole(devnet.RoleCreator2).Address))
	if err != nil {
		c.t.Fatal(err)
	}
	return nonce
}

// wantRefused runs a command that must fail with an exit code and one line that has the reason, and
// send nothing.
func (c *testChain) wantRefused(code ExitCode, reason string, args ...string) {
	c.t.Helper()
	c.wantNothingSent(code, reason, func() (ExitCode, string, string) { return c.sortie(args...) })
}

func (c *testChain) wantNothingSent(code ExitCode, reason string, run func() (ExitCode, string, string)) {
	c.t.Helper()
	before := c.nonce()
	got, stdout, stderr := run()
	if got != code || stdout != "" || !strings.Contains(stderr, reason) || strings.Count(stderr, "\n") != 1 {
		c.t.Errorf("got exit code %d, output %q, error %q; want exit code %d and one line with %q", got, stdout, stderr, code, reason)
	}
	if after := c.nonce(); after != before {
		c.t.Errorf("got %d transactions, want none", after-before)
	}
}

func (c *testChain) balance(role devnet.Role) *big.Int {
	c.t.Helper()
	token := servicetoken.NewServiceToken()
	to := common.Address(c.deployment.USDC)
	answer, err := c.net.Client().CallContract(c.t.Context(), callMessage(&to, token.PackBalanceOf(common.Address(devnet.WalletByRole(role).Address))), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	balance, err := token.UnpackBalanceOf(answer)
	if err != nil {
		c.t.Fatal(err)
	}
	return balance
}

// wantEarned checks by how much the balance of the contributor grew.
func (c *testChain) wantEarned(before *big.Int, want int64) {
	c.t.Helper()
	if got := new(big.Int).Sub(c.balance(devnet.RoleContributor1), before); got.Cmp(big.NewInt(want)) != 0 {
		c.t.Errorf("earnings of the contributor: got %s base units, want %d", got, want)
	}
}

// deny adds the contributor to the denylist of USDC, or removes it.
func (c *testChain) deny(listed bool) {
	c.t.Helper()
	contributor := common.Address(devnet.WalletByRole(devnet.RoleContributor1).Address)
	c.transact(devnet.RoleDeployer, c.deployment.USDC, usdcCalls.PackSetDenylisted(contributor, listed))
}
