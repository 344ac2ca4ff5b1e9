package chain

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/big"

	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
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
func (m contractMission) holds(draft *store.Draft) bool {
	return m.creator == draft.Wallet && m.token == draft.TokenAddress && m.reward.ToBig().Cmp(draft.Reward) == 0 &&
		m.targetCount == uint64(draft.TargetCount)
}

// receipt is what became of a transaction.
type receipt struct {
	transaction sortie.Hash
	blockHash   sortie.Hash
	block       uint64
	succeeded   bool
	events      []store.ChainEvent // those we know, of whatever contract
	byKey       map[sortie.Hash][]int

	// What it cost, in wei; nil where the node does not say. Chains that keep their data on another
	// one take a fee for that.
	gasUsed, gasPrice, l1Fee *big.Int
}

// cost is what the transaction cost in gwei, 0 where it is not known.
func (one *receipt) cost() uint64 {
	if one.gasUsed == nil || one.gasPrice == nil {
		return 0
	}
	cost := new(big.Int).Mul(one.gasUsed, one.gasPrice)
	if one.l1Fee != nil {
		cost.Add(cost, one.l1Fee)
	}
	if cost.Div(cost, big.NewInt(params.GWei)); !cost.IsUint64() {
		return math.MaxUint64
	}
	return cost.Uint64()
}

func receiptCall(transaction sortie.Hash) call {
	return call{"eth_getTransactionReceipt", `["` + transaction.String() + `"]`}
}

// receipt reads a reply to a receiptCall.
func (r reply) receipt() (*receipt, error) {
	text, err := r.value()
	if err != nil {
		return nil, err
	}
	const transaction, blockHash, block, status, logs, all = 1, 2, 4, 8, 16, 31
	found := 0
	one := new(receipt)
	err = eachMember(text, func(name, value []byte) (err error) {
		member := 0
		switch string(name) {
		case "transactionHash":
			member = transaction
			err = fixedBytes(one.transaction[:], value)
		case "blockHash":
			member = blockHash
			err = fixedBytes(one.blockHash[:], value)
		case "blockNumber":
			member = block
			one.block, err = quantity(value)
		case "status":
			member = status
			one.succeeded = bytes.Equal(value, []byte(`"0x1"`))
		case "logs":
			member = logs
			one.events, err = knownEvents(value)
		case "gasUsed":
			one.gasUsed, _ = wei(value)
		case "effectiveGasPrice":
			one.gasPrice, _ = wei(value)
		case "l1Fee":
			one.l1Fee, _ = wei(value)
		}
		if found&member != 0 {
			return badAnswer("a receipt that names its %s twice", name)
		}
		found |= member
		return err
	})
	if err == nil && found != all {
		err = badAnswer("a receipt that lacks one of its members")
	}
	one.byKey = make(map[sortie.Hash][]int, len(one.events))
	for i := range one.events {
		key := one.events[i].MissionKey
		one.byKey[key] = append(one.byKey[key], i)
	}
	return one, err
}

// hasEvent refuses a receipt that does not have exactly this event.
func (one *receipt) hasEvent(event *store.ChainEvent) error {
	switch {
	case one.transaction != event.Transaction:
		return badAnswer("the receipt of another transaction")
	case one.blockHash != event.BlockHash || one.block != event.Block:
		return badAnswer("the transaction is in another block")
	case !one.succeeded:
		return badAnswer("the transaction failed")
	}
	for _, i := range one.byKey[event.MissionKey] {
		if same(event, &one.events[i]) {
			return nil
		}
	}
	return badAnswer("the receipt has no such log")
}

// same compares two fundings or closings. A mission closes once, so that of a closing its place in
// the block need not be known.
func same(a, b *store.ChainEvent) bool {
	if a.Block != b.Block || a.BlockHash != b.BlockHash || a.Transaction != b.Transaction || a.Factory != b.Factory || a.MissionKey != b.MissionKey {
		return false
	}
	switch {
	case a.Funded != nil && b.Funded != nil:
		x, y := a.Funded, b.Funded
		return a.LogIndex == b.LogIndex && x.MissionID == y.MissionID && x.Creator == y.Creator && x.Token == y.Token && x.Reward.Cmp(y.Reward) == 0 &&
			x.TargetCount.Cmp(y.TargetCount) == 0 && x.Nonce == y.Nonce && x.ReclaimAfter == y.ReclaimAfter
	case a.Closed != nil && b.Closed != nil:
		x, y := a.Closed, b.Closed
		return x.Refund.Cmp(y.Refund) == 0 && x.RefundDeferred == y.RefundDeferred && x.Reason == y.Reason
	}
	return false
}

// knownEvents reads those of a receipt's logs that are events of ours. Others may be of any shape.
func knownEvents(logs []byte) (events []store.ChainEvent, err error) {
	var l rawLog
	err = eachElement(logs, func(text []byte) (int, error) {
		length, err := l.parse(text)
		if err != nil {
			return 0, err
		}
		if event, known, err := l.event(); known && err == nil && !l.removed {
			events = append(events, event)
		}
		return length, nil
	})
	return events, err
}
