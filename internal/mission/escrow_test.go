package mission_test

import (
	"math/big"
	"slices"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

func someEscrow() mission.Escrow {
	return mission.Escrow{
		ChainID: 31337, Factory: sortie.Address{1}, MissionKey: sortie.Hash{2}, MissionID: "photo-1", Creator: sortie.Address{3},
		Token: sortie.Address{4}, Reward: big.NewInt(2_500_000), TargetCount: big.NewInt(4), Nonce: sortie.Hash{5},
	}
}

func TestEveryFieldOfAnEscrowCounts(t *testing.T) {
	t.Parallel()
	wide, _ := new(big.Int).SetString("18446744073709551620", 10) // 2^64 + 4
	for name, change := range map[string]func(*mission.Escrow){
		"chainId":             func(e *mission.Escrow) { e.ChainID++ },
		"factory":             func(e *mission.Escrow) { e.Factory[19]++ },
		"missionKey":          func(e *mission.Escrow) { e.MissionKey[31]++ },
		"missionId":           func(e *mission.Escrow) { e.MissionID += " " },
		"creator":             func(e *mission.Escrow) { e.Creator[19]++ },
		"token":               func(e *mission.Escrow) { e.Token[19]++ },
		"rewardPerSubmission": func(e *mission.Escrow) { e.Reward = big.NewInt(2_500_001) },
		"targetCount":         func(e *mission.Escrow) { e.TargetCount = wide },
		"nonce":               func(e *mission.Escrow) { e.Nonce[0]++ },
	} {
		other := someEscrow()
		change(&other)
		if got := someEscrow().Differences(other); !slices.Equal(got, []string{name}) {
			t.Errorf("escrow with another %s: got differences %q, want it alone", name, got)
		}
	}
	if got := someEscrow().Differences(someEscrow()); got != nil {
		t.Errorf("equal escrows: got differences %q, want none", got)
	}
}

func TestMissingNumbersDiffer(t *testing.T) {
	t.Parallel()
	missing := someEscrow()
	missing.Reward, missing.TargetCount = nil, nil
	want := []string{"rewardPerSubmission", "targetCount"}
	for _, other := range []mission.Escrow{someEscrow(), missing} {
		if got := missing.Differences(other); !slices.Equal(got, want) {
			t.Errorf("escrows with missing numbers: got differences %q, want %q", got, want)
		}
		if got := other.Differences(missing); !slices.Equal(got, want) {
			t.Errorf("escrows with missing numbers: got differences %q, want %q", got, want)
		}
	}
}
