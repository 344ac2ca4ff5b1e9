package chain

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Errors of [Quorum].
var (
	// ErrNoQuorum says that too few nodes gave the same answer.
	ErrNoQuorum = errors.New("too few nodes agree")
	// ErrNodesDisagree is an [ErrNoQuorum]: nodes contradict each other.
	ErrNodesDisagree = fmt.Errorf("%w: they contradict each other", ErrNoQuorum)
	// ErrQuorumMissing is an [ErrNoQuorum]: nodes did not answer.
	ErrQuorumMissing = fmt.Errorf("%w: one or more did not answer", ErrNoQuorum)
)

// Required is how many nodes must agree on what money depends on: two if two or more are
// configured, reachable or not. It never falls below that, because an attacker could cut off the
// honest nodes.
func (n *Nodes) Required() int { return min(len(n.nodes), 2) }

// Vote is the answer of one node.
type Vote[T any] struct {
	Node  *Node
	Value T
	Err   error
}

// Poll asks every node in use concurrently.
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

// Quorum asks every node in use and returns the answer of enough of them (see [Nodes.Required]). It
// fails with an [ErrNoQuorum] if no answer, or more than one, has enough votes.
func Quorum[T comparable](ctx context.Context, nodes *Nodes, ask func(context.Context, *Node) (T, error)) (T, error) {
	return Tally(Poll(ctx, nodes, ask), nodes.Required())
}

// Tally returns the only value with enough votes.
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
