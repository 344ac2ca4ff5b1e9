package chain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// retryDeepening is how long something waits that could not go deeper, when no new block comes.
const retryDeepening = 2 * time.Second

// deepen lets fundings and refunds go deeper that the chain confirms: asked for the block, the transaction's receipt and the
// contract's own state, all of which must say what the log said. For the review to begin the followed node's word is enough;
// for what money depends on as many nodes as [Nodes.Required] must say it, each of a block that is final to itself.
func (f *Follower) deepen(ctx context.Context, v sight, progress *Progress) error {
	position := progress.Position
	now := f.config.Clock()
	final := f.finalAt(position, stretch{after: position.Tip})
	if position.Tip.Number == f.deepened.tip && final == f.deepened.final && now.Sub(f.deepened.at) < retryDeepening {
		return nil
	}
	f.deepened.tip, f.deepened.final, f.deepened.at = position.Tip.Number, final, now

	confirmed := position.Tip.Number + 1 - min(f.config.Confirmations, position.Tip.Number+1)
	due, err := f.ledger.ToDeepen(ctx, f.chainID, confirmed, final)
	if err != nil {
		return ledgerFault(err)
	}
	agreed, err := f.corroborate(ctx, v.node, due)
	f.monitor.settle(aboutFundings, err)
	if len(agreed) == 0 {
		return nil
	}
	if final > position.Final { // the ledger locks nothing beyond what it knows to be final
		progress.Position, err = f.ledger.Advance(ctx, store.Advance{
			ChainID: f.chainID, Was: position, After: position.Tip, Head: max(position.Head, position.Tip.Number), Final: final,
		})
		if err != nil {
			return ledgerFault(err)
		}
		f.monitor.moved(progress.Position, v.head.Number)
	}
	if err := f.ledger.Deepen(ctx, agreed); err != nil {
		return ledgerFault(err)
	}
	progress.Deepened = len(agreed)
	progress.More = true // a list may have been longer
	f.deepened.at = time.Time{}
	f.monitor.update(func(s *Status) { s.Deepened += uint64(len(agreed)) })
	return nil
}

// corroborate gives those that the chain confirms, and the doubts about others.
func (f *Follower) corroborate(ctx context.Context, followed *Node, due []store.Deepening) (agreed []store.Deepening, doubts error) {
	var money []store.Deepening
	var begin []store.Deepening
	for _, item := range due {
		if item.Refund || item.To != depthConfirmed {
			money = append(money, item)
		} else {
			begin = append(begin, item)
		}
	}
	verdicts, err := f.examine(ctx, followed, begin)
	for i, verdict := range verdicts {
		if verdict == nil {
			agreed = append(agreed, begin[i])
		}
		err = errors.Join(err, verdict)
	}
	if len(money) == 0 {
		return agreed, err
	}
	votes := poll(ctx, f.nodes, func(ctx context.Context, node *Node) ([]error, error) { return f.examineFinal(ctx, node, money) })
	for i, item := range money {
		enough, doubt := f.enough(votes, i)
		if enough {
			agreed = append(agreed, item)
		}
		err = errors.Join(err, doubt)
	}
	return agreed, err
}

// depthConfirmed is a mission's depth at which its review begins.
const depthConfirmed = "confirmed"

// enough counts the nodes that confirm the i-th of what they were asked about. There can be enough and doubts all the same.
func (f *Follower) enough(votes []vote[[]error], i int) (enough bool, doubts error) {
	agreed := 0
	for _, v := range votes {
		switch {
		case v.err != nil:
			doubts = errors.Join(doubts, v.err)
		case v.value[i] == nil:
			agreed++
		default:
			doubts = errors.Join(doubts, v.value[i])
		}
	}
	contradicted := errors.Is(doubts, errBadAnswer)
	if agreed < f.nodes.Required() && !contradicted && !errors.Is(doubts, errNotFinalYet) {
		doubts = errors.Join(doubts, ErrQuorumMissing)
	}
	if agreed > 0 && contradicted {
		doubts = errors.Join(doubts, ErrNodesDisagree)
	}
	return agreed >= f.nodes.Required(), doubts
}

// errNotFinalYet says that a node has not come as far as the one that is followed: no doubt, only a reason to wait.
var errNotFinalYet = errors.New("not final to the node yet")

// examineFinal is examine for what must be final to the node itself.
func (f *Follower) examineFinal(ctx context.Context, node *Node, items []store.Deepening) ([]error, error) {
	v, err := f.look(ctx, node, 0)
	if err != nil {
		return nil, err
	}
	final, _ := f.claims(v)
	verdicts, err := f.examine(ctx, node, items)
	if err != nil {
		return nil, err
	}
	for i := range items {
		if verdicts[i] == nil && placeOf(&items[i]).block > final {
			verdicts[i] = fmt.Errorf("%s: %w", node.Name(), errNotFinalYet)
		}
	}
	return verdicts, nil
}

// place is where on the chain something happened.
type place struct {
	block       uint64
	blockHash   sortie.Hash
	transaction sortie.Hash
}

func placeOf(item *store.Deepening) place {
	if item.Refund && item.Closed != nil {
		return place{item.Closed.Block, item.Closed.BlockHash, item.Closed.Transaction}
	}
	return place{item.Funding.Block, item.Funding.BlockHash, item.Funding.Transaction}
}

// examine asks a node about each item and says what of its answers contradicts the ledger: nil for an item that it confirms.
func (f *Follower) examine(ctx context.Context, node *Node, items []store.Deepening) ([]error, error) {
	const questions = 3
	verdicts := make([]error, 0, len(items))
	for len(verdicts) < len(items) {
		part := items[len(verdicts):]
		part = part[:min(len(part), maxBatch/questions)]
		calls := make([]call, 0, questions*len(part))
		for i := range part {
			at := placeOf(&part[i])
			calls = append(calls, headerCall(hexNumber(at.block)), receiptCall(at.transaction),
				missionCall(part[i].Factory, part[i].MissionKey, tagLatest))
		}
		replies, err := f.ask(ctx, node, calls)
		if err != nil {
			return nil, err
		}
		for i := range part {
			verdict := confirm(&part[i], replies[questions*i:questions*(i+1)])
			if verdict != nil {
				verdict = fmt.Errorf("%s on mission %s: %w", node.Name(), part[i].MissionID, verdict)
			}
			verdicts = append(verdicts, verdict)
		}
	}
	return verdicts, nil
}

// confirm holds a node's three answers against an item.
func confirm(item *store.Deepening, replies []reply) error {
	at := placeOf(item)
	h, err := replies[0].header(at.block)
	if err != nil {
		return err
	}
	r, err := replies[1].receipt()
	if err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	m, err := replies[2].mission()
	if err != nil {
		return fmt.Errorf("contract: %w", err)
	}
	switch {
	case h.Hash != at.blockHash:
		return badAnswer("block %d is another one", at.block)
	case r.transaction != at.transaction:
		return badAnswer("the receipt of another transaction")
	case r.blockHash != at.blockHash || r.block != at.block:
		return badAnswer("the transaction is in another block")
	case !r.succeeded:
		return badAnswer("the transaction failed")
	case !m.holds(&item.Draft) || m.reclaimAfter != item.ReclaimAfter:
		return badAnswer("the contract holds something else")
	case item.Refund && (item.Closed == nil || m.closed != item.Closed.Reason):
		return badAnswer("the contract holds the mission open")
	}
	for i := range r.events {
		if isThe(item, &r.events[i]) {
			return nil
		}
	}
	return badAnswer("the receipt has no such log")
}

// isThe reports whether an event is the one that the ledger has stored of an item, in every respect.
func isThe(item *store.Deepening, event *store.ChainEvent) bool {
	at := placeOf(item)
	if event.Factory != item.Factory || event.MissionKey != item.MissionKey || event.Block != at.block || event.BlockHash != at.blockHash ||
		event.Transaction != at.transaction {
		return false
	}
	if item.Refund {
		closed, said := item.Closed, event.Closed
		return said != nil && said.Reason == closed.Reason && said.RefundDeferred == closed.RefundDeferred && said.Refund.Cmp(closed.Refund) == 0
	}
	said := event.Funded
	return said != nil && event.LogIndex == item.LogIndex && said.MissionID == item.MissionID && said.Creator == item.Wallet &&
		said.Token == item.TokenAddress && said.Reward.Cmp(item.Reward) == 0 && said.TargetCount.IsUint64() &&
		said.TargetCount.Uint64() == uint64(item.TargetCount) && said.Nonce == item.Nonce && said.ReclaimAfter == item.ReclaimAfter
}
