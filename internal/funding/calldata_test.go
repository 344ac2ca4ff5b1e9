package funding

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/sortie-labs/sortie"
)

// The last look before a quote goes out must see any difference between the calldata and the draft,
// wherever it came from.
func TestProofreadSeesEveryDifference(t *testing.T) {
	t.Parallel()
	meant := func() sortie.MissionAuthorization {
		return sortie.MissionAuthorization{
			MissionID: "entrance-7k2m9qx4", Token: sortie.Address{1}, RewardPerSubmission: big.NewInt(2_500_000),
			TargetCount: 4, Creator: sortie.Address{2}, Nonce: sortie.Hash{3}, Deadline: 1_770_001_800,
		}
	}
	signed := bytes.Repeat([]byte{7}, sortie.SignatureLength)
	if err := proofread(meant().Calldata(signed), meant(), signed); err != nil {
		t.Fatalf("the right calldata: %v", err)
	}
	const (
		identity = "proofread: the calldata names another mission, nonce or deadline than the draft"
		money    = "proofread: the calldata moves other money than the draft"
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
		"creator":    {func(a *sortie.MissionAuthorization) { a.Creator[19] = 1 }, "proofread: the calldata names another creator than the draft"},
	}
	for name, bad := range cases {
		written := meant()
		bad.alter(&written)
		if err := proofread(written.Calldata(signed), meant(), signed); err == nil || err.Error() != bad.want {
			t.Errorf("%s: got %v, want %s", name, err, bad.want)
		}
	}
	other := bytes.Repeat([]byte{8}, sortie.SignatureLength)
	if err := proofread(meant().Calldata(other), meant(), signed); err == nil {
		t.Error("another signature in the calldata was not seen")
	}
	if err := proofread(append(meant().Calldata(signed), 0), meant(), signed); err == nil {
		t.Error("a byte behind the calldata was not seen")
	}
}
