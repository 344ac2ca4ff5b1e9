package e2e

import (
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
)

// A new settler is granted its role, the service is restarted with it, and the old one loses its
// role. Open receipts then have the new signature, for the same recipient, and the contract pays
// them. The receipt of a paid slot does not change.
func TestReceiptsAreRenewedForANewSettler(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, append(chain.keepingFiles(sqliteIn(t), t.TempDir()), "SORTIE_SENDER="))
	mission := f.publish(photoMission(3))
	old, next := chain.wallet("settler"), chain.wallet("creator2")
	paid, open := f.submit("contributor1", mission, photo(1)), f.submit("contributor2", mission, photo(2))
	for _, s := range []submission{paid, open} {
		f.awaitSigner(s, old)
	}
	f.redeems(mission, paid, f.own(paid).Receipt)
	f.awaitTip()
	before := f.own(open).Receipt

	factory := missionfactory.NewMissionFactory()
	role := f.settlerRole(mission.quote.FactoryAddress)
	chain.transact("deployer", mission.quote.FactoryAddress, factory.PackGrantRole(role, common.Address(next)))
	chain.mine(1)
	f.environment = append(f.environment, "SORTIE_SETTLER=dev:5") // the last value counts
	f.restart()
	f.awaitSigner(open, next)
	after := f.own(open).Receipt
	if after.MissionKey != before.MissionKey || !slices.Equal(after.Payments, before.Payments) || slices.Equal(after.Signature, before.Signature) {
		t.Errorf("the receipt was %+v and is %+v, want the same payment with another signature", before, after)
	}
	f.awaitSigner(paid, old)

	chain.transact("deployer", mission.quote.FactoryAddress, factory.PackRevokeRole(role, common.Address(old)))
	chain.mine(1)
	refused := chain.transact("creator2", mission.quote.FactoryAddress, before.Calldata(before.Signature))
	chain.mine(1)
	if receipt, err := chain.eth.TransactionReceipt(f.ctx, refused); err != nil || receipt.Status != types.ReceiptStatusFailed {
		t.Errorf("the receipt of the revoked settler: %+v, %v; want a transaction that failed", receipt, err)
	}
	f.redeems(mission, open, after)
	third := f.submit("contributor3", mission, photo(3))
	f.awaitSigner(third, next)
	f.redeems(mission, third, f.own(third).Receipt)
}

// awaitSigner waits until the receipt of a submission names this settler, and checks its signature.
func (f *following) awaitSigner(s submission, want sortie.Address) {
	f.t.Helper()
	f.service.await(f.t, "receipt of "+s.id+" by "+want.String(), func() bool {
		receipt := f.own(s).Receipt
		return receipt != nil && receipt.Signer != nil && *receipt.Signer == want
	})
	receipt := f.own(s).Receipt
	domain := sortie.Domain{ChainID: f.chain.ChainID, Factory: f.chain.FactoryAddress}
	if got, err := sortie.RecoverAddress(receipt.Digest(domain.Separator()), receipt.Signature); err != nil || got != want {
		f.t.Errorf("the receipt of %s is signed by %s, %v; want %s", s.id, got, err, want)
	}
}

// settlerRole is the contract's name of the role.
func (f *following) settlerRole(factory sortie.Address) [32]byte {
	f.t.Helper()
	contract := missionfactory.NewMissionFactory()
	var answer sortie.Bytes
	f.chain.call(&answer, "eth_call", map[string]any{"to": factory, "data": sortie.Bytes(contract.PackSETTLERROLE())}, "latest")
	role, err := contract.UnpackSETTLERROLE(answer)
	if err != nil {
		f.t.Fatal(err)
	}
	return role
}

// redeems sends a receipt to the contract from another account and checks that it pays its
// contributor.
func (f *following) redeems(d drafted, s submission, receipt *sortie.Receipt) {
	f.t.Helper()
	before := f.balance(s.contributor.Wallet())
	f.chain.transact("creator", d.quote.FactoryAddress, receipt.Calldata(receipt.Signature))
	f.chain.mine(1)
	reward, _ := new(big.Int).SetString(d.quote.RewardPerSubmissionBaseUnits, 10)
	if paid := new(big.Int).Sub(f.balance(s.contributor.Wallet()), before); paid.Cmp(reward) != 0 {
		f.t.Errorf("the receipt of %s paid %s base units, want %s", s.id, paid, reward)
	}
}
