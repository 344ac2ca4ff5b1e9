package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// fate is what became of the transactions of an intent, as one node has it at its head.
type fate int

const (
	fateUnclear   fate = iota // a receipt of a block that the head does not follow: from another machine, or of a block taken back
	fateWaiting               // the nonce is unused: any attempt may still be mined
	fateSucceeded             // an attempt is in a block
	fateReverted              // an attempt is in a block and did nothing
	fateTaken                 // the nonce is used, by none of the attempts
)

// outcome is a fate and the receipt that says so, if one does.
type outcome struct {
	fate    fate
	receipt minedReceipt
}

// judge finds the fate of the intent's present nonce. A receipt alone proves nothing: it may be of a block that was taken
// back. The nonce alone does not either, it may be a stranger's. Both are of the same head here.
func judge(intent store.Intent, seen view, receipts map[common.Hash]minedReceipt) outcome {
	used := seen.nonce > *intent.Nonce
	for _, attempt := range attemptsAt(intent, *intent.Nonce) {
		receipt, found := receipts[common.Hash(attempt.Hash)]
		switch {
		case !found:
			continue
		case !used || receipt.Block > seen.head.Number:
			return outcome{fate: fateUnclear}
		case receipt.succeeded():
			return outcome{fateSucceeded, receipt}
		}
		return outcome{fateReverted, receipt}
	}
	if used {
		return outcome{fate: fateTaken}
	}
	return outcome{fate: fateWaiting}
}

func attemptsAt(intent store.Intent, nonce uint64) (attempts []store.Attempt) {
	for _, attempt := range intent.Attempts {
		if attempt.Nonce == nonce {
			attempts = append(attempts, attempt)
		}
	}
	return attempts
}

// observe stores what is new about the transactions under way.
func (s *Sender) observe(ctx context.Context, lease store.Lease, r *round) error {
	moved := make(map[*pursuit]store.Intent)
	for _, p := range r.pursuits {
		if p.Nonce == nil {
			continue
		}
		if next := s.next(ctx, p, r.view); !sameProgress(next, p.Intent) {
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
		for p, next := range moved {
			if err := tx.MoveIntent(p.Intent, next); err != nil {
				return fmt.Errorf("move %s %s from %s to %s: %w", p.Kind, p.Subject, p.Status, next.Status, err)
			}
		}
		return nil
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

// findOutcomes asks for receipts where the head is new. At the same head they cannot have changed.
func (s *Sender) findOutcomes(ctx context.Context, r *round) error {
	if s.memory.head != r.view.head.Hash {
		s.memory.head = r.view.head.Hash
		clear(s.memory.outcomes)
	}
	var ask []common.Hash
	for _, p := range r.pursuits {
		if p.Nonce == nil {
			continue
		}
		if _, known := s.memory.outcomes[p.ID]; !known {
			for _, attempt := range attemptsAt(p.Intent, *p.Nonce) {
				ask = append(ask, common.Hash(attempt.Hash))
			}
		}
	}
	receipts, err := r.view.node.receiptsOf(ctx, ask)
	if err != nil {
		return err
	}
	for _, p := range r.pursuits {
		if p.Nonce == nil {
			continue
		}
		known, found := s.memory.outcomes[p.ID]
		if !found {
			known = judge(p.Intent, r.view, receipts)
			s.memory.outcomes[p.ID] = known
		}
		p.outcome = known
	}
	return nil
}

// next is the intent as it should be stored, given what became of its transactions. Up to finality everything can be undone.
func (s *Sender) next(ctx context.Context, p *pursuit, seen view) store.Intent {
	if p.fate != fateTaken {
		delete(s.memory.takenAt, p.ID)
	}
	next := p.Intent
	switch p.fate {
	case fateSucceeded:
		next.Status, next.Problem = store.IntentMined, ""
		next.MinedBlock, next.MinedTransaction = uint64(p.receipt.Block), sortie.Hash(p.receipt.Transaction)
		if s.certain(p, s.receiptIsFinal(ctx, p)) {
			next.Status = store.IntentDone
		}
	case fateReverted:
		next = unmined(next)
		next.Problem = fmt.Sprintf("transaction %s was mined and had no effect", p.receipt.Transaction)
		s.status.alarm(SenderReverted, fmt.Sprintf("%s %s: %s", p.Kind, p.Subject, next.Problem))
		if s.certain(p, s.receiptIsFinal(ctx, p)) {
			next.Status, next.Nonce = store.IntentQueued, nil
		}
	case fateTaken:
		next = unmined(next)
		next.Problem = fmt.Sprintf("nonce %d was used by a transaction that this service did not send: is its key used elsewhere?", *p.Nonce)
		s.status.alarm(SenderReplaced, fmt.Sprintf("%s %s: %s", p.Kind, p.Subject, next.Problem))
		if s.certain(p, s.takenIsFinal(ctx, p, seen)) {
			next.Status, next.Nonce = store.IntentQueued, nil
		}
	case fateWaiting:
		if p.Status == store.IntentMined && uint64(seen.head.Number) >= p.MinedBlock {
			next = unmined(next) // taken back by a reorganization; a node that is behind only does not know it yet
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

// errNotFinal says that there is nothing to be certain of yet.
var errNotFinal = errors.New("not final yet")

// certain reports whether there is no doubt about the end of an intent's nonce. Where nodes leave a doubt, an operator hears of it.
func (s *Sender) certain(p *pursuit, doubt error) bool {
	if doubt != nil && !errors.Is(doubt, errNotFinal) {
		s.status.doubt(fmt.Errorf("what became of %s %s: %w", p.Kind, p.Subject, doubt))
	}
	return doubt == nil
}

// receiptIsFinal wants enough nodes to have the receipt, in the block that each has at that height, and that block final.
func (s *Sender) receiptIsFinal(ctx context.Context, p *pursuit) error {
	if uint64(p.receipt.Block) > s.config.Final() {
		return errNotFinal
	}
	agreed, err := Quorum(ctx, s.config.Nodes, func(ctx context.Context, node *Node) (minedReceipt, error) {
		receipts, err := node.receiptsOf(ctx, []common.Hash{p.receipt.Transaction})
		if err != nil {
			return minedReceipt{}, err
		}
		receipt := receipts[p.receipt.Transaction]
		canonical, err := node.hashOf(ctx, uint64(receipt.Block))
		if err != nil || canonical != receipt.BlockHash {
			return minedReceipt{}, err // as if there were none
		}
		return receipt, nil
	})
	if err == nil && agreed != p.receipt {
		return ErrNodesDisagree
	}
	return err
}

// takenIsFinal wants the block at which the nonce was first seen used to be final, and enough nodes to have that block, the
// nonce used, and none of the intent's transactions. The sighting is only remembered, so whoever takes over waits for finality
// once more.
func (s *Sender) takenIsFinal(ctx context.Context, p *pursuit, seen view) error {
	sighting, found := s.memory.takenAt[p.ID]
	if !found {
		s.memory.takenAt[p.ID] = seen.head
		return errNotFinal
	}
	if uint64(sighting.Number) > s.config.Final() {
		return errNotFinal
	}
	var hashes []common.Hash
	for _, attempt := range attemptsAt(p.Intent, *p.Nonce) {
		hashes = append(hashes, common.Hash(attempt.Hash))
	}
	gone, err := Quorum(ctx, s.config.Nodes, func(ctx context.Context, node *Node) (bool, error) {
		canonical, err := node.hashOf(ctx, uint64(sighting.Number))
		if err != nil || canonical != sighting.Hash {
			return false, err
		}
		nonce, err := node.NonceAt(ctx, s.address, nil)
		if err != nil {
			return false, node.redact(err)
		}
		receipts, err := node.receiptsOf(ctx, hashes)
		return nonce > *p.Nonce && len(receipts) == 0, err
	})
	if err == nil && !gone {
		delete(s.memory.takenAt, p.ID) // that block is no more: begin again
		return errNotFinal
	}
	return err
}
