package follower

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/onchain"
)

const (
	// startMargin is how long before the first draft following begins, because clocks differ.
	startMargin = time.Hour
	// startDepth is how far below the head following begins if no block is final, so that the start
	// is not replaced.
	startDepth = 128
)

// begin chooses the block after which to follow: the last one before the first draft. A late start
// would miss events, so as many nodes must agree on the block as for money.
func (f *Follower) begin(ctx context.Context) (onchain.Position, error) {
	interest, err := f.ledger.EarliestInterest(ctx)
	if err != nil {
		return onchain.Position{}, ledgerFault(err)
	}
	var start onchain.Block
	err = f.onSomeNode(ctx, func(node *chain.Node) error {
		if start, err = f.lastBefore(ctx, node, interest.Add(-startMargin)); err != nil {
			return err
		}
		return f.vouchedFor(ctx, start)
	})
	if err != nil {
		return onchain.Position{}, err
	}
	err = f.ledger.Begin(ctx, f.chainID, start)
	if err != nil && !errors.Is(err, onchain.ErrConflict) {
		return onchain.Position{}, ledgerFault(err)
	}
	f.config.Logger.Info("following begins", "chainId", f.chainID, "after", start.Number, "time", start.Time)
	position, err := f.ledger.Position(ctx, f.chainID)
	return position, ledgerFault(err)
}

// lastBefore returns the last settled block that is not younger than a time, or the first block of
// the chain.
func (f *Follower) lastBefore(ctx context.Context, node *chain.Node, moment time.Time) (onchain.Block, error) {
	v, err := f.readHead(ctx, node, 0)
	if err != nil {
		return onchain.Block{}, err
	}
	settled := v.head.Number - min(startDepth, v.head.Number)
	if final, sound := f.claims(v); sound {
		settled = final
	}
	younger := sort.Search(int(settled)+1, func(number int) bool {
		if err != nil {
			return true
		}
		var headers []*chain.Header
		if headers, err = node.Headers(ctx, []uint64{uint64(number)}); err != nil {
			return true
		}
		return headers[0].Time.After(moment)
	})
	if err != nil {
		return onchain.Block{}, err
	}
	headers, err := node.Headers(ctx, []uint64{uint64(max(0, younger-1))})
	if err != nil {
		return onchain.Block{}, err
	}
	return headers[0].Block, nil
}

// vouchedFor requires enough nodes to have a block with its time.
func (f *Follower) vouchedFor(ctx context.Context, block onchain.Block) error {
	type sighting struct {
		hash sortie.Hash
		time int64
	}
	said, err := quorumOf(ctx, f, func(ctx context.Context, node *chain.Node) (sighting, error) {
		replies, err := f.ask(ctx, node, []chain.Call{chain.HeaderCall(chain.HexNumber(block.Number))})
		if err != nil {
			return sighting{}, err
		}
		h, err := replies[0].Header(block.Number)
		if err != nil {
			return sighting{}, fmt.Errorf("%s: %w", node.Name(), err)
		}
		return sighting{h.Hash, h.Time.Unix()}, nil
	})
	if err == nil && said != (sighting{block.Hash, block.Time.Unix()}) {
		err = chain.ErrNodesDisagree
	}
	if err != nil {
		return fmt.Errorf("begin to follow at block %d: %w", block.Number, err)
	}
	return nil
}
