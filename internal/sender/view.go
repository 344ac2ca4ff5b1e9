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

// tolerableLag is by how many blocks a node may be behind another and still be preferred to it by
// the order of the configuration.
const tolerableLag = 2

// defaultTip is offered where no node suggests one.
var defaultTip = big.NewInt(params.GWei)

// view is the chain as one node has it. The nonce and the balance are those at the head, not at
// whatever the node has by the time it is asked: a balanced endpoint may answer from another
// machine, which knows a different newest block.
type view struct {
	node    *chain.Node
	head    onchain.Block
	market  market
	nonce   uint64 // of the next transaction: all below are used
	balance *big.Int
}

// readChain takes the view of the first node that can tell what became of the transactions under way,
// those that are behind asked last. A node that has not even reached the final block is not asked:
// to it, nonces that are used up seem free.
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
	return fmt.Errorf("look at the chain: %w", errors.Join(append([]error{chain.ErrUnreachable}, failures...)...))
}

// candidates are the nodes that answer, in the order of the configuration, but those that are
// behind the newest come last. Of the tips they suggest the lowest counts: a node alone can make us
// slow, but not poor.
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
	behind := func(candidate chain.Vote[chain.NodeHead]) int {
		if candidate.Value.Block.Number+tolerableLag < newest {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(candidates, func(a, b chain.Vote[chain.NodeHead]) int { return behind(a) - behind(b) })
	return candidates, tip, failures
}
