package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

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
	agreed, contradicted, doubts := f.corroborate(ctx, v.node, due)
	f.monitor.settle(aboutFundings, doubts)
	f.reconsider(ctx, contradicted, progress)
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

// reconsider compares what a node contradicts with the contract at once, rather than when everything is compared next: a row
// that a lie made must not outlive it.
func (f *Follower) reconsider(ctx context.Context, contradicted []store.Deepening, progress *Progress) {
	page := make([]store.Expected, 0, min(len(contradicted), reconcilePage))
	for i := range contradicted[:cap(page)] {
		page = append(page, store.Expected{Draft: contradicted[i].Draft, Funding: &contradicted[i].Funding})
	}
	var report Report
	if err := f.reconcileAll(ctx, progress.Position, page, &report); err != nil {
		f.config.Logger.Info("what nodes contradict could not be compared with the contract", "error", err)
	}
	progress.More = progress.More || report.Repaired > 0
}

// corroborate gives the items that the chain confirms, those that a node contradicts, and the doubts about them. What money
// depends on comes first: a funding that may be locked is confirmed with it, and need not be asked about again.
func (f *Follower) corroborate(ctx context.Context, followed *Node, due []store.Deepening) (agreed, contradicted []store.Deepening, doubts error) {
	var begin, money []store.Deepening
	for _, item := range due {
		if item.To == depthConfirmed && !item.Refund {
			begin = append(begin, item)
		} else {
			money = append(money, item)
		}
	}
	done := make(map[string]bool)
	note := func(item store.Deepening, enough bool, doubt error) {
		doubts = errors.Join(doubts, doubt)
		if enough {
			done[item.Draft.ID] = true
			agreed = append(agreed, item)
		} else if errors.Is(doubt, errBadAnswer) {
			contradicted = append(contradicted, item)
		}
	}
	if len(money) > 0 {
		votes := pollNodes(ctx, f, func(ctx context.Context, node *Node) ([]error, error) { return f.examineFinal(ctx, node, money) })
		for i, item := range money {
			enough, doubt := f.enough(votes, i)
			note(item, enough, doubt)
		}
	}
	begin = slices.DeleteFunc(begin, func(item store.Deepening) bool { return done[item.Draft.ID] })
	verdicts, err := f.examine(ctx, followed, begin)
	doubts = errors.Join(doubts, err)
	for i, verdict := range verdicts {
		note(begin[i], verdict == nil, verdict)
	}
	return agreed, contradicted, doubts
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
	v, err := f.look(ctx, node, eventOf(&items[0]).Block)
	if err != nil {
		return nil, err
	}
	final, _ := f.claims(v)
	verdicts, err := f.examine(ctx, node, items)
	if err != nil {
		return nil, err
	}
	for i := range items {
		if verdicts[i] == nil && eventOf(&items[i]).Block > final {
			verdicts[i] = fmt.Errorf("%s: %w", node.Name(), errNotFinalYet)
		}
	}
	return verdicts, nil
}

// eventOf is the event that the chain must have for an item to be true: what the ledger noted of it, with the terms that the
// draft promised.
func eventOf(item *store.Deepening) *store.ChainEvent {
	event := &store.ChainEvent{Factory: item.Factory, MissionKey: item.MissionKey}
	if item.Refund {
		event.Kind, event.Block, event.BlockHash, event.Transaction = store.EventMissionClosed, item.Closed.Block, item.Closed.BlockHash, item.Closed.Transaction
		event.Closed = &store.MissionClosed{Refund: item.Closed.Refund, RefundDeferred: item.Closed.RefundDeferred, Reason: item.Closed.Reason}
		return event
	}
	event.Kind, event.Block, event.BlockHash, event.Transaction = store.EventMissionFunded, item.Block, item.BlockHash, item.Transaction
	event.LogIndex = item.LogIndex
	event.Funded = &store.MissionFunded{
		MissionID: item.MissionID, Creator: item.Wallet, Token: item.TokenAddress, Reward: item.Reward,
		TargetCount: big.NewInt(int64(item.TargetCount)), Nonce: item.Nonce, ReclaimAfter: item.ReclaimAfter,
	}
	return event
}

// examine asks a node about each item and says what of its answers contradicts the ledger: nil for an item that it confirms.
func (f *Follower) examine(ctx context.Context, node *Node, items []store.Deepening) ([]error, error) {
	const questions = 3
	verdicts := make([]error, 0, len(items))
	for len(verdicts) < len(items) {
		part := items[len(verdicts):]
		part = part[:min(len(part), maxCalls/questions)]
		calls := make([]call, 0, questions*len(part))
		for i := range part {
			event := eventOf(&part[i])
			calls = append(calls, headerCall(hexNumber(event.Block)), receiptCall(event.Transaction),
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
	expected := eventOf(item)
	h, err := replies[0].header(expected.Block)
	if err != nil {
		return err
	}
	m, err := replies[2].mission()
	switch {
	case err != nil:
		return fmt.Errorf("contract: %w", err)
	case h.Hash != expected.BlockHash:
		return badAnswer("block %d is another one", expected.Block)
	case !m.holds(&item.Draft) || m.reclaimAfter != item.ReclaimAfter:
		return badAnswer("the contract holds something else")
	case item.Refund && m.closed != item.Closed.Reason:
		return badAnswer("the contract holds the mission as it is")
	}
	return replies[1].hasEvent(expected)
}
