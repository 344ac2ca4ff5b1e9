package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/params"

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
	node    *Node
	head    onchain.Block
	market  market
	nonce   uint64 // of the next transaction: all below are used
	balance *big.Int
}

// look takes the view of the first node that can tell what became of the transactions under way,
// those that are behind asked last. A node that has not even reached the final block is not asked:
// to it, nonces that are used up seem free.
func (s *Sender) look(ctx context.Context, r *round) error {
	candidates, tip, failures := s.candidates(ctx)
	for _, candidate := range candidates {
		node, head := candidate.node, candidate.value.head
		if head.Number < r.final {
			failures = append(failures, fmt.Errorf("%s: it is at block %d, and block %d is final", node.Name(), head.Number, r.final))
			continue
		}
		r.view = view{node: node, head: head, market: market{candidate.value.baseFee, tip}}
		var err error
		if r.view.nonce, r.view.balance, err = node.accountAt(ctx, s.address, head.Hash); err == nil {
			err = s.findOutcomes(ctx, r)
		}
		if err == nil {
			return nil
		}
		failures = append(failures, err)
	}
	return fmt.Errorf("look at the chain: %w", errors.Join(append([]error{ErrUnreachable}, failures...)...))
}

// candidates are the nodes that answer, in the order of the configuration, but those that are
// behind the newest come last. Of the tips they suggest the lowest counts: a node alone can make us
// slow, but not poor.
func (s *Sender) candidates(ctx context.Context) (candidates []vote[pulse], tip *big.Int, failures []error) {
	var newest uint64
	for _, answer := range poll(ctx, s.config.Nodes, func(ctx context.Context, node *Node) (pulse, error) { return node.pulse(ctx) }) {
		if answer.err != nil {
			failures = append(failures, answer.err)
			continue
		}
		candidates = append(candidates, answer)
		newest = max(newest, answer.value.head.Number)
		if suggested := answer.value.tip; suggested != nil && (tip == nil || suggested.Cmp(tip) < 0) {
			tip = suggested
		}
	}
	if tip == nil {
		tip = defaultTip
	}
	behind := func(candidate vote[pulse]) int {
		if candidate.value.head.Number+tolerableLag < newest {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(candidates, func(a, b vote[pulse]) int { return behind(a) - behind(b) })
	return candidates, tip, failures
}
