package follower

import (
	"context"
	"errors"
	"fmt"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// errReplaced says that a node's chain has none of the followed blocks, which is no reorganization.
var errReplaced = errors.New("the node's chain has no block in common with the one that was followed: is it a new chain under an old id?")

// lastCommon returns the newest block that the node's chain shares with the ledger. To go below a
// final block, as many nodes must agree as for money.
func (f *Follower) lastCommon(ctx context.Context, v headView, was onchain.Position) (onchain.Block, error) {
	gone, instead := was.Tip, v.tip // our lowest block that the node lacks, and the node's block at its height
	for page := 8; ; page = chain.MaxCalls {
		tail, err := f.ledger.Tail(ctx, f.chainID, gone.Number, page)
		if err != nil {
			return onchain.Block{}, ledgerFault(err)
		}
		if len(tail) == 0 {
			return onchain.Block{}, fmt.Errorf("%s: %w", v.node.Name(), errReplaced)
		}
		numbers := make([]uint64, len(tail))
		for i, block := range tail {
			numbers[i] = block.Number
		}
		headers, err := v.node.Headers(ctx, numbers)
		if err != nil {
			return onchain.Block{}, err
		}
		for i, ours := range tail {
			if headers[i].Hash != ours.Hash {
				gone, instead = ours, headers[i]
				continue
			}
			if ours.Number < was.Final {
				err = f.finalityIsBroken(ctx, ours, instead)
			}
			return ours, err
		}
	}
}

// finalityIsBroken requires enough nodes to have another block than ours after a common block below
// finality.
func (f *Follower) finalityIsBroken(ctx context.Context, common onchain.Block, instead *chain.Header) error {
	hashes, err := quorumOf(ctx, f, func(ctx context.Context, node *chain.Node) (said [2]sortie.Hash, err error) {
		replies, err := f.ask(ctx, node, []chain.Call{chain.HeaderCall(chain.HexNumber(common.Number)), chain.HeaderCall(chain.HexNumber(instead.Number))})
		if err != nil {
			return said, err
		}
		for i, number := range []uint64{common.Number, instead.Number} {
			h, err := replies[i].Header(number)
			if err != nil {
				return said, fmt.Errorf("%s: %w", node.Name(), err)
			}
			said[i] = h.Hash
		}
		return said, nil
	})
	if err == nil && hashes != [2]sortie.Hash{common.Hash, instead.Hash} {
		err = chain.ErrNodesDisagree
	}
	if err != nil {
		return fmt.Errorf("one node has replaced the chain below final block %d: %w", common.Number+1, err)
	}
	f.final = min(f.final, common.Number)
	return nil
}
