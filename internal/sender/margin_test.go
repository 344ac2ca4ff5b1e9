package sender_test

import (
	"context"
	"fmt"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/internal/anviltest"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/store"
)

// A recipient can make a payment more expensive after its gas was estimated, by emptying its
// balance. Without a margin one wallet could burn the sender's gas and delay its settlement, as
// often as it likes.
func TestARecipientThatEmptiesItsBalanceDoesNotMakeATransactionFail(t *testing.T) {
	t.Parallel()
	for _, payments := range []int{1, 3} {
		t.Run(fmt.Sprint("settle", payments), func(t *testing.T) {
			t.Parallel()
			r := newTestSender(t, 1, sqliteDatabase(t))
			mission, token := r.Missions[0], servicetoken.NewServiceToken()
			settlement := sortie.Settlement{MissionKey: sortie.MissionKey(mission)}
			for slot := range payments {
				recipient := devnet.WalletByRole([]devnet.Role{devnet.RoleContributor1, devnet.RoleContributor2, devnet.RoleContributor3}[slot]).Address
				settlement.Payments = append(settlement.Payments, sortie.Payment{Slot: uint32(slot), Recipient: recipient, SubmissionKey: sortie.SubmissionKey(fmt.Sprint(slot))})
				r.transfer(devnet.WalletByRole(devnet.RoleDeployer).Address, token.PackTransfer(common.Address(recipient), big.NewInt(1)))
			}
			r.mine()
			r.config.Prepare = map[string]sender.Prepare{store.IntentSettle: func(ctx context.Context, _ store.Intent) (sortie.Address, []byte, error) {
				signature, err := r.Settler.SignSettlement(ctx, settlement)
				return r.Deployment.Factory, settlement.Calldata(signature), err
			}}
			r.restart()
			err := r.db.Tx(context.Background(), func(tx *store.Tx) error {
				_, _, err := tx.AddIntent(store.IntentSettle, "1", r.Deployment.ChainID, r.key.Address())
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			r.step() // it is estimated and sent
			for _, payment := range settlement.Payments {
				r.transfer(payment.Recipient, token.PackTransfer(common.Address{0xdd}, big.NewInt(1))) // mined before it, at a higher price
			}
			r.mine()
			for _, payment := range settlement.Payments {
				if left := r.tokensOf(payment.Recipient); left.Int64() != 1000 {
					t.Errorf("slot %d: the recipient has %s, want 1000: its balance was emptied before, and the settlement paid it", payment.Slot, left)
				}
			}
			r.wantAlarm(sender.AlarmReverted, false)
		})
	}
}

// transfer makes an account call the service token, at a higher price than the sender's.
func (r *testSender) transfer(from sortie.Address, data []byte) {
	r.t.Helper()
	r.RPC(nil, "anvil_impersonateAccount", from)
	r.RPC(nil, "anvil_setBalance", from, "0x8ac7230489e80000")
	r.RPC(nil, "eth_sendTransaction", map[string]any{
		"from": from, "to": r.Deployment.ServiceToken, "data": hexutil.Encode(data), "gas": "0x30d40",
		"maxFeePerGas": fmt.Sprintf("0x%x", 900*anviltest.Gwei), "maxPriorityFeePerGas": fmt.Sprintf("0x%x", 800*anviltest.Gwei),
	})
}

func (r *testSender) tokensOf(account sortie.Address) *big.Int {
	r.t.Helper()
	token, to := servicetoken.NewServiceToken(), common.Address(r.Deployment.ServiceToken)
	answer, err := r.Client.CallContract(context.Background(), ethereum.CallMsg{To: &to, Data: token.PackBalanceOf(common.Address(account))}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return new(big.Int).SetBytes(answer)
}
