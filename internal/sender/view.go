package sender

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/params"

	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// tolerableLag is by how many blocks a node may lag and still be used before others.
const tolerableLag = 2

// defaultTip is used if no node suggests a tip.
var defaultTip = big.NewInt(params.GWei)

// view is the chain according to one node. The nonce and the balance are those at the head, because
// a load balancer may answer from another node with a different newest block.
type view struct {
	node    *chain.Node
	head    onchain.Block
	market  market
	nonce   uint64 // of the next transaction: all lower ones are used
	balance *big.Int
}

// readChain takes the view of the first node that can report the outcomes. Lagging nodes are last.
// A node that has not reached the final block is not used, because used nonces seem free to it.
func (s *Sender) readChain(ctx context.Context, r *tick) error {
	candidates, tip, failures := s.candidates(ctx)
	for _, candidate := range candidates {
		node, head := candidate.Node, candidate.Value.Block
		if head.Number < r.final {
			failures = append(failures, fmt.Errorf("%s: it is at block %d, and block %d is final", node.Name(), head.Number, r.final))
			continue
		}
		r.view = view{node: node, head: head, market: market{candidate.Value.BaseFee, tip}}
		var err error
		if r.view.nonce, r.view.balance, err = node.AccountAt(ctx, s.address, head.Hash); err == nil {
			err = s.findOutcomes(ctx, r)
		}
		if err == nil {
			return nil
		}
		failures = append(failures, err)
	}
	return fmt.Errorf("read the chain: %w", errors.Join(append([]error{chain.ErrUnreachable}, failures...)...))
}

// candidates returns the nodes that answer, in the order of the configuration, with lagging nodes
// last. The lowest suggested tip counts, so that one node cannot raise the price.
func (s *Sender) candidates(ctx context.Context) (candidates []chain.Vote[chain.NodeHead], tip *big.Int, failures []error) {
	var newest uint64
	for _, answer := range chain.Poll(ctx, s.config.Nodes, func(ctx context.Context, node *chain.Node) (chain.NodeHead, error) { return node.Head(ctx) }) {
		if answer.Err != nil {
			failures = append(failures, answer.Err)
			continue
		}
		candidates = append(candidates, answer)
		newest = max(newest, answer.Value.Block.Number)
		if suggested := answer.Value.Tip; suggested != nil && (tip == nil || suggested.Cmp(tip) < 0) {
			tip = suggested
		}
	}
	if tip == nil {
		tip = defaultTip
	}
	lagging := func(candidate chain.Vote[chain.NodeHead]) int {
		if candidate.Value.Block.Number+tolerableLag < newest {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(candidates, func(a, b chain.Vote[chain.NodeHead]) int { return lagging(a) - lagging(b) })
	return candidates, tip, failures
}
