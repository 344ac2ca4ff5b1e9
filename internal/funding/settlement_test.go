package funding_test

import (
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
)

func TestSettlerRefuses(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	asked := &recordingSigner{Signer: v.signer(t)}
	settler, err := funding.NewSettler(v.domain(), asked)
	if err != nil {
		t.Fatal(err)
	}
	key, to := sortie.Hash{1}, sortie.Address{2}
	pay := func(payments ...sortie.Payment) sortie.Settlement {
		return sortie.Settlement{MissionKey: key, Payments: payments}
	}
	settlements := []struct {
		settlement sortie.Settlement
		want       string
	}{
		{sortie.Settlement{Payments: []sortie.Payment{{Recipient: to}}}, "settlement: the mission key is zero"},
		{pay(), "settlement: it has no payments"},
		{pay(sortie.Payment{Slot: 5}), "settlement: slot 5: the recipient is the zero address"},
		{pay(sortie.Payment{Slot: 100_000, Recipient: to}), "settlement: slot 100000: the highest slot of a mission is 99999"},
		{pay(sortie.Payment{Slot: 1 << 24, Recipient: to}), "settlement: slot 16777216: the highest slot of a mission is 99999"},
		{
			pay(sortie.Payment{Slot: 3, Recipient: to, SubmissionKey: sortie.Hash{1}}, sortie.Payment{Slot: 3, Recipient: to, SubmissionKey: sortie.Hash{2}}),
			"settlement: slot 3 appears twice",
		},
		{
			pay(sortie.Payment{Slot: 3, Recipient: to, SubmissionKey: sortie.Hash{1}}, sortie.Payment{Slot: 4, Recipient: to, SubmissionKey: sortie.Hash{1}}),
			"settlement: slot 4: its submission is paid by another slot",
		},
	}
	for _, bad := range settlements {
		_, err := settler.SignSettlement(t.Context(), bad.settlement)
		failsWith(t, err, bad.want)
	}
	closes := []struct {
		end  sortie.Close
		want string
	}{
		{sortie.Close{}, "close: the mission key is zero"},
		{sortie.Close{MissionKey: key, PaidCount: 100_001}, "close: 100001 slots paid; a mission has at most 100000"},
	}
	for _, bad := range closes {
		_, err := settler.SignClose(t.Context(), bad.end)
		failsWith(t, err, bad.want)
	}
	equal(t, "requests to the signer", asked.count(), 0)

	_, err = settler.SignSettlement(t.Context(), pay(sortie.Payment{Slot: 99_999, Recipient: to}))
	if err != nil {
		t.Errorf("settlement of the last slot: got %v, want no error", err)
	}
	if _, err := settler.SignClose(t.Context(), sortie.Close{MissionKey: key}); err != nil {
		t.Errorf("close with nothing paid: got %v, want no error", err)
	}
}

func TestNewSettlerRefusesNoDomain(t *testing.T) {
	t.Parallel()
	_, err := funding.NewSettler(sortie.Domain{Factory: sortie.Address{1}}, mustSigner(t, [32]byte{31: 1}))
	failsWith(t, err, "chain id 0: want the id of the funding chain")
}
