package chain

import (
	"encoding/hex"

	"github.com/holiman/uint256"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// contractMission is what a factory holds of a mission. All is zero of one that was never funded.
type contractMission struct {
	creator      sortie.Address
	token        sortie.Address
	reward       uint256.Int // base units, for one submission
	targetCount  uint64
	paidCount    uint64
	reclaimAfter uint64 // Unix seconds
	closed       uint8  // 0: open, 1: closed by the service, 2: reclaimed by its creator
}

// exists reports whether the mission was ever funded.
func (m contractMission) exists() bool { return !m.creator.IsZero() }

// missionCall asks a factory for a mission, in the state after a block given by number or tag.
func missionCall(factoryAddress sortie.Address, key sortie.Hash, block string) call {
	return stateCall(factoryAddress, factory.PackMissions(key), `"`+block+`"`)
}

// stateCall calls a contract without a transaction, in the state after a block given as JSON.
func stateCall(contract sortie.Address, data []byte, block string) call {
	return call{"eth_call", `[{"to":"0x` + hex.EncodeToString(contract[:]) + `","data":"0x` + hex.EncodeToString(data) + `"},` + block + `]`}
}

// mission reads a reply to a missionCall.
func (r reply) mission() (m contractMission, err error) {
	value, err := r.value()
	if err != nil {
		return m, err
	}
	data := make(words, missionSize)
	if err := fixedBytes(data, value); err != nil {
		return m, err
	}
	return data.mission()
}

// missionSize is how many bytes the contract answers with.
const missionSize = 7 * wordSize

// mission reads the contract's answer.
func (data words) mission() (m contractMission, err error) {
	creator, creatorFits := addressOf(data.word(0))
	token, tokenFits := addressOf(data.word(2))
	target, targetFits := narrow(data.word(3), 24)
	paid, paidFits := narrow(data.word(4), 24)
	reclaimAfter, timeFits := narrow(data.word(5), 40)
	closed, closedFits := narrow(data.word(6), 8)
	m = contractMission{
		creator: creator, token: token, targetCount: target, paidCount: paid, reclaimAfter: reclaimAfter, closed: uint8(closed),
	}
	m.reward.SetBytes(data.word(1))
	if !creatorFits || !tokenFits || !targetFits || !paidFits || !timeFits || !closedFits || m.reward.BitLen() > 96 || closed > closedByCreator {
		return contractMission{}, badAnswer("a mission that the contract cannot hold")
	}
	return m, nil
}

// holds reports whether the contract holds what a draft promised.
func (m contractMission) holds(terms *onchain.Terms) bool {
	return m.creator == terms.Creator && m.token == terms.Token && m.reward.ToBig().Cmp(terms.Reward) == 0 &&
		m.targetCount == uint64(terms.TargetCount)
}
