package sender

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/params"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/store"
)

// outcome is the outcome of an intent's transactions, at the head of one node.
type outcome int

const (
	outcomeUnclear   outcome = iota // the node contradicts itself: a load balancer may use nodes with different blocks
	outcomeWaiting                  // the nonce is unused: any attempt may still be mined
	outcomeSucceeded                // an attempt is in a block
	outcomeReverted                 // an attempt is in a block and had no effect
	outcomeTaken                    // the nonce is used by a foreign transaction
)

// observation is an outcome, and the mined transaction, if there is one.
type observation struct {
	outcome outcome
	mined   chain.MinedTx
}

// judge returns the outcome of the intent's nonce. A receipt is not enough: its block may have been
// replaced, if the nonce is unused at the head. The nonce is not enough: a foreign transaction may
// have used it.
func judge(intent store.Intent, seen view, mined map[sortie.Hash]chain.MinedTx) observation {
	used := seen.nonce > *intent.Nonce
	for _, attempt := range attemptsAt(intent, *intent.Nonce) {
		one, found := mined[attempt.Hash]
		switch {
		case !found || !used:
			continue
		case one.Block > seen.head.Number:
			return observation{outcome: outcomeUnclear}
		case one.Succeeded:
			return observation{outcomeSucceeded, one}
		}
		return observation{outcomeReverted, one}
	}
	if used {
		return observation{outcome: outcomeTaken}
	}
	return observation{outcome: outcomeWaiting}
}

// attemptsAt returns the intent's transactions with a nonce of its current sender.
func attemptsAt(intent store.Intent, nonce uint64) (attempts []store.Attempt) {
	for _, attempt := range intent.Attempts {
		if attempt.Nonce == nonce && attempt.Sender == intent.Sender { // a former sender has its own nonces
			attempts = append(attempts, attempt)
		}
	}
	return attempts
}

// observe stores new outcomes.
func (s *Sender) observe(ctx context.Context, lease store.Lease, r *tick) error {
	moved := make(map[*txIntent]store.Intent)
	for _, p := range r.intents {
		if p.Nonce == nil {
			continue
		}
		if next := s.next(ctx, p, r); !sameProgress(next, p.Intent) {
			moved[p] = next
		}
	}
	if len(moved) == 0 {
		return nil
	}
	if err := s.checkpoint(pointObserved); err != nil {
		return err
	}
	err := s.write(ctx, lease, func(tx *store.Tx) error {
		cost := new(big.Int) // of what is final now
		for p, next := range moved {
			if err := tx.MoveIntent(p.Intent, next); err != nil {
				return fmt.Errorf("move %s %s from %s to %s: %w", p.Kind, p.Subject, p.Status, next.Status, err)
			}
			if isOver := next.Status == store.IntentDone || next.Nonce == nil; isOver && p.mined.Cost > 0 {
				cost.Add(cost, new(big.Int).SetUint64(p.mined.Cost))
			}
		}
		if cost.Sign() == 0 {
			return nil
		}
		return tx.AddGasCost(s.config.ChainID, cost.Mul(cost, big.NewInt(params.GWei)))
	})
	if err != nil {
		return err
	}
	for p, next := range moved {
		s.config.Logger.Info("intent", "kind", p.Kind, "subject", p.Subject, "was", p.Status, "is", next.Status,
			"nonce", *p.Nonce, "transaction", next.MinedTransaction, "problem", next.Problem)
		p.Intent = next
	}
	return nil
}

// findOutcomes reads receipts if the head is new.
func (s *Sender) findOutcomes(ctx context.Context, r *tick) error {
	if s.state.head != r.view.head.Hash {
		s.state.head = r.view.head.Hash
		clear(s.state.observations)
	}
	var ask []sortie.Hash
	for _, p := range r.intents {
		if p.Nonce == nil {
			continue
		}
		if _, known := s.state.observations[p.ID]; !known {
			for _, attempt := range attemptsAt(p.Intent, *p.Nonce) {
				ask = append(ask, attempt.Hash)
			}
		}
	}
	mined, err := r.view.node.MinedTransactions(ctx, ask)
	if err != nil {
		return err
	}
	for _, p := range r.intents {
		if p.Nonce == nil {
			continue
		}
		known, found := s.state.observations[p.ID]
		if !found {
			known = judge(p.Intent, r.view, mined)
			s.state.observations[p.ID] = known
		}
		p.observation = known
	}
	return nil
}

// next returns the intent as it should be stored. Everything can be reverted until finality.
func (s *Sender) next(ctx context.Context, p *txIntent, r *tick) store.Intent {
	if p.outcome != outcomeTaken {
		delete(s.state.takenAt, p.ID)
	}
	next := p.Intent
	switch p.outcome {
	case outcomeSucceeded:
		next.Status, next.Problem = store.IntentMined, ""
		next.MinedBlock, next.MinedTransaction = p.mined.Block, p.mined.Transaction
		if s.certain(p, s.miningIsFinal(ctx, p, r)) {
			next.Status = store.IntentDone
		}
	case outcomeReverted:
		next = unmined(next)
		next.Problem = fmt.Sprintf("transaction %s was mined and had no effect", p.mined.Transaction)
		s.status.alarm(AlarmReverted, fmt.Sprintf("%s %s: %s", p.Kind, p.Subject, next.Problem))
		if s.certain(p, s.miningIsFinal(ctx, p, r)) {
			next.Status, next.Nonce = store.IntentQueued, nil
		}
	case outcomeTaken:
		next = unmined(next)
		next.Problem = fmt.Sprintf("nonce %d was used by a transaction that this service did not send: is its key used elsewhere?", *p.Nonce)
		s.status.alarm(AlarmReplaced, fmt.Sprintf("%s %s: %s", p.Kind, p.Subject, next.Problem))
		if s.certain(p, s.takenIsFinal(ctx, p, r)) {
			next.Status, next.Nonce = store.IntentQueued, nil
		}
	case outcomeWaiting:
		if p.Status == store.IntentMined && r.view.head.Number >= p.MinedBlock {
			next = unmined(next) // a reorganization; a lagging node does not count
		}
	}
	return next
}

func unmined(intent store.Intent) store.Intent {
	intent.Status, intent.MinedBlock, intent.MinedTransaction = store.IntentSent, 0, sortie.Hash{}
	return intent
}

func sameProgress(a, b store.Intent) bool {
	return a.Status == b.Status && a.MinedBlock == b.MinedBlock && a.MinedTransaction == b.MinedTransaction && a.Problem == b.Problem
}

// errNotFinal says that a block is not final yet.
var errNotFinal = errors.New("not final yet")

// certain reports whether an outcome is final without doubt. Doubts of nodes raise an alarm.
func (s *Sender) certain(p *txIntent, doubt error) bool {
	if doubt != nil && !errors.Is(doubt, errNotFinal) {
		s.status.doubt(fmt.Errorf("what became of %s %s: %w", p.Kind, p.Subject, doubt))
	}
	return doubt == nil
}

// miningIsFinal requires the block to be final, and enough nodes to have the transaction in it.
func (s *Sender) miningIsFinal(ctx context.Context, p *txIntent, r *tick) error {
	if p.mined.Block > r.final {
		return errNotFinal
	}
	agreed, err := chain.Quorum(ctx, s.config.Nodes, func(ctx context.Context, node *chain.Node) (chain.MinedTx, error) {
		found, err := node.MinedTransactions(ctx, []sortie.Hash{p.mined.Transaction})
		return found[p.mined.Transaction].WithoutCost(), err
	})
	if err == nil && agreed != p.mined.WithoutCost() {
		return chain.ErrNodesDisagree
	}
	return err
}

// takenIsFinal requires the block at which the nonce was first seen used to be final, and enough
// nodes to have that block, the used nonce, and none of the intent's transactions. That block is
// kept in memory, so another process waits for finality again.
func (s *Sender) takenIsFinal(ctx context.Context, p *txIntent, r *tick) error {
	sighting, found := s.state.takenAt[p.ID]
	if !found {
		s.state.takenAt[p.ID] = r.view.head
		return errNotFinal
	}
	if sighting.Number > r.final {
		return errNotFinal
	}
	var ours []sortie.Hash
	for _, attempt := range attemptsAt(p.Intent, *p.Nonce) {
		ours = append(ours, attempt.Hash)
	}
	gone, err := chain.Quorum(ctx, s.config.Nodes, func(ctx context.Context, node *chain.Node) (bool, error) {
		hashes, err := node.BlockHashes(ctx, []uint64{sighting.Number})
		if err != nil || hashes[sighting.Number] != sighting.Hash {
			return false, err
		}
		nonce, err := node.NonceAt(ctx, s.address, nil)
		if err != nil {
			return false, node.Redact(err)
		}
		mined, err := node.MinedTransactions(ctx, ours)
		return nonce > *p.Nonce && len(mined) == 0, err
	})
	if err == nil && !gone {
		delete(s.state.takenAt, p.ID) // the block was replaced: start again
		return errNotFinal
	}
	return err
}
