package chain

import (
	"context"
	"fmt"
	"math/big"
	"reflect"
	"strings"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
)

// PaidSlots reads which slots of a mission are paid in the newest block, by [Quorum], because
// unpaid slots are paid and missions with paid slots are closed.
func (n *Nodes) PaidSlots(ctx context.Context, factoryAddress sortie.Address, missionKey sortie.Hash, slots []uint32) ([]bool, error) {
	calls := make([]Call, len(slots))
	for i, slot := range slots {
		calls[i] = stateCall(factoryAddress, factory.PackIsPaid(missionKey, new(big.Int).SetUint64(uint64(slot))), `"latest"`)
	}
	answers, err := n.amountsAt(ctx, calls)
	if err != nil {
		return nil, fmt.Errorf("ask factory %s which slots of mission %s are paid: %w", factoryAddress, missionKey, err)
	}
	paid := make([]bool, len(slots))
	for i, answer := range answers {
		paid[i] = answer.Sign() != 0
	}
	return paid, nil
}

// DailyCap is the limit of a factory's payouts of a token in a UTC day.
type DailyCap struct{ Limit, Spent *big.Int }

// Room is the amount left today, nil without a limit.
func (c DailyCap) Room() *big.Int {
	if c.Limit.Cmp(noCap) == 0 {
		return nil
	}
	room := new(big.Int).Sub(c.Limit, c.Spent)
	if room.Sign() < 0 { // the limit was lowered
		room.SetInt64(0)
	}
	return room
}

// DailyCap reads the cap of a token and its use, by [Quorum].
func (n *Nodes) DailyCap(ctx context.Context, factoryAddress, token sortie.Address) (DailyCap, error) {
	type amounts struct{ limit, spent string } // comparable
	answer, err := Quorum(ctx, n, func(ctx context.Context, node *Node) (amounts, error) {
		caps, err := ask(ctx, node, factoryAddress, factory.PackDailyCaps(common.Address(token)), factory.UnpackDailyCaps)
		if err != nil {
			return amounts{}, err
		}
		return amounts{caps.Limit.String(), caps.Spent.String()}, n.stillOnChain(ctx, node)
	})
	if err != nil {
		return DailyCap{}, fmt.Errorf("ask factory %s for the daily cap of %s: %w", factoryAddress, token, err)
	}
	limit, _ := new(big.Int).SetString(answer.limit, 10)
	spent, _ := new(big.Int).SetString(answer.spent, 10)
	return DailyCap{limit, spent}, nil
}

// Transfers reads whether a token lets a factory transfer an amount to an account, by [Quorum]. A
// settlement during a pause of the token would turn all its payments into deferred credits.
func (n *Nodes) Transfers(ctx context.Context, token, factoryAddress, account sortie.Address, amount *big.Int) (bool, error) {
	transfers, err := Quorum(ctx, n, func(ctx context.Context, node *Node) (bool, error) {
		transfers, err := transfers(ctx, node, token, factoryAddress, account, amount)
		if err != nil {
			return false, err
		}
		return transfers, n.stillOnChain(ctx, node)
	})
	if err != nil {
		return false, fmt.Errorf("ask whether token %s transfers: %w", token, err)
	}
	return transfers, nil
}

// transfers reads from one node whether a token lets a factory transfer an amount to an account.
func transfers(ctx context.Context, node Reader, token, factoryAddress, account sortie.Address, amount *big.Int) (bool, error) {
	to := common.Address(token)
	answer, err := node.CallContract(ctx, ethereum.CallMsg{
		From: common.Address(factoryAddress), To: &to, Data: servicetoken.NewServiceToken().PackTransfer(common.Address(account), amount),
	}, nil)
	if isRevert(err) {
		return false, nil
	}
	if err != nil {
		return false, unreachable(node, err)
	}
	return len(answer) == 0 || len(answer) == wordSize && answer[wordSize-1] == 1, nil // some tokens return nothing, some return false
}

// Verdict is the result of a simulated settlement.
type Verdict int

// The verdicts.
const (
	Works      Verdict = iota
	Waits              // nothing can be settled now: the contract is paused, over its cap, or does not accept the settler
	Gone               // the contract does not have the mission, or has closed it
	BadPayment         // one payment is refused in any batch
	TooLarge           // the batch is refused: it needs too much gas, or one of its payments cannot be made
)

// Trial is a verdict with its reason.
type Trial struct {
	Verdict Verdict
	Slot    uint64 // of the refused payment
	Reason  string // the contract's error
}

// TrySettlement simulates a settlement, by [Quorum], because payouts are set aside on the result. A
// settlement that needs more than maxGas, or more than half of a block, is too large.
func (n *Nodes) TrySettlement(ctx context.Context, from, factoryAddress sortie.Address, data []byte, maxGas uint64) (Trial, error) {
	to := common.Address(factoryAddress)
	trial, err := Quorum(ctx, n, func(ctx context.Context, node *Node) (Trial, error) {
		needed, err := node.EstimateGas(ctx, ethereum.CallMsg{From: common.Address(from), To: &to, Data: data})
		if err != nil {
			if !IsAnswer(err) {
				return Trial{}, unreachable(node, err)
			}
			trial, known := judgeRefusal(err)
			if !known {
				return Trial{}, node.Redact(err)
			}
			return trial, n.stillOnChain(ctx, node)
		}
		head, err := node.HeaderByNumber(ctx, nil)
		if err != nil {
			return Trial{}, unreachable(node, err)
		}
		if WithGasMargin(needed, data) > min(maxGas, head.GasLimit/2) {
			return Trial{Verdict: TooLarge, Reason: "it takes too much gas"}, n.stillOnChain(ctx, node)
		}
		return Trial{}, n.stillOnChain(ctx, node)
	})
	if err != nil {
		return Trial{}, fmt.Errorf("try a settlement: %w", err)
	}
	return trial, nil
}

// judgeRefusal classifies a node's error for a settlement. known is false for errors that do not
// come from the contract.
func judgeRefusal(err error) (Trial, bool) {
	data := refusalData(err)
	if len(data) < 4 {
		text := strings.ToLower(err.Error())
		if strings.Contains(text, "gas required exceeds") || strings.Contains(text, "out of gas") {
			return Trial{Verdict: TooLarge, Reason: "it takes too much gas"}, true
		}
		return Trial{Verdict: TooLarge, Reason: "the contract refuses it without a reason"}, isRevert(err)
	}
	reason, unpackErr := factory.UnpackError(data)
	if unpackErr != nil || reason == nil {
		return Trial{Verdict: TooLarge, Reason: fmt.Sprintf("it is refused with the error 0x%x", data[:4])}, true
	}
	name := strings.TrimPrefix(reflect.Indirect(reflect.ValueOf(reason)).Type().Name(), "MissionFactory")
	switch refusal := reason.(type) {
	case *missionfactory.MissionFactoryEnforcedPause, *missionfactory.MissionFactoryDailyCapExceeded, *missionfactory.MissionFactoryUnauthorizedSigner:
		return Trial{Verdict: Waits, Reason: name}, true
	case *missionfactory.MissionFactoryUnknownMission, *missionfactory.MissionFactoryMissionAlreadyClosed:
		return Trial{Verdict: Gone, Reason: name}, true
	case *missionfactory.MissionFactoryInvalidRecipient:
		return Trial{Verdict: BadPayment, Slot: refusal.Slot.Uint64(), Reason: name}, true
	case *missionfactory.MissionFactorySlotOutOfRange:
		return Trial{Verdict: BadPayment, Slot: refusal.Slot.Uint64(), Reason: name}, true
	default:
		return Trial{Verdict: TooLarge, Reason: name}, true
	}
}

// WithGasMargin adds a margin to an estimate: a tenth, and for each payment the cost of filling a
// balance that its owner may have emptied since. A payment is three words of the call. Unused gas
// costs nothing.
func WithGasMargin(estimated uint64, data []byte) uint64 {
	const payment, fill = 3 * wordSize, 20_000
	return estimated + estimated/10 + uint64(len(data)/payment)*fill
}
