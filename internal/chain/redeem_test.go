package chain_test

import (
	"context"
	"errors"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/testusdc"
	"github.com/sortie-labs/sortie/internal/anviltest"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/chaintest"
	"github.com/sortie-labs/sortie/internal/devnet"
)

// redeemable funds a mission of two slots in USDC and returns the receipt of the first.
func redeemable(t *testing.T, node *chain.Node, deployment chain.Deployment, missionID string) (sortie.Domain, sortie.Receipt) {
	t.Helper()
	domain := sortie.Domain{ChainID: deployment.ChainID, Factory: deployment.Factory}
	head, err := node.HeaderByNumber(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	authorization := sortie.MissionAuthorization{
		MissionID: missionID, Token: deployment.USDC, RewardPerSubmission: big.NewInt(7), TargetCount: 2,
		Creator: devnet.WalletByRole(devnet.RoleCreator).Address, Deadline: head.Time + 3600,
	}
	usdc := testusdc.NewTestUSDC()
	pay(t, node, devnet.RoleCreator, deployment.USDC, usdc.PackApprove(common.Address(deployment.Factory), authorization.TotalBudget()))
	signature := devnet.WalletByRole(devnet.RoleAuthorizer).Key.SignDigest(authorization.Digest(domain.Separator()))
	pay(t, node, devnet.RoleCreator, deployment.Factory, authorization.Calldata(signature))
	settlement := sortie.Settlement{MissionKey: sortie.MissionKey(missionID), Payments: []sortie.Payment{{
		Recipient: devnet.WalletByRole(devnet.RoleContributor1).Address, SubmissionKey: sortie.SubmissionKey("sub_1"),
	}}}
	settler := devnet.WalletByRole(devnet.RoleSettler)
	return domain, sortie.Receipt{Settlement: settlement, Signature: settler.Key.SignDigest(settlement.Digest(domain.Separator()))}
}

func pay(t *testing.T, node *chain.Node, role devnet.Role, to sortie.Address, data []byte) *types.Receipt {
	t.Helper()
	mined, err := chain.PayingCall{To: to, Data: data}.Send(t.Context(), node, anviltest.SignerOf(devnet.WalletByRole(role).Key), devnet.DefaultChainID, func(sortie.Hash) {})
	if err != nil {
		t.Fatal(err)
	}
	return mined
}

// Two people redeem one receipt at the same time: both checks pass, the slot is paid once, and the
// second learns it.
func TestTheSecondOfTwoRedemptionsPaysNothing(t *testing.T) {
	t.Parallel()
	net, deployment := startChain(t)
	node := dial(t, net.RPCURL())
	domain, receipt := redeemable(t, node, deployment, "raced")
	first, err := chain.CheckReceipt(t.Context(), node, domain, receipt)
	if err != nil {
		t.Fatal(err)
	}
	second, err := chain.CheckReceipt(t.Context(), node, domain, receipt)
	if err != nil {
		t.Fatal(err)
	}
	if got := first.SettledAs(pay(t, node, devnet.RoleCreator2, domain.Factory, first.Calldata())); got != chain.OutcomePaid {
		t.Errorf("the first: got %s, want %s", got, chain.OutcomePaid)
	}
	if got := second.SettledAs(pay(t, node, devnet.RoleOperator, domain.Factory, second.Calldata())); got != chain.OutcomeSkipped {
		t.Errorf("the second: got %s, want %s", got, chain.OutcomeSkipped)
	}
	var refusal *chain.PayoutRefusal
	if _, err := chain.CheckReceipt(t.Context(), node, domain, receipt); !errors.As(err, &refusal) || refusal.Kind != chain.RefusedOver {
		t.Errorf("afterwards: got %v, want a refusal because it is over", err)
	}
}

// Events of another contract in the same transaction do not count.
func TestAPaymentOfAnotherContractIsNotOurs(t *testing.T) {
	t.Parallel()
	net, deployment := startChain(t)
	node := dial(t, net.RPCURL())
	domain, receipt := redeemable(t, node, deployment, "forged")
	redemption, err := chain.CheckReceipt(t.Context(), node, domain, receipt)
	if err != nil {
		t.Fatal(err)
	}
	mined := pay(t, node, devnet.RoleCreator2, domain.Factory, redemption.Calldata())
	for name, alter := range map[string]func(*types.Log){
		"address":    func(log *types.Log) { log.Address[0] ^= 1 },
		"mission":    func(log *types.Log) { log.Topics[1][0] ^= 1 },
		"submission": func(log *types.Log) { log.Topics[2][0] ^= 1 },
		"recipient":  func(log *types.Log) { log.Topics[3][31] ^= 1 },
		"slot":       func(log *types.Log) { log.Data[31] ^= 1 },
	} {
		forged := *mined
		forged.Logs = nil
		for _, log := range mined.Logs {
			one := *log
			one.Topics, one.Data = append([]common.Hash(nil), log.Topics...), append([]byte(nil), log.Data...)
			if one.Address == common.Address(domain.Factory) {
				alter(&one)
			}
			forged.Logs = append(forged.Logs, &one)
		}
		if got := redemption.SettledAs(&forged); got != chain.OutcomeSkipped {
			t.Errorf("another %s: got %s, want %s", name, got, chain.OutcomeSkipped)
		}
	}
}

// Failures of a node differ from those of a receipt, and no error contains the node's URL, which
// may have a key.
func TestANodeThatFailsRefusesNoReceipt(t *testing.T) {
	t.Parallel()
	net, deployment := startChain(t)
	domain, receipt := redeemable(t, dial(t, net.RPCURL()), deployment, "unreached")
	down := chaintest.NewSwitchable(t)
	node := dial(t, down.URL+"/secret")
	var refusal *chain.PayoutRefusal
	if _, err := chain.CheckReceipt(t.Context(), node, domain, receipt); !errors.Is(err, chain.ErrUnreachable) || errors.As(err, &refusal) || strings.Contains(err.Error(), "secret") {
		t.Errorf("check: got %v, want a node that cannot be reached, without its path", err)
	}
	if _, err := chain.CheckClaim(t.Context(), node, domain, "USDC", domain.Factory); !errors.Is(err, chain.ErrUnreachable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("claim: got %v, want a node that cannot be reached, without its path", err)
	}
	_, err := chain.PayingCall{To: domain.Factory}.Send(t.Context(), node, anviltest.SignerOf(devnet.WalletByRole(devnet.RoleCreator2).Key), domain.ChainID, func(sortie.Hash) {})
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), down.URL) {
		t.Errorf("send: got %v, want an error with the node's name and without its path", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	down.Set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }))
	if _, err := chain.CheckReceipt(ctx, node, domain, receipt); !errors.Is(err, chain.ErrUnreachable) || errors.As(err, &refusal) {
		t.Errorf("a limited node: got %v, want a node that cannot be reached", err)
	}
}
