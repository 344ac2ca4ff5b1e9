package follower

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/onchain"
)

const (
	maxTipBlocks   = 64
	maxRangeBlocks = 2000
	maxRanges      = 8 // in one step
)

// blockRanges reads the blocks after a block: one range near the head, several below finality,
// where the next range is read while the ledger stores the one before.
func (f *Follower) blockRanges(ctx context.Context, v headView, after onchain.Block) iter.Seq2[blockRange, error] {
	final := min(f.final, v.head.Number)
	if final <= after.Number+maxTipBlocks {
		return func(yield func(blockRange, error) bool) { yield(f.readTip(ctx, v, after)) }
	}
	type outcome struct {
		blockRange
		err error
	}
	return func(yield func(blockRange, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		outcomes := make(chan outcome)
		defer func() {
			cancel()
			for range outcomes { // until the reader has ended
			}
		}()
		go func() {
			defer close(outcomes)
			for count := 0; count < maxRanges && final > after.Number+maxTipBlocks && ctx.Err() == nil; count++ {
				s, err := f.readRange(ctx, v.node, after, final)
				select {
				case outcomes <- outcome{s, err}:
				case <-ctx.Done():
				}
				if err != nil {
					return
				}
				after = s.tip()
			}
		}()
		for o := range outcomes {
			if !yield(o.blockRange, o.err) {
				return
			}
		}
	}
}

// adaptive is the size of a request: it halves after a failure and grows after a success.
type adaptive struct{ size, most uint64 }

func newAdaptive(most uint64) adaptive { return adaptive{most, most} }

func (a *adaptive) shrink() { a.size = max(1, a.size/2) }
func (a *adaptive) grow()   { a.size = min(a.most, a.size+max(1, a.size/8)) }

// adapt adjusts the size of the next request. Errors about size cannot be distinguished from
// others, except from unreachable nodes and rate limits.
func (a *adaptive) adapt(err error) {
	switch {
	case err == nil:
		a.grow()
	case errors.Is(err, context.Canceled), chain.IsAway(err):
	default:
		a.shrink()
	}
}

// readTip reads blocks that may still be replaced: every header, linked to its parent, and the logs
// of each block by hash. By number, a load balancer could answer from a node that lacks the block,
// with no logs.
func (f *Follower) readTip(ctx context.Context, v headView, after onchain.Block) (blockRange, error) {
	to := min(v.head.Number, after.Number+f.tipSize.size)
	if to == after.Number {
		return blockRange{after: after}, nil
	}
	s, err := f.readBlocks(ctx, v, after, to)
	f.tipSize.adapt(err)
	return s, err
}

func (f *Follower) readBlocks(ctx context.Context, v headView, after onchain.Block, to uint64) (blockRange, error) {
	headers, err := f.linkedHeaders(ctx, v, after, to)
	if err != nil {
		return blockRange{}, err
	}
	s := blockRange{after: after, blocks: make([]onchain.Block, len(headers))}
	calls := make([]chain.Call, len(headers))
	for i, h := range headers {
		s.blocks[i], calls[i] = h.Block, f.filter.BlockCall(h.Hash)
	}
	if len(f.filter.Factories) == 0 {
		return s, nil
	}
	replies, err := v.node.Batch(ctx, calls)
	if err != nil {
		return blockRange{}, err
	}
	for i, h := range headers {
		events, err := f.eventsIn(ctx, v.node, replies[i], h)
		if blocks := errors.As(err, new(*obstacle)); blocks && i > 0 {
			s.blocks = s.blocks[:i] // the next step begins with it
			break
		}
		if err != nil {
			return blockRange{}, fmt.Errorf("%s: logs of block %d: %w", v.node.Name(), h.Number, err)
		}
		s.events = append(s.events, events...)
	}
	return f.proved(ctx, v.node, s)
}

// eventsIn decodes the reply to the log request of one block.
func (f *Follower) eventsIn(ctx context.Context, node *chain.Node, r chain.Reply, h *chain.Header) ([]onchain.Event, error) {
	logs, err := r.Value()
	if chain.RefusedAlone(err) {
		return f.eventsByKind(ctx, node, h)
	}
	if err != nil {
		return nil, err
	}
	events, err := f.filter.Events(logs, h.Number, h.Number)
	if err != nil {
		return nil, err
	}
	return events, f.filter.CheckInBlock(events, h)
}

// eventsByKind reads the events of a block kind by kind, if the node refuses to return all at once.
// Kinds that it still refuses are an obstacle.
func (f *Follower) eventsByKind(ctx context.Context, node *chain.Node, h *chain.Header) (events []onchain.Event, err error) {
	var unread error
	for kind, one := range f.filter.ByKind() {
		replies, err := node.Batch(ctx, []chain.Call{one.BlockCall(h.Hash)})
		if err != nil {
			return nil, err
		}
		logs, err := replies[0].Value()
		switch {
		case chain.RefusedAlone(err):
			unread = errors.Join(unread, fmt.Errorf("%s: %w", kind, err))
			continue
		case err != nil:
			return nil, err
		}
		some, err := f.filter.Events(logs, h.Number, h.Number)
		if err != nil {
			return nil, err
		}
		events = append(events, some...)
	}
	slices.SortFunc(events, func(a, b onchain.Event) int { return cmp.Compare(a.LogIndex, b.LogIndex) })
	if err := f.filter.CheckInBlock(events, h); err != nil {
		return nil, err
	}
	if unread == nil {
		return events, nil
	}
	if f.passing != h.Hash || !f.givesLogs(ctx, node, h) {
		return nil, &obstacle{h.Block, unread}
	}
	return events, f.setAside(ctx, h.Block, fmt.Sprintf("The node does not give its logs: %v.", unread))
}

// givesLogs reports whether a node answers a small log request about a block. If not, its refusals
// say nothing about the block.
func (f *Follower) givesLogs(ctx context.Context, node *chain.Node, h *chain.Header) bool {
	one := chain.NewLogFilter(f.filter.Factories)
	one.Only(onchain.EventMissionFunded, sortie.Hash{})
	replies, err := node.Batch(ctx, []chain.Call{one.BlockCall(h.Hash)})
	return err == nil && replies[0].Err == nil
}

// proved verifies the fundings and closings of a range. An unverified one makes its block an
// obstacle. To pass it, the range is cut before it, or, if it is the first block, loses the
// unverified events.
func (f *Follower) proved(ctx context.Context, node *chain.Node, s blockRange) (blockRange, error) {
	var money []*onchain.Event
	for i := range s.events {
		if event := &s.events[i]; event.Funded != nil || event.Closed != nil {
			money = append(money, event)
		}
	}
	if len(money) == 0 {
		return s, nil
	}
	verdicts, err := f.prove(ctx, node, money)
	if err != nil {
		return blockRange{}, err
	}
	doubted := slices.IndexFunc(verdicts, func(verdict error) bool { return verdict != nil })
	if doubted < 0 {
		return s, nil
	}
	block := onchain.Block{Number: money[doubted].Block, Hash: money[doubted].BlockHash}
	why := fmt.Errorf("%s: transaction %s: %w", node.Name(), money[doubted].Transaction, verdicts[doubted])
	switch {
	case f.passing != block.Hash: // other answers of the node may be wrong, too
		return blockRange{}, &obstacle{block, why}
	case block.Number > s.after.Number+1:
		return f.before(ctx, node, s, block.Number)
	}
	for i, event := range money {
		if verdicts[i] != nil && event.Block == block.Number {
			event.Kind = "" // marks it for deletion
		}
	}
	s.events = slices.DeleteFunc(s.events, func(event onchain.Event) bool { return event.Kind == "" || event.Block > block.Number })
	s.blocks = s.blocks[:1]
	return s, f.setAside(ctx, block, fmt.Sprintf("Not verified: %v.", why))
}

// before cuts a range before a block.
func (f *Follower) before(ctx context.Context, node *chain.Node, s blockRange, number uint64) (blockRange, error) {
	s.events = slices.DeleteFunc(s.events, func(event onchain.Event) bool { return event.Block >= number })
	s.blocks = slices.DeleteFunc(s.blocks, func(block onchain.Block) bool { return block.Number >= number })
	if last := s.tip().Number; last == number-1 {
		return s, nil
	}
	headers, err := node.Headers(ctx, []uint64{number - 1}) // a range has only blocks with events
	if err != nil {
		return blockRange{}, err
	}
	s.blocks = append(s.blocks, headers[0].Block)
	return s, f.plausible(headers[0])
}

// linkedHeaders reads the headers after a block. Each must name its parent's hash.
func (f *Follower) linkedHeaders(ctx context.Context, v headView, after onchain.Block, to uint64) ([]*chain.Header, error) {
	numbers := make([]uint64, 0, to-after.Number)
	for number := after.Number + 1; number <= to && number < v.head.Number; number++ {
		numbers = append(numbers, number)
	}
	headers, err := v.node.Headers(ctx, numbers)
	if err != nil {
		return nil, err
	}
	if to == v.head.Number {
		headers = append(headers, v.head)
	}
	previous := after
	for _, h := range headers {
		if err := f.link(v.node, previous, h); err != nil {
			return nil, err
		}
		previous = h.Block
	}
	return headers, nil
}

// link checks that a block is the child of another.
func (f *Follower) link(node *chain.Node, previous onchain.Block, h *chain.Header) error {
	if h.Parent != previous.Hash {
		return chain.BadAnswer("%s: block %d does not follow block %d", node.Name(), h.Number, previous.Number)
	}
	return f.plausible(h)
}

// readRange reads final blocks: logs by number, and only the headers of the first block, the last
// block, and the blocks with logs.
func (f *Follower) readRange(ctx context.Context, node *chain.Node, after onchain.Block, final uint64) (blockRange, error) {
	s, err := f.readFinal(ctx, node, after, min(final, after.Number+f.rangeSize.size))
	f.rangeSize.adapt(err)
	return s, err
}

func (f *Follower) readFinal(ctx context.Context, node *chain.Node, after onchain.Block, to uint64) (blockRange, error) {
	from := after.Number + 1
	calls := []chain.Call{chain.HeaderCall(chain.HexNumber(from)), chain.HeaderCall(chain.HexNumber(to)), f.filter.RangeCall(from, to)}
	if len(f.filter.Factories) == 0 {
		calls = calls[:2]
	}
	replies, err := node.Batch(ctx, calls)
	if err != nil {
		return blockRange{}, err
	}
	first, err := replies[0].Header(from)
	if err != nil {
		return blockRange{}, fmt.Errorf("%s: %w", node.Name(), err)
	}
	last, err := replies[1].Header(to)
	if err != nil {
		return blockRange{}, fmt.Errorf("%s: %w", node.Name(), err)
	}
	if err := errors.Join(f.link(node, after, first), f.plausible(last)); err != nil {
		return blockRange{}, err
	}
	s := blockRange{after: after, blocks: []onchain.Block{last.Block}}
	if len(calls) == 2 {
		return s, nil
	}
	if from == to && chain.RefusedAlone(replies[2].Err) {
		s.events, err = f.eventsByKind(ctx, node, first)
	} else {
		s.events, err = f.eventsOfRange(ctx, node, replies[2], from, to)
	}
	if err != nil {
		return blockRange{}, fmt.Errorf("%s: logs of blocks %d to %d: %w", node.Name(), from, to, err)
	}
	if s.blocks, err = f.blocksOf(ctx, node, s.events, first, last); err != nil {
		return blockRange{}, err
	}
	return f.proved(ctx, node, s)
}

// suspicious is the length of a list of logs that a node may have truncated. No known limit is
// lower.
const suspicious = 1000

// eventsOfRange reads the logs of a range. A list that may be truncated is requested again from its
// last block, until there are no new logs.
func (f *Follower) eventsOfRange(ctx context.Context, node *chain.Node, r chain.Reply, from, to uint64) ([]onchain.Event, error) {
	logs, err := r.Value()
	if err != nil {
		return nil, err
	}
	events, err := f.filter.Events(logs, from, to)
	if err != nil {
		return nil, err
	}
	for fresh := len(events); fresh >= suspicious; {
		known := len(events)
		last := events[known-1].Block
		for known > 0 && events[known-1].Block == last {
			known--
		}
		replies, err := node.Batch(ctx, []chain.Call{f.filter.RangeCall(last, to)})
		if err != nil {
			return nil, err
		}
		if logs, err = replies[0].Value(); err != nil {
			return nil, err
		}
		rest, err := f.filter.Events(logs, last, to)
		if err != nil {
			return nil, err
		}
		if len(rest) < len(events)-known {
			return nil, chain.BadAnswer("block %d has %d logs, then %d", last, len(events)-known, len(rest))
		}
		fresh = len(rest) - (len(events) - known)
		events = append(events[:known], rest...)
		if fresh > 0 {
			fresh = suspicious // it may be truncated again
		}
	}
	return events, nil
}

// blocksOf reads the headers of the blocks with events, checks the events, and returns those blocks
// and the last.
func (f *Follower) blocksOf(ctx context.Context, node *chain.Node, events []onchain.Event, first, last *chain.Header) ([]onchain.Block, error) {
	known := map[uint64]*chain.Header{first.Number: first, last.Number: last}
	var numbers []uint64
	for i := range events {
		if number := events[i].Block; known[number] == nil && (len(numbers) == 0 || numbers[len(numbers)-1] != number) {
			numbers = append(numbers, number)
		}
	}
	headers, err := node.Headers(ctx, numbers)
	if err != nil {
		return nil, err
	}
	for _, h := range headers {
		known[h.Number] = h
	}
	var blocks []onchain.Block
	for len(events) > 0 {
		h := known[events[0].Block]
		end := 1
		for end < len(events) && events[end].Block == h.Number {
			end++
		}
		if err := f.filter.CheckInBlock(events[:end], h); err != nil {
			return nil, fmt.Errorf("%s: %w", node.Name(), err)
		}
		if h != last {
			blocks = append(blocks, h.Block)
		}
		events = events[end:]
	}
	return append(blocks, last.Block), nil
}
