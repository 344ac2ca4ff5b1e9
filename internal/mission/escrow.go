package mission

import (
	"math/big"

	"github.com/sortie-labs/sortie"
)

// Escrow is the money of one mission in a factory contract: as a draft promises it, or as the chain
// says it was paid in.
type Escrow struct {
	ChainID     uint64
	Factory     sortie.Address
	MissionKey  sortie.Hash
	MissionID   string
	Creator     sortie.Address
	Token       sortie.Address
	Reward      *big.Int // base units, for one submission
	TargetCount *big.Int // the chain's numbers are wider than ours
	Nonce       sortie.Hash
}

// Differences names what differs between two escrows, in the order of the fields; nothing if they
// are the same. A funding counts only when it is exactly the one that was promised.
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

// sameNumber holds a missing number to be different from every number, itself included.
func sameNumber(a, b *big.Int) bool { return a != nil && b != nil && a.Cmp(b) == 0 }
