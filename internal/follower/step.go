package follower

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// headView is a node's view of its chain at one moment.
type headView struct {
	node     *chain.Node
	head     *chain.Header
	tip      *chain.Header // its block at the height of the ledger's tip; nil: it has none
	final    *chain.Header // by its finalized tag; nil: see finalErr
	finalErr error         // why it names no final block
}

var errFromTheFuture = errors.New("a block claims to be from the future: check this machine's clock")

// ask sends calls to a node that must be on the followed chain.
func (f *Follower) ask(ctx context.Context, node *chain.Node, calls []chain.Call) ([]chain.Reply, error) {
	return node.BatchOn(ctx, f.chainID, calls)
}

// readHead reads a node's head, its final block and its block at the height of the tip.
func (f *Follower) readHead(ctx context.Context, node *chain.Node, tip uint64) (headView, error) {
	calls := []chain.Call{chain.HeaderCall(chain.TagLatest), chain.HeaderCall(chain.HexNumber(tip))}
	if f.config.Finality == Finalized { // nodes without the tag may refuse the whole batch
		calls = append(calls, chain.HeaderCall(chain.TagFinalized))
	}
	replies, err := f.ask(ctx, node, calls)
	if err != nil {
		return headView{}, err
	}
	v := headView{node: node}
	if v.head, err = replies[0].AnyHeader(); err != nil {
		return headView{}, fmt.Errorf("%s: the newest block: %w", node.Name(), err)
	}
	if v.tip, err = replies[1].Header(tip); err != nil && !errors.Is(err, chain.ErrAbsent) {
		return headView{}, fmt.Errorf("%s: %w", node.Name(), err)
	}
	if len(replies) > 2 {
		v.final, v.finalErr = replies[2].AnyHeader()
	}
	f.config.OnHead(v.head.Number, v.head.Time)
	return v, f.plausible(v.head)
}

// plausible refuses a block whose time is in the future.
func (f *Follower) plausible(h *chain.Header) error {
	if lead := h.Time.Sub(f.config.Clock()); lead > f.config.MaxClockLead {
		return fmt.Errorf("%w: block %d is %s ahead", errFromTheFuture, h.Number, lead.Round(time.Second))
	}
	return nil
}

// stepOn does one step with a node.
func (f *Follower) stepOn(ctx context.Context, node *chain.Node, was onchain.Position) (Progress, error) {
	v, err := f.readHead(ctx, node, was.Tip.Number)
	if err != nil {
		return Progress{}, err
	}
	switch {
	case v.head.Number < was.Tip.Number:
		return Progress{}, errLagging
	case v.tip == nil:
		return Progress{}, fmt.Errorf("%s: block %d, below its newest: %w", node.Name(), was.Tip.Number, chain.ErrAbsent)
	case v.tip.Number == v.head.Number && v.tip.Hash != v.head.Hash:
		return Progress{}, chain.BadAnswer("%s: two blocks %d at the same time", node.Name(), v.head.Number)
	}
	f.stuck.news = f.stuck.news || v.head.Number > was.Tip.Number || v.tip.Hash != was.Tip.Hash
	f.noteFinality(v, was)

	after, err := f.commonAncestor(ctx, v, was)
	if err != nil {
		return Progress{}, err
	}
	progress := Progress{Position: was, Head: v.head.Number, Reorg: was.Tip.Number - after.Number}
	for s, err := range f.blockRanges(ctx, v, after) {
		if err == nil {
			err = f.apply(ctx, v, s, &progress)
		}
		if err != nil && (progress.Blocks == 0 || errors.Is(err, errLedger)) {
			return progress, err
		}
		if err != nil { // the next step begins with what failed
			break
		}
	}
	progress.More = progress.Position.Tip.Number < v.head.Number
	f.noteProgress(v, was, progress)
	f.agreeOnFinal(ctx, v)
	err = f.confirmPending(ctx, v, &progress)
	return progress, err
}

// blockRange is a checked range of blocks after a block of the ledger.
type blockRange struct {
	after  onchain.Block
	blocks []onchain.Block
	events []onchain.Event
}

func (s blockRange) tip() onchain.Block {
	if len(s.blocks) == 0 {
		return s.after
	}
	return s.blocks[len(s.blocks)-1]
}

// commonAncestor returns the block after which the node's chain must be read: the tip, or the last
// common block. It also reads the factories: after the head, because a quote's factory is stored
// before the quote can be paid.
func (f *Follower) commonAncestor(ctx context.Context, v headView, was onchain.Position) (onchain.Block, error) {
	factories, err := f.ledger.Factories(ctx, f.chainID)
	if err != nil {
		return onchain.Block{}, ledgerFault(err)
	}
	if !slices.Equal(factories, f.filter.Factories) {
		f.filter = chain.NewLogFilter(factories)
	}
	if v.tip.Hash == was.Tip.Hash {
		return was.Tip, nil
	}
	return f.lastCommon(ctx, v, was)
}

// maxEvents is the number of events in one transaction, so that other writers do not wait long.
const maxEvents = 8192

// apply stores a range in the ledger, in parts that end with a block.
func (f *Follower) apply(ctx context.Context, v headView, s blockRange, progress *Progress) error {
	for first := true; first || len(s.blocks) > 0; first = false {
		position, piece := progress.Position, s.cut(maxEvents)
		final := f.finalAt(position, piece)
		advance := onchain.Advance{
			ChainID: f.chainID, Was: position, After: piece.after, Blocks: worthKeeping(piece.blocks, final), Events: piece.events,
			Head: v.head.Number, Final: final,
		}
		idle := len(piece.blocks) == 0 && piece.after.Number == position.Tip.Number
		if idle && (advance.Final == position.Final || f.config.Clock().Sub(f.moved) < finalAfter) {
			return nil
		}
		moved, err := f.ledger.Advance(ctx, advance)
		if err != nil {
			return ledgerFault(err)
		}
		progress.Position = moved
		progress.Blocks += moved.Tip.Number - piece.after.Number
		progress.Events += len(piece.events)
	}
	return nil
}

// worthKeeping omits blocks that the ledger would prune at once, but never the last.
func worthKeeping(blocks []onchain.Block, final uint64) []onchain.Block {
	for len(blocks) > 1 && blocks[0].Number+onchain.KeptBlocks < final {
		blocks = blocks[1:]
	}
	return blocks
}

// finalAfter is how long a new final block waits to be stored together with the next block.
const finalAfter = 2 * time.Second

// cut removes and returns the first blocks of a range with at most so many events, but at least one
// block.
func (s *blockRange) cut(limit int) blockRange {
	if len(s.events) <= limit {
		whole := *s
		*s = blockRange{after: s.tip()}
		return whole
	}
	end, blocks := 0, 0
	for _, block := range s.blocks {
		next := end
		for next < len(s.events) && s.events[next].Block <= block.Number {
			next++
		}
		if blocks > 0 && next > limit {
			break
		}
		end = next
		blocks++
	}
	piece := blockRange{s.after, s.blocks[:blocks], s.events[:end]}
	*s = blockRange{piece.tip(), s.blocks[blocks:], s.events[end:]}
	return piece
}

func (f *Follower) noteProgress(v headView, was onchain.Position, progress Progress) {
	now := f.config.Clock()
	switch {
	case progress.Blocks > 0:
		f.moved = now
		f.monitor.clear("", AlarmStalled)
	case now.Sub(f.moved) >= stallAfter:
		f.monitor.raise(AlarmStalled, "", fmt.Sprintf("no block after block %d since %s: does the chain make blocks?", was.Tip.Number, f.moved.Format(time.RFC3339)))
	}
	if progress.Blocks > 0 && progress.Reorg == 0 {
		f.pace.observe(was.Tip, progress.Position.Tip)
	}
	if progress.Reorg > 0 {
		f.config.Logger.Warn("chain reorganized", "depth", progress.Reorg, "ancestor", was.Tip.Number-progress.Reorg, "node", v.node.Name())
	}
	f.monitor.moved(progress.Position, v.head.Number)
	f.monitor.update(func(s *Status) {
		s.Blocks += progress.Blocks
		s.Events += uint64(progress.Events)
		s.Interval = f.pace.interval()
		if progress.Blocks > 0 {
			s.LastProgress = now
		}
		if progress.Reorg > 0 {
			s.Reorgs++
			s.DeepestReorg = max(s.DeepestReorg, progress.Reorg)
		}
	})
}
