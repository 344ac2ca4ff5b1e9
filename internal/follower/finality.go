package follower

import (
	"context"
	"errors"
	"fmt"

	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// youngChain is the number of blocks that a chain may have without a final one.
const youngChain = 256

// claims returns the newest block that a node calls final; false: it names none that is possible.
func (f *Follower) claims(v headView) (uint64, bool) {
	if depth := uint64(f.config.Finality); depth > 0 {
		return v.head.Number + 1 - min(depth, v.head.Number+1), v.head.Number >= depth
	}
	if v.final == nil || v.final.Number == 0 || v.final.Number > v.head.Number || (v.final.Number == v.head.Number && v.final.Hash != v.head.Hash) {
		return 0, false
	}
	return v.final.Number, true
}

// noteFinality raises an alarm if the followed node's finality is impossible. If no second node is
// required, its finality counts for this step. The final block never decreases.
func (f *Follower) noteFinality(v headView, was onchain.Position) {
	alone := f.nodes.Required() < 2
	if alone {
		f.final = was.Final
	}
	claim, sound := f.claims(v)
	if f.config.Finality == Finalized {
		switch {
		case v.finalErr != nil:
			f.monitor.raise(AlarmNoFinality, "", fmt.Sprintf("%s names no final block, so nothing locks: %v", v.node.Name(), v.finalErr))
			return
		case v.final.Number < was.Final:
			f.monitor.raise(AlarmFinality, "", fmt.Sprintf("%s reports block %d as final, and block %d was final before", v.node.Name(), v.final.Number, was.Final))
			return
		case v.final.Number == 0 && v.head.Number >= youngChain:
			f.monitor.raise(AlarmNoFinality, "", fmt.Sprintf("%s reports no final block of %d blocks, so nothing locks", v.node.Name(), v.head.Number))
			return
		case v.final.Number > 0 && !sound:
			f.monitor.raise(AlarmFinality, "", fmt.Sprintf("%s reports block %d as final and block %d as its newest", v.node.Name(), v.final.Number, v.head.Number))
			return
		}
		f.monitor.clear("", AlarmNoFinality, AlarmFinality)
	}
	if sound && alone {
		f.final = max(f.final, claim)
	}
}

// finalAt returns the final block after a range is stored. Only followed blocks count. It is lower
// than before only if finality was broken.
func (f *Follower) finalAt(position onchain.Position, piece blockRange) uint64 {
	final := piece.tip().Number
	if depth := uint64(f.config.Finality); depth > 0 {
		final = final + 1 - min(depth, final+1)
	}
	return max(min(f.final, final), min(position.Final, piece.after.Number))
}

// agreeOnFinal advances the final block to the newest one that the followed node and another node
// call final, with the same hash. One node is not enough, because forged finality could publish a
// mission.
func (f *Follower) agreeOnFinal(ctx context.Context, v headView) {
	claim, sound := f.claims(v)
	if !sound || claim <= f.final || f.nodes.Required() < 2 {
		return
	}
	votes := pollNodes(ctx, f, func(ctx context.Context, node *chain.Node) (onchain.Block, error) {
		if node == v.node {
			return onchain.Block{}, errNoVote
		}
		return f.finalOf(ctx, node, claim)
	})
	agreed, err := f.matchFinal(ctx, v.node, votes)
	f.monitor.settle(aboutFinality, err)
	f.final = max(f.final, agreed)
}

// finalOf returns the newest block that a node calls final, up to a limit.
func (f *Follower) finalOf(ctx context.Context, node *chain.Node, limit uint64) (onchain.Block, error) {
	v, err := f.readHead(ctx, node, limit)
	if err != nil {
		return onchain.Block{}, err
	}
	claim, sound := f.claims(v)
	switch {
	case !sound:
		return onchain.Block{}, fmt.Errorf("%s names no final block: %w", node.Name(), chain.ErrAbsent)
	case claim >= limit && v.tip == nil:
		return onchain.Block{}, fmt.Errorf("%s: block %d, below its newest: %w", node.Name(), limit, chain.ErrAbsent)
	case claim >= limit:
		return v.tip.Block, nil
	case f.config.Finality == Finalized:
		return v.final.Block, nil
	}
	headers, err := node.Headers(ctx, []uint64{claim})
	if err != nil {
		return onchain.Block{}, err
	}
	return headers[0].Block, nil
}

// matchFinal returns the newest of the other nodes' final blocks that the followed node has.
func (f *Follower) matchFinal(ctx context.Context, node *chain.Node, votes []chain.Vote[onchain.Block]) (agreed uint64, err error) {
	var theirs []onchain.Block
	var numbers []uint64
	err = chain.ErrQuorumMissing
	for _, v := range votes {
		switch {
		case v.Err == nil:
			theirs, numbers = append(theirs, v.Value), append(numbers, v.Value.Number)
		case !errors.Is(v.Err, errNoVote):
			err = fmt.Errorf("%w; %w", err, v.Err)
		}
	}
	if len(theirs) == 0 {
		return 0, err
	}
	ours, err := node.Headers(ctx, numbers)
	if err != nil {
		return 0, nil // the next step reports its error
	}
	for i, h := range ours {
		if h.Hash != theirs[i].Hash {
			err = fmt.Errorf("%w: they have different blocks %d, which both call final", chain.ErrNodesDisagree, h.Number)
			continue
		}
		agreed = max(agreed, h.Number)
	}
	return agreed, err
}
