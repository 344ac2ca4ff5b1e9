package service

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
)

// paymentKey identifies a slot of a mission.
type paymentKey struct {
	mission common.Hash
	slot    uint64
}

// moneyPayment is the payment of a slot on the chain.
type moneyPayment struct {
	block       uint64
	transaction string
	recipient   sortie.Address
	submission  sortie.Hash
	amount      *big.Int
	deferred    bool
}

// moneyMission is a mission as its events describe it.
type moneyMission struct {
	token, creator sortie.Address
	reward, target *big.Int
	block          uint64
	closed         *missionfactory.MissionFactoryMissionClosed
}

// moneyLogs sums up the events of the factory on the canonical chain.
type moneyLogs struct {
	missions map[common.Hash]*moneyMission
	payments map[paymentKey]moneyPayment
	balances map[holding]*big.Int
	credits  map[holding]*big.Int
}

func (c *moneyChain) factoryLogs(m *moneyMachine) *moneyLogs {
	m.t.Helper()
	found, err := c.eth.FilterLogs(context.Background(), ethereum.FilterQuery{
		FromBlock: new(big.Int).SetUint64(c.setup.block), Addresses: []common.Address{common.Address(c.deployment.Factory)},
	})
	m.must(err)
	logs := &moneyLogs{
		missions: make(map[common.Hash]*moneyMission), payments: make(map[paymentKey]moneyPayment),
		balances: make(map[holding]*big.Int), credits: make(map[holding]*big.Int),
	}
	for place, balance := range c.setup.balances {
		logs.balances[place] = new(big.Int).Set(balance)
		logs.credits[place] = new(big.Int)
	}
	for i := range found {
		m.must(logs.add(c.deployment.Factory, &found[i]))
	}
	return logs
}

// move adds a transfer of tokens.
func (l *moneyLogs) move(token, from, to sortie.Address, amount *big.Int) {
	l.balances[holding{token, from}].Sub(l.balances[holding{token, from}], amount)
	l.balances[holding{token, to}].Add(l.balances[holding{token, to}], amount)
}

func (l *moneyLogs) add(factory sortie.Address, log *types.Log) error {
	abi := factoryBinding.GetABI()
	event, err := abi.EventByID(log.Topics[0])
	if err != nil {
		return err
	}
	switch event.Name {
	case "MissionFunded":
		funded, err := factoryBinding.UnpackMissionFundedEvent(log)
		if err != nil {
			return err
		}
		mission := &moneyMission{
			token: sortie.Address(funded.Token), creator: sortie.Address(funded.Creator), reward: funded.RewardPerSubmission,
			target: funded.TargetCount, block: log.BlockNumber,
		}
		if l.missions[funded.MissionKey] != nil {
			return fmt.Errorf("mission %x is funded twice", funded.MissionKey)
		}
		l.missions[funded.MissionKey] = mission
		l.move(mission.token, mission.creator, factory, new(big.Int).Mul(mission.reward, mission.target))
	case "SubmissionPaid":
		paid, err := factoryBinding.UnpackSubmissionPaidEvent(log)
		if err != nil {
			return err
		}
		token := l.missions[paid.MissionKey].token
		l.move(token, factory, sortie.Address(paid.Recipient), paid.Amount)
		return l.pay(log, paid.MissionKey, paid.Slot, moneyPayment{
			recipient: sortie.Address(paid.Recipient), submission: paid.SubmissionKey, amount: paid.Amount,
		})
	case "PayoutDeferred":
		deferred, err := factoryBinding.UnpackPayoutDeferredEvent(log)
		if err != nil {
			return err
		}
		credit := l.credits[holding{l.missions[deferred.MissionKey].token, sortie.Address(deferred.Recipient)}]
		credit.Add(credit, deferred.Amount)
		return l.pay(log, deferred.MissionKey, deferred.Slot, moneyPayment{
			recipient: sortie.Address(deferred.Recipient), submission: deferred.SubmissionKey, amount: deferred.Amount, deferred: true,
		})
	case "MissionClosed":
		closed, err := factoryBinding.UnpackMissionClosedEvent(log)
		if err != nil {
			return err
		}
		mission := l.missions[closed.MissionKey]
		if mission.closed != nil {
			return fmt.Errorf("mission %x is closed twice", closed.MissionKey)
		}
		mission.closed = closed
		if closed.RefundDeferred {
			credit := l.credits[holding{mission.token, mission.creator}]
			credit.Add(credit, closed.Refund)
		} else {
			l.move(mission.token, factory, mission.creator, closed.Refund)
		}
	case "DeferredClaimed":
		claimed, err := factoryBinding.UnpackDeferredClaimedEvent(log)
		if err != nil {
			return err
		}
		token, account := sortie.Address(claimed.Token), sortie.Address(claimed.Account)
		l.credits[holding{token, account}].Sub(l.credits[holding{token, account}], claimed.Amount)
		l.move(token, factory, account, claimed.Amount)
	}
	return nil
}

func (l *moneyLogs) pay(log *types.Log, mission common.Hash, slot *big.Int, payment moneyPayment) error {
	key := paymentKey{mission, slot.Uint64()}
	if before, found := l.payments[key]; found {
		return fmt.Errorf("slot %d of mission %s is paid by %s and by %s, want one payment", key.slot, mission, before.transaction, log.TxHash)
	}
	payment.block, payment.transaction = log.BlockNumber, log.TxHash.Hex()
	l.payments[key] = payment
	return nil
}
