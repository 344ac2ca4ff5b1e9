package sortie_test

import (
	"errors"
	"testing"

	"github.com/sortie-labs/sortie"
)

// receiptOf is a receipt for the first payment of the settlement vector, signed by the vectors'
// service key.
func receiptOf(t *testing.T, v vectors) sortie.Receipt {
	t.Helper()
	key := mustKey(t, v.Keys.Service.PrivateKey)
	signer := key.Address()
	settlement := sortie.Settlement{MissionKey: sortie.MissionKey("m-1"), Payments: []sortie.Payment{v.Settlement.Payments[0]}}
	settlement.Payments[0].SubmissionKey = sortie.SubmissionKey("sub_1")
	return sortie.Receipt{
		Settlement: settlement, Signature: key.SignDigest(settlement.Digest(v.domain().Separator())), Signer: &signer,
		ChainID: v.Domain.ChainID, Factory: v.Domain.VerifyingContract, MissionID: "m-1", SubmissionID: "sub_1",
		Token: sortie.TokenUSDC, AmountBaseUnits: "2500000",
	}
}

// The vectors' signature covers several payments, so it is checked on the settlement.
func TestReceiptVerifyReturnsSigner(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	receipt := receiptOf(t, v)
	got, err := receipt.Verify(v.domain())
	if err != nil || got != v.Keys.Service.Address {
		t.Errorf("signer: got %s, %v; want %s", got, err, v.Keys.Service.Address)
	}
	equal(t, "domain", receipt.Domain(), v.domain())
	settled, err := sortie.RecoverAddress(v.Settlement.Settlement.Digest(v.domain().Separator()), v.Settlement.Signature)
	if err != nil || settled != v.Keys.Service.Address {
		t.Errorf("signer of the vector: got %s, %v; want %s", settled, err, v.Keys.Service.Address)
	}
	earlier := sortie.Receipt{Settlement: receipt.Settlement, Signature: receipt.Signature}
	if got, err := earlier.Verify(v.domain()); err != nil || got != v.Keys.Service.Address {
		t.Errorf("signer of a receipt without the later members: got %s, %v; want %s", got, err, v.Keys.Service.Address)
	}
}

func TestReceiptVerifyRefusesAlteredReceipts(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	for name, test := range map[string]struct {
		alter func(*sortie.Receipt)
		field string
	}{
		"chain id":                {func(r *sortie.Receipt) { r.ChainID++ }, "chainId"},
		"factory":                 {func(r *sortie.Receipt) { r.Factory[0] ^= 1 }, "factory"},
		"mission key":             {func(r *sortie.Receipt) { r.MissionKey[0] ^= 1 }, "missionKey"},
		"mission id":              {func(r *sortie.Receipt) { r.MissionID = "m-2" }, "missionKey"},
		"mission key and id":      {func(r *sortie.Receipt) { r.MissionID = "m-2"; r.MissionKey = sortie.MissionKey("m-2") }, "signature"},
		"submission id":           {func(r *sortie.Receipt) { r.SubmissionID = "sub_2" }, "payments[0].submissionKey"},
		"submission key":          {func(r *sortie.Receipt) { r.Payments[0].SubmissionKey[0] ^= 1 }, "payments[0].submissionKey"},
		"slot":                    {func(r *sortie.Receipt) { r.Payments[0].Slot++ }, "signature"},
		"slot beyond the limit":   {func(r *sortie.Receipt) { r.Payments[0].Slot = 1 << 24 }, "payments[0].slot"},
		"recipient":               {func(r *sortie.Receipt) { r.Payments[0].Recipient[0] ^= 1 }, "signature"},
		"zero recipient":          {func(r *sortie.Receipt) { r.Payments[0].Recipient = sortie.Address{} }, "payments[0].recipient"},
		"factory as recipient":    {func(r *sortie.Receipt) { r.Payments[0].Recipient = r.Factory }, "payments[0].recipient"},
		"signature":               {func(r *sortie.Receipt) { r.Signature[40] ^= 1 }, "signature"},
		"short signature":         {func(r *sortie.Receipt) { r.Signature = r.Signature[:64] }, "signature"},
		"signer":                  {func(r *sortie.Receipt) { r.Signer = new(sortie.Address) }, "signature"},
		"no payment":              {func(r *sortie.Receipt) { r.Payments = nil }, "payments"},
		"two payments":            {func(r *sortie.Receipt) { r.Payments = append(r.Payments, r.Payments[0]) }, "payments"},
		"other domain, same text": {func(r *sortie.Receipt) { r.ChainID, r.Factory = 0, sortie.Address{}; r.Payments[0].Slot++ }, "signature"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receipt := receiptOf(t, loadVectors(t))
			test.alter(&receipt)
			signer, err := receipt.Verify(v.domain())
			var fault *sortie.ReceiptError
			if !errors.As(err, &fault) || fault.Field != test.field {
				t.Errorf("got %s, %v; want an error of %s", signer, err, test.field)
			}
		})
	}
}
