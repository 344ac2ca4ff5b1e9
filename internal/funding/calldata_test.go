package funding

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/sortie-labs/sortie"
)

// The check before a quote is returned must find any difference between the calldata and the draft.
func TestCheckCalldataFindsEveryDifference(t *testing.T) {
	t.Parallel()
	draft := func() sortie.MissionAuthorization {
		return sortie.MissionAuthorization{
			MissionID: "entrance-7k2m9qx4", Token: sortie.Address{1}, RewardPerSubmission: big.NewInt(2_500_000),
			TargetCount: 4, Creator: sortie.Address{2}, Nonce: sortie.Hash{3}, Deadline: 1_770_001_800,
		}
	}
	signed := bytes.Repeat([]byte{7}, sortie.SignatureLength)
	if err := checkCalldata(draft().Calldata(signed), draft(), signed); err != nil {
		t.Fatalf("checkCalldata of the draft's calldata: got %v, want no error", err)
	}
	const (
		identity = "check calldata: its mission, nonce or deadline differs from the draft's"
		money    = "check calldata: its token, reward or target count differs from the draft's"
	)
	cases := map[string]struct {
		alter func(*sortie.MissionAuthorization)
		want  string
	}{
		"mission id": {func(a *sortie.MissionAuthorization) { a.MissionID += "x" }, identity},
		"nonce":      {func(a *sortie.MissionAuthorization) { a.Nonce[31] = 1 }, identity},
		"deadline":   {func(a *sortie.MissionAuthorization) { a.Deadline++ }, identity},
		"token":      {func(a *sortie.MissionAuthorization) { a.Token[19] = 1 }, money},
		"reward":     {func(a *sortie.MissionAuthorization) { a.RewardPerSubmission = big.NewInt(2_500_001) }, money},
		"target":     {func(a *sortie.MissionAuthorization) { a.TargetCount++ }, money},
		"creator":    {func(a *sortie.MissionAuthorization) { a.Creator[19] = 1 }, "check calldata: its creator differs from the draft's"},
	}
	for name, bad := range cases {
		written := draft()
		bad.alter(&written)
		if err := checkCalldata(written.Calldata(signed), draft(), signed); err == nil || err.Error() != bad.want {
			t.Errorf("%s: got %v, want %s", name, err, bad.want)
		}
	}
	other := bytes.Repeat([]byte{8}, sortie.SignatureLength)
	if err := checkCalldata(draft().Calldata(other), draft(), signed); err == nil {
		t.Error("calldata with another signature: got no error, want one")
	}
	if err := checkCalldata(append(draft().Calldata(signed), 0), draft(), signed); err == nil {
		t.Error("calldata with an extra byte at the end: got no error, want one")
	}
}
