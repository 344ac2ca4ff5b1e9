package mission

import (
	"math/big"

	"github.com/sortie-labs/sortie"
)

// Escrow is the money of one mission in a factory contract: as quoted for a draft, or as funded on
// chain.
type Escrow struct {
	ChainID     uint64
	Factory     sortie.Address
	MissionKey  sortie.Hash
	MissionID   string
	Creator     sortie.Address
	Token       sortie.Address
	Reward      *big.Int // base units, for one submission
	TargetCount *big.Int // the contract's type is wider than int
	Nonce       sortie.Hash
}

// Differences returns the names of the fields in which two escrows differ, in the order of the
// fields; empty if they are equal. A funding counts only if it equals the quoted escrow.
func (e Escrow) Differences(other Escrow) []string {
	var names []string
	differ := func(name string, yes bool) {
		if yes {
			names = append(names, name)
		}
	}
	differ("chainId", e.ChainID != other.ChainID)
	differ("factory", e.Factory != other.Factory)
	differ("missionKey", e.MissionKey != other.MissionKey)
	differ("missionId", e.MissionID != other.MissionID)
	differ("creator", e.Creator != other.Creator)
	differ("token", e.Token != other.Token)
	differ("rewardPerSubmission", !sameNumber(e.Reward, other.Reward))
	differ("targetCount", !sameNumber(e.TargetCount, other.TargetCount))
	differ("nonce", e.Nonce != other.Nonce)
	return names
}

// sameNumber reports whether two numbers are equal. A missing number is not equal to any number.
func sameNumber(a, b *big.Int) bool { return a != nil && b != nil && a.Cmp(b) == 0 }
