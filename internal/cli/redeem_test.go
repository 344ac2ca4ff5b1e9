package cli

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/devnet"
)

func callMessage(to *common.Address, data []byte) ethereum.CallMsg {
	return ethereum.CallMsg{To: to, Data: data}
}

// A third party pays the gas, and the contributor is paid once. No service runs.
func TestRedeemPaysAReceiptOnce(t *testing.T) {
	t.Parallel()
	c := startTestChain(t)
	reclaimAfter := c.fund(payoutMission)
	before := c.balance(devnet.RoleContributor1)

	bare := c.receipt(payoutMission, 0, reclaimAfter)
	code, stdout, stderr := c.sortie("redeem", c.write(bare), "--dry-run")
	if code != ExitOK || !strings.Contains(stdout, "Nothing was sent") {
		t.Fatalf("dry run: got exit code %d, output %q, error %q; want 0 and nothing sent", code, stdout, stderr)
	}
	c.wantEarned(before, 0)

	code, stdout, stderr = c.sortie("redeem", c.write(bare), "--yes")
	recipient := devnet.WalletByRole(devnet.RoleContributor1).Address.String()
	if code != ExitOK || !strings.HasPrefix(stdout, "Paid 2.5 USDC to "+recipient) {
		t.Fatalf("redeem: got exit code %d, output %q, error %q; want 0 and the payment", code, stdout, stderr)
	}
	for _, want := range []string{
		"This pays 2.5 USDC to " + recipient, "Gas is paid by " + devnet.WalletByRole(devnet.RoleCreator2).Address.String(),
		"the contract is not paused", "USDC has no daily cap", "is a settler of the contract", "the mission is open; 0 of 3 slots are paid",
		"from " + sortie.FormatTime(reclaimAfter) + " on the creator may reclaim",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("got %q, want %q in it", stderr, want)
		}
	}
	c.wantEarned(before, payoutReward)
	c.wantRefused(ExitConflict, "slot 0 was redeemed before", "redeem", c.write(bare), "--yes")

	answer := sortie.SubmissionDetail{OK: true, Submission: sortie.Submission{SubmissionID: "sub_1", Receipt: ptr(c.receipt(payoutMission, 1, reclaimAfter))}}
	code, stdout, stderr = c.sortie("redeem", c.write(answer), "--yes", "--json")
	var result redeemResult
	if err := json.Unmarshal([]byte(stdout), &result); code != ExitOK || err != nil || stderr != "" || result.Outcome != "paid" || result.Slot != 1 || result.Transaction == "" {
		t.Fatalf("the whole answer: got exit code %d, output %q, error %q, %v; want slot 1 paid", code, stdout, stderr, err)
	}
	c.wantEarned(before, 2*payoutReward)
	earlier := c.receipt(payoutMission, 2, reclaimAfter)
	earlier = sortie.Receipt{Settlement: earlier.Settlement, Signature: earlier.Signature}
	c.wantRefused(ExitUsage, "give --factory", "redeem", c.write(earlier), "--yes")
	code, stdout, stderr = c.sortie("redeem", c.write(earlier), "--yes", "--factory", c.deployment.Factory.String())
	if code != ExitOK {
		t.Fatalf("a receipt without the later members: got exit code %d, output %q, error %q; want 0", code, stdout, stderr)
	}
	c.wantEarned(before, 3*payoutReward)
}

func ptr[T any](value T) *T { return &value }

// Each member is altered separately. Nothing is sent.
func TestRedeemRefusesAnAlteredReceipt(t *testing.T) {
	t.Parallel()
	c := startTestChain(t)
	reclaimAfter := c.fund(payoutMission)
	c.fund("another-mission")
	genuine := c.receipt(payoutMission, 0, reclaimAfter)
	other, err := devnet.Deploy(t.Context(), c.net.Client(), c.signer(devnet.RoleDeployer), devnet.DeployParams{
		Authorizer: devnet.WalletByRole(devnet.RoleAuthorizer).Address, Settler: devnet.WalletByRole(devnet.RoleSettler).Address,
		USDC: c.deployment.USDC, ServiceToken: c.deployment.ServiceToken,
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		alter  func(*sortie.Receipt)
		code   ExitCode
		reason string
	}{
		"chain id":                   {func(r *sortie.Receipt) { r.ChainID = 1 }, ExitChain, "the node is on chain 31337, and the factory is on chain 1"},
		"factory without code":       {func(r *sortie.Receipt) { r.Factory[3] ^= 1 }, ExitSafety, "there is no contract at"},
		"factory that is a token":    {func(r *sortie.Receipt) { r.Factory = c.deployment.USDC }, ExitSafety, "not a MissionFactory"},
		"another factory":            {func(r *sortie.Receipt) { r.Factory = other.Factory }, ExitSafety, "signature is by"},
		"another factory, no signer": {func(r *sortie.Receipt) { r.Factory, r.Signer = other.Factory, nil }, ExitSafety, "has no mission"},
		"mission key":                {func(r *sortie.Receipt) { r.MissionKey[0] ^= 1 }, ExitSafety, "missionKey is not the hash of missionId"},
		"mission id":                 {func(r *sortie.Receipt) { r.MissionID = "another-mission" }, ExitSafety, "missionKey is not the hash of missionId"},
		"mission key and id": {func(r *sortie.Receipt) {
			r.MissionID, r.MissionKey = "another-mission", sortie.MissionKey("another-mission")
		}, ExitSafety, "signature is by"},
		"slot":                      {func(r *sortie.Receipt) { r.Payments[0].Slot = 1 }, ExitSafety, "signature is by"},
		"slot, no signer":           {func(r *sortie.Receipt) { r.Payments[0].Slot, r.Signer = 1, nil }, ExitSafety, "is not a settler of factory"},
		"recipient":                 {func(r *sortie.Receipt) { r.Payments[0].Recipient[0] ^= 1 }, ExitSafety, "signature is by"},
		"recipient, no signer":      {func(r *sortie.Receipt) { r.Payments[0].Recipient[0] ^= 1; r.Signer = nil }, ExitSafety, "is not a settler of factory"},
		"submission key":            {func(r *sortie.Receipt) { r.Payments[0].SubmissionKey[0] ^= 1 }, ExitSafety, "submissionKey is not the hash"},
		"submission id":             {func(r *sortie.Receipt) { r.SubmissionID = "sub_9" }, ExitSafety, "submissionKey is not the hash"},
		"signature":                 {func(r *sortie.Receipt) { r.Signature[7] ^= 1 }, ExitSafety, "signature is"},
		"signer":                    {func(r *sortie.Receipt) { r.Signer = &c.deployment.USDC }, ExitSafety, "signature is by"},
		"token":                     {func(r *sortie.Receipt) { r.Token = sortie.TokenService }, ExitSafety, "its token is SERVICE_TOKEN, and the contract has USDC"},
		"a hostile token":           {func(r *sortie.Receipt) { r.Token = sortie.Token(strings.Repeat("\x1b[2J\n", 1000)) }, ExitSafety, "and the contract has USDC"},
		"amount":                    {func(r *sortie.Receipt) { r.AmountBaseUnits = "9" }, ExitSafety, "its amountBaseUnits is 9, and the contract has 2500000"},
		"date":                      {func(r *sortie.Receipt) { r.ReclaimAfter = ptr("2200-01-01T00:00:00.000Z") }, ExitSafety, "its reclaimAfter is 2200-01-01"},
		"slot beyond the mission's": {c.signAgain(func(r *sortie.Receipt) { r.Payments[0].Slot = 3 }), ExitSafety, "slots 0 to 2 only"},
		"a token as recipient":      {c.signAgain(func(r *sortie.Receipt) { r.Payments[0].Recipient = c.deployment.USDC }), ExitSafety, "is a token's contract"},
		"the factory as recipient":  {c.signAgain(func(r *sortie.Receipt) { r.Payments[0].Recipient = c.deployment.Factory }), ExitSafety, "cannot be paid"},
		"a mission that is not there": {c.signAgain(func(r *sortie.Receipt) {
			r.MissionID, r.MissionKey = "never-funded", sortie.MissionKey("never-funded")
		}), ExitSafety, "has no mission"},
	} {
		altered := genuine
		altered.Payments, altered.Signature = append([]sortie.Payment(nil), genuine.Payments...), bytes.Clone(genuine.Signature)
		test.alter(&altered)
		t.Run(name, func(t *testing.T) {
			c := &testChain{t: t, net: c.net, deployment: c.deployment, files: t.TempDir()}
			c.wantRefused(test.code, test.reason, "redeem", c.write(altered), "--yes")
		})
	}
	c.wantRefused(ExitSafety, "and --factory is "+other.Factory.String(), "redeem", c.write(genuine), "--yes", "--factory", other.Factory.String())
	if code, _, stderr := c.sortie("redeem", c.write(genuine), "--dry-run"); code != ExitOK {
		t.Errorf("the genuine receipt: got exit code %d, error %q; want 0", code, stderr)
	}
}

// signAgain alters a receipt and has the settler sign it again.
func (c *testChain) signAgain(alter func(*sortie.Receipt)) func(*sortie.Receipt) {
	return func(r *sortie.Receipt) {
		alter(r)
		r.Signature = devnet.WalletByRole(devnet.RoleSettler).Key.SignDigest(r.Settlement.Digest(c.domain().Separator()))
	}
}

// A condition that blocks a receipt is reported before anything is sent. The receipt works when the
// condition has ended.
func TestRedeemWaitsForPauseCapAndSettler(t *testing.T) {
	t.Parallel()
	c := startTestChain(t)
	reclaimAfter := c.fund(payoutMission)
	factory, usdc := c.deployment.Factory, common.Address(c.deployment.USDC)
	paths := make([]string, 3)
	for slot := range paths {
		paths[slot] = c.write(c.receipt(payoutMission, uint32(slot), reclaimAfter))
	}
	before := c.balance(devnet.RoleContributor1)

	c.transact(devnet.RoleDeployer, factory, factoryCalls.PackPause())
	c.wantRefused(ExitChain, "is paused: redeem the receipt when the pause is over", "redeem", paths[0], "--yes")
	c.transact(devnet.RoleDeployer, factory, factoryCalls.PackUnpause())

	c.transact(devnet.RoleDeployer, factory, factoryCalls.PackSetDailyCap(usdc, big.NewInt(payoutReward-1)))
	c.wantRefused(ExitChain, "the daily cap of 2.499999 USDC is below the payout of 2.5", "redeem", paths[0], "--yes")
	c.transact(devnet.RoleDeployer, factory, factoryCalls.PackSetDailyCap(usdc, big.NewInt(payoutReward+1)))
	day := c.dayOfHead()
	if code, _, stderr := c.sortie("redeem", paths[0], "--yes"); code != ExitOK || !strings.Contains(stderr, "the daily cap has 2.500001 USDC left today") {
		t.Fatalf("within the cap: got exit code %d, error %q; want 0", code, stderr)
	}
	if c.dayOfHead() == day { // the cap starts again at midnight
		c.wantRefused(ExitChain, "the daily cap has 0.000001 USDC left today, and the payout is 2.5", "redeem", paths[1], "--yes")
	}
	c.transact(devnet.RoleDeployer, factory, factoryCalls.PackSetDailyCap(usdc, big.NewInt(10*payoutReward)))

	settler := common.Address(devnet.WalletByRole(devnet.RoleSettler).Address)
	role := c.settlerRole()
	c.transact(devnet.RoleDeployer, factory, factoryCalls.PackRevokeRole(role, settler))
	c.wantRefused(ExitSafety, "the settler's key was changed", "redeem", paths[1], "--yes")
	c.transact(devnet.RoleDeployer, factory, factoryCalls.PackGrantRole(role, settler))
	if code, _, stderr := c.sortie("redeem", paths[1], "--yes"); code != ExitOK {
		t.Fatalf("with the role granted again: got exit code %d, error %q; want 0", code, stderr)
	}
	c.wantEarned(before, 2*payoutReward)

	end := sortie.Close{MissionKey: sortie.MissionKey(payoutMission), PaidCount: 2}
	c.transact(devnet.RoleCreator, factory, end.Calldata(devnet.WalletByRole(devnet.RoleSettler).Key.SignDigest(end.Digest(c.domain().Separator()))))
	c.wantRefused(ExitConflict, "the mission is closed, so the receipt pays nothing", "redeem", paths[2], "--yes")
	c.wantRefused(ExitConflict, "slot 0 was redeemed before", "redeem", paths[0], "--yes")
}

// dayOfHead returns the UTC day of the newest block.
func (c *testChain) dayOfHead() uint64 {
	c.t.Helper()
	head, err := c.net.Client().HeaderByNumber(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return (head.Time + 60) / 86400 // a call is in a later block
}

func (c *testChain) settlerRole() [32]byte {
	c.t.Helper()
	to := common.Address(c.deployment.Factory)
	answer, err := c.net.Client().CallContract(c.t.Context(), callMessage(&to, factoryCalls.PackSETTLERROLE()), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	role, err := factoryCalls.UnpackSETTLERROLE(answer)
	if err != nil {
		c.t.Fatal(err)
	}
	return role
}

// A payment that the token refuses becomes a deferred credit, which is claimed when the token pays
// again.
func TestADeferredPayoutIsClaimed(t *testing.T) {
	t.Parallel()
	c := startTestChain(t)
	path := c.write(c.receipt(payoutMission, 0, c.fund(payoutMission)))
	contributor := devnet.WalletByRole(devnet.RoleContributor1).Address.String()
	claim := []string{"claim", "--yes", "--factory", c.deployment.Factory.String(), "--account", contributor, "--token"}
	before := c.balance(devnet.RoleContributor1)
	c.wantRefused(ExitConflict, "holds no deferred USDC for "+contributor, append(claim, "USDC")...)

	c.deny(true)
	code, stdout, stderr := c.sortie("redeem", path, "--yes")
	if code != ExitOK || !strings.HasPrefix(stdout, "Deferred: the token refused to pay "+contributor) || !strings.Contains(stdout, "claim --rpc URL --factory") ||
		!strings.Contains(stderr, "The token refuses to pay "+contributor+" now") {
		t.Fatalf("denied: got exit code %d, output %q, error %q; want 0 and the deferral", code, stdout, stderr)
	}
	c.wantRefused(ExitConflict, "the contract holds 2.5 USDC as a deferred credit for "+contributor, "redeem", path, "--yes")
	c.wantRefused(ExitChain, "the token still refuses to pay "+contributor, append(claim, "USDC")...)
	c.wantRefused(ExitConflict, "holds no deferred SERVICE_TOKEN", append(claim, "SERVICE_TOKEN")...)
	c.wantRefused(ExitSafety, "does not pay with token", append(claim, contributor)...)
	c.wantRefused(ExitUsage, "--token: want USDC", append(claim, "EUR")...)
	c.wantEarned(before, 0)

	c.deny(false)
	c.transact(devnet.RoleDeployer, c.deployment.USDC, usdcCalls.PackPause())
	c.wantRefused(ExitChain, "the token still refuses to pay "+contributor, append(claim, "USDC")...)
	c.transact(devnet.RoleDeployer, c.deployment.USDC, usdcCalls.PackUnpause())
	c.transact(devnet.RoleDeployer, c.deployment.Factory, factoryCalls.PackPause()) // claims work while the factory is paused
	code, stdout, stderr = c.sortie(append(claim, c.deployment.USDC.String(), "--json")...)
	var result claimResult
	if err := json.Unmarshal([]byte(stdout), &result); code != ExitOK || err != nil || result.Outcome != "paid" || result.AmountBaseUnits != "2500000" || result.Transaction == "" {
		t.Fatalf("claim: got exit code %d, output %q, error %q, %v; want 2500000 paid", code, stdout, stderr, err)
	}
	c.wantEarned(before, payoutReward)
	c.wantRefused(ExitConflict, "holds no deferred USDC", append(claim, "USDC")...)
}

// Files without a receipt, wrong flags, and a node that does not answer.
func TestRedeemRefusesBadInput(t *testing.T) {
	t.Parallel()
	c := startTestChain(t)
	path := c.write(c.receipt(payoutMission, 0, c.fund(payoutMission)))
	submission := func(receipt any) string {
		return c.write(map[string]any{"ok": true, "submission": map[string]any{"receipt": receipt}})
	}
	large := filepath.Join(c.files, "large.json")
	if err := os.WriteFile(large, bytes.Repeat([]byte("["), 20<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ path, reason string }{
		"no file":            {filepath.Join(c.files, "missing.json"), "the receipt cannot be read"},
		"a folder":           {c.files, "the receipt cannot be read"},
		"20 MB":              {large, "is larger than 262144 bytes"},
		"empty":              {c.writeText(""), "this is not JSON"},
		"not JSON":           {c.writeText("receipt"), "this is not JSON"},
		"two values":         {c.writeText("{} {}"), "this is not JSON"},
		"deep nesting":       {c.writeText(strings.Repeat("[", 200_000)), "this is not JSON"},
		"a list":             {c.writeText("[]"), "this is not a receipt, which is a JSON object"},
		"null":               {c.writeText("null"), "this is not a receipt"},
		"an empty object":    {c.writeText("{}"), "this is not a receipt, which has a missionKey"},
		"no receipt yet":     {submission(nil), "the submission in this file has no receipt yet"},
		"a text as receipt":  {submission("x"), "this is not a receipt"},
		"a negative slot":    {c.writeText(strings.Replace(readText(t, path), `"slot":0`, `"slot":-1`, 1)), "this is not a receipt"},
		"a checksum error":   {c.writeText(strings.Replace(readText(t, path), `"recipient":"0x3C`, `"recipient":"0x3c`, 1)), "this is not a receipt"},
		"control characters": {c.writeText("{\"missionKey\":\"\\u001b[2J\"}"), "this is not a receipt"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &testChain{t: t, net: c.net, deployment: c.deployment, files: c.files}
			c.wantRefused(ExitUsage, test.reason, "redeem", test.path, "--yes")
		})
	}
	for name, test := range map[string]struct {
		code   ExitCode
		reason string
		args   []string
	}{
		"no node":         {ExitUsage, "--rpc is missing", []string{"--key", "dev:5"}},
		"no key":          {ExitUsage, "no key to pay the gas", []string{"--rpc", c.net.RPCURL()}},
		"two keys":        {ExitUsage, "give one of --key", []string{"--rpc", c.net.RPCURL(), "--key", "dev:5", "--wallet", "creator2"}},
		"a raw key":       {ExitUsage, "a raw private key is not accepted", []string{"--rpc", c.net.RPCURL(), "--key", devnet.WalletByRole(devnet.RoleCreator2).PrivateKey}},
		"no terminal":     {ExitSafety, "add --yes", []string{"--rpc", c.net.RPCURL(), "--key", "dev:5"}},
		"no node answers": {ExitChain, "http://127.0.0.1:1 does not answer", []string{"--rpc", "http://127.0.0.1:1/secret", "--key", "dev:5", "--yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &testChain{t: t, net: c.net, deployment: c.deployment, files: c.files}
			before := c.nonce()
			code, stdout, stderr := c.run(append([]string{"redeem", path}, test.args...)...)
			if code != test.code || stdout != "" || !strings.Contains(stderr, test.reason) || strings.Contains(stderr, "secret") || c.nonce() != before {
				t.Errorf("got exit code %d, output %q, error %q; want exit code %d and %q", code, stdout, stderr, test.code, test.reason)
			}
		})
	}
	if _, _, stderr := c.run("redeem", path, "--rpc", c.net.RPCURL(), "--dry-run"); !strings.Contains(stderr, "Any wallet may send it") {
		t.Errorf("got %q, want a check without a key", stderr)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
