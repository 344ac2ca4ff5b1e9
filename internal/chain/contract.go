package chain

import (
	"encoding/hex"

	"github.com/holiman/uint256"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// Mission is what a factory holds of a mission. It is zero for a mission that was never funded.
type Mission struct {
	Creator      sortie.Address
	Token        sortie.Address
	Reward       uint256.Int // base units, for one submission
	TargetCount  uint64
	PaidCount    uint64
	ReclaimAfter uint64 // Unix seconds
	Closed       uint8  // 0: open, 1: closed by the service, 2: reclaimed by its creator
}

// Exists reports whether the mission was ever funded.
func (m Mission) Exists() bool { return !m.Creator.IsZero() }

// MissionCall reads a mission from a factory, in the state after a block given by number or tag.
func MissionCall(factoryAddress sortie.Address, key sortie.Hash, block string) Call {
	return stateCall(factoryAddress, factory.PackMissions(key), `"`+block+`"`)
}

// stateCall is an eth_call in the state after a block given as JSON.
func stateCall(contract sortie.Address, data []byte, block string) Call {
	return Call{"eth_call", `[{"to":"0x` + hex.EncodeToString(contract[:]) + `","data":"0x` + hex.EncodeToString(data) + `"},` + block + `]`}
}

// Mission decodes a reply to a [MissionCall].
func (r Reply) Mission() (m Mission, err error) {
	value, err := r.Value()
	if err != nil {
		return m, err
	}
	data := make(words, missionSize)
	if err := fixedBytes(data, value); err != nil {
		return m, err
	}
	return data.mission()
}

// missionSize is the length of the contract's answer in bytes.
const missionSize = 7 * wordSize

// mission decodes the contract's answer.
func (data words) mission() (m Mission, err error) {
	creator, creatorFits := addressOf(data.word(0))
	token, tokenFits := addressOf(data.word(2))
	target, targetFits := narrow(data.word(3), 24)
	paid, paidFits := narrow(data.word(4), 24)
	reclaimAfter, timeFits := narrow(data.word(5), 40)
	closed, closedFits := narrow(data.word(6), 8)
	m = Mission{
		Creator: creator, Token: token, TargetCount: target, PaidCount: paid, ReclaimAfter: reclaimAfter, Closed: uint8(closed),
	}
	m.Reward.SetBytes(data.word(1))
	if !creatorFits || !tokenFits || !targetFits || !paidFits || !timeFits || !closedFits || m.Reward.BitLen() > 96 || closed > closedByCreator {
		return Mission{}, BadAnswer("a mission that the contract cannot hold")
	}
	return m, nil
}

// Holds reports whether the contract holds the terms of a draft.
func (m Mission) Holds(terms *onchain.Terms) bool {
	return m.Creator == terms.Creator && m.Token == terms.Token && m.Reward.ToBig().Cmp(terms.Reward) == 0 &&
		m.TargetCount == uint64(terms.TargetCount)
}
