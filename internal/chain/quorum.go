package chain

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// What money depends on is decided by nodes that agree. Which of the two was missing tells an
// operator where to look: at what a node says, or at whether it answers.
var (
	// ErrNoQuorum says that too few nodes gave the same answer to act on it.
	ErrNoQuorum = errors.New("too few nodes agree")
	// ErrNodesDisagree is an [ErrNoQuorum] with nodes that contradict each other.
	ErrNodesDisagree = fmt.Errorf("%w: they contradict each other", ErrNoQuorum)
	// ErrQuorumMissing is an [ErrNoQuorum] with nodes that did not answer.
	ErrQuorumMissing = fmt.Errorf("%w: one or more did not answer", ErrNoQuorum)
)

// Required is how many nodes must agree on what money depends on: two when two or more are
// configured, whether or not they can be reached now. It never falls to fewer, because cutting
// nodes off is how a liar gets to be the only one asked.
func (n *Nodes) Required() int { return min(len(n.nodes), 2) }

// Vote is what one node said.
type Vote[T any] struct {
	Node  *Node
	Value T
	Err   error
}

// Poll asks every node in use at once.
func Poll[T any](ctx context.Context, nodes *Nodes, ask func(context.Context, *Node) (T, error)) []Vote[T] {
	usable := nodes.InUse()
	votes := make([]Vote[T], len(usable))
	var group sync.WaitGroup
	for i, node := range usable {
		group.Go(func() {
			value, err := ask(ctx, node)
			votes[i] = Vote[T]{node, value, err}
		})
	}
	group.Wait()
	return votes
}

// Quorum asks every node in use and gives the answer that enough of them gave (see
// [Nodes.Required]). It fails with an [ErrNoQuorum] when none has enough votes, or when two have.
func Quorum[T comparable](ctx context.Context, nodes *Nodes, ask func(context.Context, *Node) (T, error)) (T, error) {
	return Tally(Poll(ctx, nodes, ask), nodes.Required())
}

// Tally finds the one value with enough votes.
func Tally[T comparable](votes []Vote[T], required int) (winner T, err error) {
	var failures []error
	tally := make(map[T]int, len(votes))
	winners := 0
	for _, v := range votes {
		if v.Err != nil {
			failures = append(failures, v.Err)
			continue
		}
		if tally[v.Value]++; tally[v.Value] == required {
			winner = v.Value
			winners++
		}
	}
	switch {
	case winners == 1:
		return winner, nil
	case len(tally) > 1:
		err = ErrNodesDisagree
	default:
		err = ErrQuorumMissing
	}
	for _, failure := range failures {
		err = fmt.Errorf("%w; %w", err, failure)
	}
	var zero T
	return zero, err
}
