package chain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
)

// Escrow is the state of a mission in the contract.
type Escrow struct {
	Funded    bool // also after it was closed
	Closed    bool
	PaidCount uint64 // slots
}

// Escrow reads a mission from the newest block, by [Quorum], because signatures that move money
// depend on it.
func (n *Nodes) Escrow(ctx context.Context, factoryAddress sortie.Address, missionKey sortie.Hash) (Escrow, error) {
	escrow, err := Quorum(ctx, n, func(ctx context.Context, node *Node) (Escrow, error) {
		mission, err := ask(ctx, node, factoryAddress, factory.PackMissions(missionKey), factory.UnpackMissions)
		if err != nil {
			return Escrow{}, err
		}
		// This is last, so that no answer of a node that switched to another chain counts.
		if err := n.stillOnChain(ctx, node); err != nil {
			return Escrow{}, err
		}
		if !mission.PaidCount.IsUint64() {
			return Escrow{}, fmt.Errorf("%s: a mission with %s slots paid", node.Name(), mission.PaidCount)
		}
		return Escrow{Funded: mission.Creator != common.Address{}, Closed: mission.Closed != 0, PaidCount: mission.PaidCount.Uint64()}, nil
	})
	if err != nil {
		return Escrow{}, fmt.Errorf("read mission %s from the contract: %w", missionKey, err)
	}
	return escrow, nil
}
