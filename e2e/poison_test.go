package e2e

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
)

// Transfers to one recipient burn all gas, so that every settlement with it fails. Its payout is
// set aside under an incident; the others are paid, and the mission stays open. When the token
// works again, the receipt is redeemed and the mission closes.
func TestRecipientThatBurnsGasIsSetAside(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, append(chain.keepingFiles(sqliteIn(t), t.TempDir()), "SORTIE_PAYOUT_INTERVAL=3s", "SORTIE_ACCEPTANCE_HOLD=0s"))
	token, erc20 := chain.Tokens[sortie.TokenService].Address, servicetoken.NewServiceToken()
	plenty := new(big.Int).Exp(big.NewInt(10), big.NewInt(24), nil)
	chain.transact("deployer", token, erc20.PackTransfer(common.Address(chain.wallet("creator")), plenty))
	chain.transact("creator", token, erc20.PackApprove(common.Address(chain.FactoryAddress), plenty))
	chain.mine(1)
	wanted := photoMission(5)
	wanted.Reward.Token = sortie.TokenService
	mission := f.publish(wanted)

	var submissions []submission
	poisonous := f.client("contributor2")
	mend := chain.poison(token, poisonous.Wallet())
	for i, role := range []string{"contributor1", "contributor1", "contributor2", "contributor3", "contributor3"} {
		submissions = append(submissions, f.submit(role, mission, photo(i)))
	}
	bad := submissions[2]
	f.mineUntil(func() bool {
		for _, s := range submissions {
			status := f.own(s).Payout.Status
			if s.id == bad.id && status != sortie.PayoutFailed || s.id != bad.id && status != sortie.PayoutPaid {
				return false
			}
		}
		return true
	})
	if payout := f.own(bad).Payout; !strings.Contains(payout.Reason, "redeem") {
		t.Errorf("the payout that failed says %q, want what its contributor can do", payout.Reason)
	}
	overview, err := f.operator.Chain(f.ctx)
	if err != nil || len(overview.Incidents) != 1 || overview.Incidents[0].Kind != "payout_failed" || overview.Halted {
		t.Errorf("incidents %+v, %v; want one that a payout failed, which does not halt", overview.Incidents, err)
	}
	if n := chain.closings(mission.missionID); n != 0 {
		t.Errorf("the mission was closed with a payout set aside")
	}
	mend()
	receipt := f.own(bad).Receipt
	chain.transact("creator", mission.quote.FactoryAddress, receipt.Calldata(receipt.Signature))
	f.mineUntil(func() bool { return len(f.completions(mission)) == 1 })
	if payout := f.own(bad).Payout; payout.Status != sortie.PayoutPaid || payout.Reason != "" {
		t.Errorf("the payout is %+v after its receipt was redeemed, want paid", payout)
	}
}

// poison makes a token burn all gas of transfers to an account, until it is restored. The token's
// own code runs at another address.
func (a *anvil) poison(token, account sortie.Address) (mend func()) {
	a.t.Helper()
	var code hexutil.Bytes
	a.call(&code, "eth_getCode", token, "latest")
	moved := common.HexToAddress("0x00000000000000000000000000000000C0DE0001")
	a.call(nil, "anvil_setCode", moved, code)
	// Copy the input; for transfer(account, ...) jump to the INVALID at 0x55; otherwise delegate to
	// the moved code and return, at 0x51, or revert, with its result.
	text := fmt.Sprintf("365f5f375f3560e01c63a9059cbb1460043573%x1416605557"+"5f5f365f73%x5af43d5f5f3e6051573d5ffd5b3d5ff35bfe", account[:], moved[:])
	poisoned, err := hex.DecodeString(text)
	if err != nil || !bytes.HasSuffix(poisoned, []byte{0x5b, 0xfe}) || len(poisoned) != 0x57 {
		a.t.Fatalf("code of %d bytes, %v", len(poisoned), err)
	}
	a.call(nil, "anvil_setCode", token, hexutil.Bytes(poisoned))
	return func() { a.call(nil, "anvil_setCode", token, code) }
}
