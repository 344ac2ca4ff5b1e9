package chain

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// MissionsAt reads missions as of one block, by hash, so that no reorganization can change the
// answer, and by [Quorum]. Nodes without the block or its state have no vote.
func (n *Nodes) MissionsAt(ctx context.Context, block sortie.Hash, keys []onchain.MissionRef) ([]onchain.ContractMission, error) {
	missions := make([]onchain.ContractMission, 0, len(keys))
	for part := range slices.Chunk(keys, MaxCalls) {
		calls := make([]Call, len(part))
		for i, key := range part {
			calls[i] = stateCall(key.Factory, factory.PackMissions(key.MissionKey), blockByHash(block))
		}
		answer, err := n.stateAt(ctx, calls, missionSize)
		if err != nil {
			return nil, fmt.Errorf("read missions from the contract: %w", err)
		}
		for i := range part {
			mission, err := answer[i*missionSize : (i+1)*missionSize].mission()
			if err != nil {
				return nil, fmt.Errorf("read mission %s from the contract: %w", part[i].MissionKey, err)
			}
			missions = append(missions, onchain.ContractMission{
				Exists: mission.Exists(), Creator: mission.Creator, Token: mission.Token, Reward: mission.Reward.ToBig(), Target: mission.TargetCount,
				Paid: mission.PaidCount, Closed: mission.Closed,
			})
		}
	}
	return missions, nil
}

// BalancesAt reads how much of their tokens factories held, like [Nodes.MissionsAt].
func (n *Nodes) BalancesAt(ctx context.Context, block sortie.Hash, vaults []onchain.Vault) ([]*big.Int, error) {
	erc20 := servicetoken.NewServiceToken()
	calls := make([]Call, len(vaults))
	for i, vault := range vaults {
		calls[i] = stateCall(vault.TokenAddress, erc20.PackBalanceOf(common.Address(vault.Factory)), blockByHash(block))
	}
	balances, err := n.amountsAt(ctx, calls)
	if err != nil {
		return nil, fmt.Errorf("read the balances of the factories: %w", err)
	}
	return balances, nil
}

// CreditsAt reads the deferred credits of accounts, like [Nodes.MissionsAt].
func (n *Nodes) CreditsAt(ctx context.Context, block sortie.Hash, holders []onchain.CreditHolder) ([]*big.Int, error) {
	calls := make([]Call, len(holders))
	for i, holder := range holders {
		calls[i] = stateCall(holder.Factory, factory.PackDeferred(common.Address(holder.TokenAddress), common.Address(holder.Account)), blockByHash(block))
	}
	credits, err := n.amountsAt(ctx, calls)
	if err != nil {
		return nil, fmt.Errorf("read deferred credits from the contract: %w", err)
	}
	return credits, nil
}

// blockByHash names a block as in EIP-1898.
func blockByHash(block sortie.Hash) string { return `{"blockHash":"` + block.String() + `"}` }

// amountsAt makes calls with one amount as the answer.
func (n *Nodes) amountsAt(ctx context.Context, calls []Call) ([]*big.Int, error) {
	amounts := make([]*big.Int, 0, len(calls))
	for part := range slices.Chunk(calls, MaxCalls) {
		answer, err := n.stateAt(ctx, part, wordSize)
		if err != nil {
			return nil, err
		}
		for i := range part {
			amounts = append(amounts, new(big.Int).SetBytes(answer.word(i)))
		}
	}
	return amounts, nil
}

// stateAt makes calls with answers of a fixed size, by [Quorum], and returns the concatenated
// answers.
func (n *Nodes) stateAt(ctx context.Context, calls []Call, size int) (words, error) {
	answer, err := Quorum(ctx, n, func(ctx context.Context, node *Node) (string, error) {
		replies, err := node.Batch(ctx, calls)
		if err != nil {
			return "", node.Redact(err)
		}
		var all strings.Builder
		one := make([]byte, size)
		for _, reply := range replies {
			value, err := reply.Value()
			if err == nil {
				err = fixedBytes(one, value)
			}
			if err != nil {
				return "", fmt.Errorf("%s: %w", node.Name(), err)
			}
			all.Write(one)
		}
		// This is last, so that no answer of a node that switched to another chain counts.
		return all.String(), n.stillOnChain(ctx, node)
	})
	return words(answer), err
}
