package chain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
)

// Escrow is how a mission stands in the contract.
type Escrow struct {
	Funded    bool // it was, whether or not it is closed by now
	Closed    bool
	PaidCount uint64 // slots
}

// Escrow asks for a mission as enough nodes have it in their newest block, by [Quorum]: what is
// signed with it moves money.
func (n *Nodes) Escrow(ctx context.Context, factoryAddress sortie.Address, missionKey sortie.Hash) (Escrow, error) {
	escrow, err := Quorum(ctx, n, func(ctx context.Context, node *Node) (Escrow, error) {
		mission, err := ask(ctx, node, factoryAddress, factory.PackMissions(missionKey), factory.UnpackMissions)
		if err != nil {
			return Escrow{}, err
		}
		// Asked last: a node that has turned into one of another chain must not have answered
		// before that was noticed.
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
