package mission

import (
	"math/big"

	"github.com/sortie-labs/sortie"
)

// Terms is the money of a mission: the payment for one accepted submission, and the budget that the
// creator locks for all of them. All amounts are exact.
type Terms struct {
	Token       sortie.Token
	TargetCount int
	Reward      *big.Int // base units, for one submission
	Budget      *big.Int // base units: Reward x TargetCount
	decimals    int
}

// Terms computes the mission's terms for a reward token with the given decimals.
//
// The error is a [*sortie.Error] of code validation_failed when the reward cannot be paid exactly
// in that token.
func (n Normalized) Terms(decimals int) (Terms, error) {
	m := &n.mission
	reward, err := sortie.ParseUnits(string(m.Reward.Amount), decimals)
	if err != nil || reward.BitLen() > sortie.MaxRewardBits {
		var found faults
		found.add("reward.amount", faultTooPrecise, "cannot be paid exactly in %s, which has %d decimals", m.Reward.Token, decimals)
		return Terms{}, found.invalid().Because(err)
	}
	return Terms{
		Token:       m.Reward.Token,
		TargetCount: m.TargetCount,
		Reward:      reward,
		Budget:      new(big.Int).Mul(reward, big.NewInt(int64(m.TargetCount))),
		decimals:    decimals,
	}, nil
}

// Total returns the budget in the form that the API shows.
func (t Terms) Total() sortie.Budget {
	return sortie.Budget{Token: t.Token, Amount: sortie.FormatUnits(t.Budget, t.decimals), BaseUnits: t.Budget.String()}
}
