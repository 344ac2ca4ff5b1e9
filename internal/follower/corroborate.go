package follower

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// retryConfirm is the pause before unconfirmed items are retried without a new block.
const retryConfirm = 2 * time.Second

// confirmPending confirms fundings and refunds: the block, the receipt of the transaction and the
// state of the contract must all match the log. To begin the review the followed node is enough;
// what money depends on needs as many nodes as [chain.Nodes.Required], each with a block that is
// final to itself.
func (f *Follower) confirmPending(ctx context.Context, v headView, progress *Progress) error {
	position := progress.Position
	now := f.config.Clock()
	final := f.finalAt(position, blockRange{after: position.Tip})
	if position.Tip.Number == f.lastConfirm.tip && final == f.lastConfirm.final && now.Sub(f.lastConfirm.at) < retryConfirm {
		return nil
	}
	f.lastConfirm.tip, f.lastConfirm.final, f.lastConfirm.at = position.Tip.Number, final, now

	confirmed := position.Tip.Number + 1 - min(f.config.Confirmations, position.Tip.Number+1)
	var place onchain.ConfirmationPlace
	var doubts error
	defer func() { f.monitor.settle(aboutFundings, doubts) }()
	for page := 0; page < maxConfirmPages; page++ { // contradicted items stay at the front; later pages have the others
		due, next, err := f.ledger.PendingConfirmations(ctx, f.chainID, confirmed, final, place)
		if err != nil {
			return ledgerFault(err)
		}
		found := f.corroborate(ctx, v.node, due)
		doubts = errors.Join(doubts, found.doubts)
		f.noteUnverified(ctx, found)
		f.reconsider(ctx, found.contradicted, progress)
		if len(found.agreed) > 0 {
			return f.storeConfirmed(ctx, v, final, found.agreed, progress)
		}
		if place = next; place == (onchain.ConfirmationPlace{}) {
			break
		}
	}
	return nil
}

// maxConfirmPages is the number of pages without a confirmed item that one step reads.
const maxConfirmPages = 16

// storeConfirmed stores confirmed items.
func (f *Follower) storeConfirmed(ctx context.Context, v headView, final uint64, agreed []onchain.Confirmation, progress *Progress) (err error) {
	position := progress.Position
	if final > position.Final { // the ledger locks nothing above its final block
		progress.Position, err = f.ledger.Advance(ctx, onchain.Advance{
			ChainID: f.chainID, Was: position, After: position.Tip, Head: max(position.Head, position.Tip.Number), Final: final,
		})
		if err != nil {
			return ledgerFault(err)
		}
		f.monitor.moved(progress.Position, v.head.Number)
	}
	if err := f.ledger.Confirm(ctx, agreed); err != nil {
		return ledgerFault(err)
	}
	progress.Confirmed = len(agreed)
	progress.More = true // there may be more items
	f.lastConfirm.at = time.Time{}
	f.monitor.update(func(s *Status) { s.Confirmed += uint64(len(agreed)) })
	return nil
}

// reconsider compares contradicted items with the contract at once, so that a row made by a lying
// node is removed soon.
func (f *Follower) reconsider(ctx context.Context, contradicted []onchain.Confirmation, progress *Progress) {
	page := make([]onchain.Expected, 0, min(len(contradicted), reconcilePage))
	for i := range contradicted[:cap(page)] {
		page = append(page, onchain.Expected{Terms: contradicted[i].Terms, Funding: &contradicted[i].Funding})
	}
	var report Report
	if err := f.reconcileAll(ctx, progress.Position, page, &report); err != nil {
		f.config.Logger.Info("what nodes contradict could not be compared with the contract", "error", err)
	}
	progress.More = progress.More || report.Repaired > 0
}

// findings are the answers of nodes about items.
type findings struct {
	agreed       []onchain.Confirmation // enough nodes confirm them
	contradicted []onchain.Confirmation // a node contradicts them
	unverified   []onchain.Confirmation // a node that answers does not confirm them
	doubts       error                  // all of them
}

func (f *findings) note(item onchain.Confirmation, enough bool, doubt error, verdict error) {
	f.doubts = errors.Join(f.doubts, doubt)
	if enough {
		f.agreed = append(f.agreed, item)
		return
	}
	if errors.Is(doubt, chain.ErrBadAnswer) {
		f.contradicted = append(f.contradicted, item)
	}
	if verdict != nil && !errors.Is(verdict, errNotFinalYet) {
		f.unverified = append(f.unverified, item)
	}
}

// corroborate asks nodes about items. What money depends on is first: a funding that may be locked
// is confirmed at the same time.
func (f *Follower) corroborate(ctx context.Context, followed *chain.Node, due []onchain.Confirmation) (found findings) {
	var begin, money []onchain.Confirmation
	for _, item := range due {
		if item.To == mission.DepthConfirmed && !item.Refund {
			begin = append(begin, item)
		} else {
			money = append(money, item)
		}
	}
	if len(money) > 0 {
		votes := pollNodes(ctx, f, func(ctx context.Context, node *chain.Node) ([]error, error) { return f.examineFinal(ctx, node, money) })
		for i, item := range money {
			enough, doubt := f.enough(votes, i)
			found.note(item, enough, doubt, worst(votes, i))
		}
	}
	done := make(map[string]bool, len(found.agreed))
	for _, item := range found.agreed {
		done[item.Terms.DraftID] = true
	}
	begin = slices.DeleteFunc(begin, func(item onchain.Confirmation) bool { return done[item.Terms.DraftID] })
	verdicts, err := f.examine(ctx, followed, begin)
	found.doubts = errors.Join(found.doubts, err)
	for i, verdict := range verdicts {
		found.note(begin[i], verdict == nil, verdict, verdict)
	}
	return found
}

// worst returns what a node that answered reports against the i-th item, except that it is not
// final yet.
func worst(votes []chain.Vote[[]error], i int) error {
	for _, v := range votes {
		if v.Err == nil && v.Value[i] != nil && !errors.Is(v.Value[i], errNotFinalYet) {
			return v.Value[i]
		}
	}
	return nil
}

// enough counts the nodes that confirm the i-th item. It may return true together with doubts of
// other nodes.
func (f *Follower) enough(votes []chain.Vote[[]error], i int) (enough bool, doubts error) {
	agreed := 0
	for _, v := range votes {
		switch {
		case v.Err != nil:
			doubts = errors.Join(doubts, v.Err)
		case v.Value[i] == nil:
			agreed++
		default:
			doubts = errors.Join(doubts, v.Value[i])
		}
	}
	contradicted := errors.Is(doubts, chain.ErrBadAnswer)
	if agreed < f.nodes.Required() && !contradicted && !errors.Is(doubts, errNotFinalYet) {
		doubts = errors.Join(doubts, chain.ErrQuorumMissing)
	}
	if agreed > 0 && contradicted {
		doubts = errors.Join(doubts, chain.ErrNodesDisagree)
	}
	return agreed >= f.nodes.Required(), doubts
}

// errNotFinalYet says that a node has not reached the block of the followed node. It is not a
// doubt.
var errNotFinalYet = errors.New("not final to the node yet")

// examineFinal is examine for items that must be final to the node itself.
func (f *Follower) examineFinal(ctx context.Context, node *chain.Node, items []onchain.Confirmation) ([]error, error) {
	v, err := f.readHead(ctx, node, eventOf(&items[0]).Block)
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

// eventOf is the event that must be on the chain for an item: the ledger's funding or closing, with
// the terms of the draft.
func eventOf(item *onchain.Confirmation) *onchain.Event {
	event := &onchain.Event{Factory: item.Factory, MissionKey: item.MissionKey}
	if item.Refund {
		event.Kind, event.Block, event.BlockHash, event.Transaction = onchain.EventMissionClosed, item.Closed.Block, item.Closed.BlockHash, item.Closed.Transaction
		event.Closed = &onchain.MissionClosed{Refund: item.Closed.Refund, RefundDeferred: item.Closed.RefundDeferred, Reason: item.Closed.Reason}
		return event
	}
	event.Kind, event.Block, event.BlockHash, event.Transaction = onchain.EventMissionFunded, item.Block, item.BlockHash, item.Transaction
	event.LogIndex = item.LogIndex
	event.Funded = &onchain.MissionFunded{
		MissionID: item.MissionID, Creator: item.Creator, Token: item.Token, Reward: item.Reward,
		TargetCount: big.NewInt(int64(item.TargetCount)), Nonce: item.Nonce, ReclaimAfter: item.ReclaimAfter,
	}
	return event
}

// examine returns what a node's answers say against each item; nil: it confirms it. It fails only
// if the node does not answer.
func (f *Follower) examine(ctx context.Context, node *chain.Node, items []onchain.Confirmation) ([]error, error) {
	if len(items) == 0 {
		return nil, nil
	}
	expected := make([]*onchain.Event, len(items))
	for i := range items {
		expected[i] = eventOf(&items[i])
	}
	proofs, err := f.prove(ctx, node, expected)
	if err != nil {
		return nil, err
	}
	headers, err := f.headersOf(ctx, node, expected)
	if err != nil {
		return nil, err
	}
	verdicts := make([]error, 0, len(items))
	for part := range slices.Chunk(items, chain.MaxCalls-1) {
		calls := make([]chain.Call, len(part))
		for i := range part {
			calls[i] = chain.MissionCall(part[i].Factory, part[i].MissionKey, chain.TagLatest)
		}
		replies, err := f.ask(ctx, node, calls) // after the others, so that a node that switched to another chain is noticed
		if err != nil {
			return nil, err
		}
		for i := range part {
			at := len(verdicts)
			verdict := compareWithNode(&part[i], headers[expected[at].Block], replies[i])
			if verdict == nil {
				verdict = proofs[at]
			}
			if verdict != nil {
				verdict = fmt.Errorf("%s on mission %s: %w", node.Name(), part[i].MissionID, verdict)
			}
			verdicts = append(verdicts, verdict)
		}
	}
	return verdicts, nil
}

// headersOf reads the headers of the events' blocks, each once.
func (f *Follower) headersOf(ctx context.Context, node *chain.Node, events []*onchain.Event) (map[uint64]chain.Reply, error) {
	headers := make(map[uint64]chain.Reply)
	var numbers []uint64
	for _, event := range events {
		if _, known := headers[event.Block]; !known {
			headers[event.Block] = chain.Reply{}
			numbers = append(numbers, event.Block)
		}
	}
	for part := range slices.Chunk(numbers, chain.MaxCalls-1) {
		calls := make([]chain.Call, len(part))
		for i, number := range part {
			calls[i] = chain.HeaderCall(chain.HexNumber(number))
		}
		replies, err := f.ask(ctx, node, calls)
		if err != nil {
			return nil, err
		}
		for i, number := range part {
			headers[number] = replies[i]
		}
	}
	return headers, nil
}

// compareWithNode compares an item with a node's block and contract state.
func compareWithNode(item *onchain.Confirmation, block, state chain.Reply) error {
	expected := eventOf(item)
	h, err := block.Header(expected.Block)
	if err != nil {
		return err
	}
	m, err := state.Mission()
	switch {
	case err != nil:
		return fmt.Errorf("contract: %w", err)
	case h.Hash != expected.BlockHash:
		return chain.BadAnswer("block %d is another one", expected.Block)
	case !m.Holds(&item.Terms) || m.ReclaimAfter != item.ReclaimAfter:
		return chain.BadAnswer("the contract holds something else")
	case item.Refund && m.Closed != item.Closed.Reason:
		return chain.BadAnswer("the contract holds the mission as it is")
	}
	return nil
}
