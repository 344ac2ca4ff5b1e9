// Package follower follows a chain: it adds blocks and events to a ledger, and removes those that a
// reorganization replaced.
//
// It reads through internal/chain, checks blocks and events against each other, and has several
// nodes confirm what money depends on. The ledger decides what an event means for a mission.
package follower

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// Ledger stores what a follower reads from a chain. Each method that writes is one transaction.
type Ledger interface {
	// Position is how far the chain was followed; [onchain.ErrNotFound] before the first block.
	Position(ctx context.Context, chainID uint64) (onchain.Position, error)
	// Begin stores the first position.
	Begin(ctx context.Context, chainID uint64, start onchain.Block) error
	// EarliestInterest is a time before which no event concerns the service.
	EarliestInterest(ctx context.Context) (time.Time, error)
	// Tail returns followed blocks below a number, newest first.
	Tail(ctx context.Context, chainID, below uint64, limit int) ([]onchain.Block, error)
	// Factories are the contracts whose events count.
	Factories(ctx context.Context, chainID uint64) ([]sortie.Address, error)
	// Advance moves the position and applies the events. It fails with [onchain.ErrConflict] after
	// a concurrent move.
	Advance(ctx context.Context, advance onchain.Advance) (onchain.Position, error)
	// PendingConfirmations lists in pages what the chain may confirm now; Confirm stores that it
	// did. The next page begins at next, which is zero after the last.
	PendingConfirmations(ctx context.Context, chainID, confirmedUpTo, lockedUpTo uint64, after onchain.ConfirmationPlace) (page []onchain.Confirmation, next onchain.ConfirmationPlace, err error)
	Confirm(ctx context.Context, deepenings []onchain.Confirmation) error
	// OpenMissions lists in pages what the chain should hold. Adopt and Retract repair differences.
	OpenMissions(ctx context.Context, chainID uint64, after string, limit int) (missions []onchain.Expected, next string, err error)
	Adopt(ctx context.Context, chainID uint64, event onchain.Event) error
	Retract(ctx context.Context, chainID uint64, event onchain.Event) error
	// SetAside reports, before Advance moves past a block, that some of its events are left out.
	// PassPage lists the unfunded drafts that must be compared with the contract for that, and
	// PassCompared stores that a page was.
	SetAside(ctx context.Context, chainID uint64, block onchain.Block, detail string) error
	PassPage(ctx context.Context, chainID uint64, limit int) (onchain.PassPage, error)
	PassCompared(ctx context.Context, chainID uint64, page onchain.PassPage, settled bool) (more bool, err error)
	// ReportIncident opens an incident for an operator. ResolveIncidents resolves those of a kind.
	ReportIncident(ctx context.Context, kind, detail string, halting bool) error
	ResolveIncidents(ctx context.Context, kind string) error
}

// Finality is the depth at which a block is final; the newest block has depth one. [Finalized] uses
// the chain's own finality.
type Finality uint64

// Finalized is the finality of chains whose nodes support the "finalized" tag.
const Finalized Finality = 0

// ParseFinality parses "finalized" or a number of blocks.
func ParseFinality(text string) (Finality, error) {
	if text == chain.TagFinalized {
		return Finalized, nil
	}
	blocks, err := strconv.ParseUint(text, 10, 32)
	if err != nil || blocks == 0 {
		return 0, fmt.Errorf("finality %.20q: want finalized, or a number of blocks from 1", text)
	}
	return Finality(blocks), nil
}

// String formats the finality for [ParseFinality].
func (f Finality) String() string {
	if f == Finalized {
		return chain.TagFinalized
	}
	return strconv.FormatUint(uint64(f), 10)
}

// Config configures a [Follower]. Nodes, Ledger and ChainID are required.
type Config struct {
	Nodes         *chain.Nodes
	Ledger        Ledger
	ChainID       uint64
	Confirmations uint64 // depth at which a funding is confirmed; 0: 2
	Finality      Finality
	// MaxClockLead is how far a block's time may be ahead of this machine's clock; 0: 15 minutes. A
	// development chain that jumps in time needs more.
	MaxClockLead time.Duration
	Clock        func() time.Time // nil: time.Now
	Logger       *slog.Logger     // nil: slog.Default()
	// OnHead is called with the number and time of a node's newest block after each read; may be
	// nil.
	OnHead     func(number uint64, at time.Time)
	OnProgress func(Progress) // called by Run after each step that changed something; may be nil
}

func (c Config) withDefaults() Config {
	if c.Confirmations == 0 {
		c.Confirmations = onchain.DefaultConfirmations
	}
	if c.MaxClockLead == 0 {
		c.MaxClockLead = 15 * time.Minute
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.OnHead == nil {
		c.OnHead = func(uint64, time.Time) {}
	}
	if c.OnProgress == nil {
		c.OnProgress = func(Progress) {}
	}
	return c
}

// Follower follows one node as long as it answers, and another if not. What money depends on needs
// as many nodes as [chain.Nodes.Required].
//
// The ledger receives only blocks that are linked to its own. An impossible answer is refused as a
// whole, raises an alarm, and is requested again.
//
// Converge and Run are for one goroutine; Status, Wake and Reconcile are safe for concurrent use.
type Follower struct {
	config  Config
	nodes   *chain.Nodes
	ledger  Ledger
	chainID uint64
	monitor *monitor
	wake    chan struct{}
	after   func(time.Duration) <-chan time.Time // replaced in tests
	within  func(context.Context, time.Duration) (context.Context, context.CancelFunc)

	current     *chain.Node // the node that answered last
	moved       time.Time   // when a block was last applied
	lagging     time.Time   // since when no node has had the tip; zero: a node has
	pace        pace
	tipSize     adaptive // blocks per request near the head
	rangeSize   adaptive // blocks per request below finality
	filter      *chain.LogFilter
	final       uint64 // newest block that enough nodes call final
	lastConfirm struct {
		tip, final uint64
		at         time.Time
	} // the last run of confirmPending
	obstacles  obstacles
	passing    sortie.Hash // the block whose unverified events are set aside in this step; zero: none
	stuck      stuck
	unverified map[string]*failing // unconfirmed items by draft
}

// New returns a follower. It makes no request.
func New(config Config) *Follower {
	config = config.withDefaults()
	return &Follower{
		config: config, nodes: config.Nodes, ledger: config.Ledger, chainID: config.ChainID,
		monitor: newMonitor(config.Clock, config.Logger), wake: make(chan struct{}, 1), after: time.After, within: context.WithTimeout,
		moved: config.Clock(), tipSize: newAdaptive(maxTipBlocks), rangeSize: newAdaptive(maxRangeBlocks),
		filter: chain.NewLogFilter(nil), unverified: make(map[string]*failing),
	}
}

// Status returns the status. It is safe for concurrent use.
func (f *Follower) Status() Status { return f.monitor.snapshot() }

// Progress is the change of one step.
type Progress struct {
	Position  onchain.Position
	Head      uint64 // the node's newest block
	Blocks    uint64 // applied
	Events    int    // applied
	Reorg     uint64 // removed blocks
	Confirmed int
	More      bool // the next step has work
}

func (p Progress) changed() bool { return p.Blocks > 0 || p.Reorg > 0 || p.Confirmed > 0 }

var (
	// errLedger marks errors of the ledger, which no node caused.
	errLedger = errors.New("ledger")
	// errLagging says that a node does not have the tip yet. That is no reorganization.
	errLagging = errors.New("the node does not have the newest followed block yet")
)

func ledgerFault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errLedger, err)
}

// maxStep is the timeout of one step.
const maxStep = time.Minute

// Converge does one step: it reads a range of blocks from a node and stores it. It tries the nodes
// in turn. It fails if no node answered, or if the ledger refused the range; the ledger is
// unchanged then, and a later call retries. Nodes that lag are no failure.
func (f *Follower) Converge(caller context.Context) (Progress, error) {
	ctx, cancel := f.within(caller, maxStep)
	defer cancel()
	progress, err := f.converge(caller, ctx)
	if errors.Is(err, errLedger) && ctx.Err() == nil && !errors.Is(err, onchain.ErrConflict) {
		f.monitor.raise(AlarmLedger, "", err.Error())
	} else if err == nil {
		f.monitor.clear("", AlarmLedger)
	}
	return progress, err
}

// converge works in ctx, which has the timeout of the step, unlike the caller's context.
func (f *Follower) converge(caller, ctx context.Context) (Progress, error) {
	position, err := f.ledger.Position(ctx, f.chainID)
	if errors.Is(err, onchain.ErrNotFound) {
		position, err = f.begin(ctx)
	} else {
		err = ledgerFault(err)
	}
	if err != nil {
		return Progress{}, err
	}
	f.monitor.moved(position, 0)
	progress, err := f.stepOnSome(caller, ctx, position)
	f.noteStep(caller, position, err)
	if errors.Is(err, errLagging) {
		f.noteLag()
		return Progress{Position: position}, nil
	}
	if err != nil {
		return Progress{Position: position}, err
	}
	return progress, nil
}

// stepOnSome does one step with a node that answers. After enough tries that failed on the same
// obstacle, it does the step without the unverified events. That second try has a timeout of its
// own, and is made unless the caller's context has ended.
func (f *Follower) stepOnSome(caller, ctx context.Context, position onchain.Position) (progress Progress, err error) {
	f.stuck.news = false
	var blocked *obstacle // of any node, also if another one lags
	step := func(node *chain.Node) (err error) {
		progress, err = f.stepOn(ctx, node, position)
		_ = errors.As(err, &blocked)
		return err
	}
	err = f.onSomeNode(ctx, step)
	if err != nil && blocked != nil && caller.Err() == nil && f.exhausted(blocked) {
		var cancel context.CancelFunc
		ctx, cancel = f.within(caller, maxStep)
		defer cancel()
		f.passing = blocked.block.Hash
		err = f.onSomeNode(ctx, step)
		f.passing = sortie.Hash{}
	}
	return progress, err
}

// onSomeNode calls do with the node that answered last, then with the others. It raises alarms
// about nodes that fail. If all fail, the error is errLagging if at least one only lags.
func (f *Follower) onSomeNode(ctx context.Context, do func(*chain.Node) error) error {
	var failures, lagging error
	for _, node := range f.candidates() {
		err := do(node)
		switch {
		case err == nil:
			f.served(node)
			return nil
		case errors.Is(err, errLedger) || ctx.Err() != nil:
			return err
		case errors.Is(err, errLagging):
			lagging = err
		case failures == nil:
			f.blame(node, err)
			failures = err
		default:
			f.blame(node, err)
			failures = fmt.Errorf("%w; %w", failures, err)
		}
	}
	if lagging != nil {
		return lagging
	}
	if failures == nil {
		failures = fmt.Errorf("%w: no node is in use: %s", chain.ErrUnreachable, f.nodes.Problem())
	}
	f.monitor.raise(AlarmUnreachable, "", failures.Error())
	return failures
}

// candidates returns the nodes in use, the last used first. If that has had no new block for long,
// others are first: it may be stuck.
func (f *Follower) candidates() []*chain.Node {
	nodes := f.nodes.InUse()
	first := max(0, slices.Index(nodes, f.current))
	if len(nodes) > 1 && f.config.Clock().Sub(f.moved) > suspectAfter {
		first = (first + 1) % len(nodes)
	}
	return append(slices.Clone(nodes[min(first, len(nodes)):]), nodes[:min(first, len(nodes))]...)
}

func (f *Follower) served(node *chain.Node) {
	if f.current != node {
		if f.current != nil {
			f.config.Logger.Info("following another node", "node", node.Name())
		}
		f.current = node
	}
	f.lagging = time.Time{}
	f.monitor.clear("", AlarmUnreachable, AlarmBehind)
	f.monitor.clear(node.Name(), AlarmUnreachable, AlarmNodeError, AlarmBadAnswer, AlarmWrongChain, AlarmClock, AlarmReplaced,
		AlarmDisagree, AlarmQuorumMissing)
	f.monitor.update(func(s *Status) { s.Node, s.LastAnswer = node.Name(), f.config.Clock() })
}

// blame raises the alarm for an error of a node.
func (f *Follower) blame(node *chain.Node, err error) {
	kind := AlarmUnreachable
	switch {
	case errors.Is(err, chain.ErrWrongChain):
		kind = AlarmWrongChain
		f.nodes.Distrust(node, err.Error())
	case errors.Is(err, errFromTheFuture):
		kind = AlarmClock
	case errors.Is(err, errReplaced):
		kind = AlarmReplaced
	case errors.Is(err, chain.ErrNodesDisagree):
		kind = AlarmDisagree
	case errors.Is(err, chain.ErrQuorumMissing):
		kind = AlarmQuorumMissing
	case errors.Is(err, chain.ErrBadAnswer), errors.Is(err, chain.ErrAbsent):
		kind = AlarmBadAnswer
	case chain.IsRefusal(err):
		kind = AlarmNodeError
	}
	f.monitor.raise(kind, node.Name(), err.Error())
}

// pollNodes is [chain.Poll], and updates the alarms about unreachable nodes.
func pollNodes[T any](ctx context.Context, f *Follower, ask func(context.Context, *chain.Node) (T, error)) []chain.Vote[T] {
	votes := chain.Poll(ctx, f.nodes, ask)
	for _, v := range votes {
		switch {
		case v.Err == nil:
			f.monitor.clear(v.Node.Name(), AlarmUnreachable, AlarmNodeError)
		case ctx.Err() == nil && !errors.Is(v.Err, errNoVote) && !errors.Is(v.Err, chain.ErrAbsent):
			f.blame(v.Node, v.Err)
		}
	}
	return votes
}

// quorumOf is [chain.Quorum], and updates the alarms about unreachable nodes.
func quorumOf[T comparable](ctx context.Context, f *Follower, ask func(context.Context, *chain.Node) (T, error)) (T, error) {
	return chain.Tally(pollNodes(ctx, f, ask), f.nodes.Required())
}

// errNoVote is the vote of a node that was not asked.
var errNoVote = errors.New("not asked")

const (
	suspectAfter = 30 * time.Second // without a new block: other nodes are asked
	lagAfter     = time.Minute      // without a node that has the tip: an alarm
	stallAfter   = 5 * time.Minute  // without a new block: an alarm
)

func (f *Follower) noteLag() {
	now := f.config.Clock()
	if f.lagging.IsZero() {
		f.lagging = now
	}
	if now.Sub(f.lagging) >= lagAfter {
		f.monitor.raise(AlarmBehind, "", fmt.Sprintf("no node has had the followed blocks since %s: the nodes are syncing, or went back", f.lagging.Format(time.RFC3339)))
	}
}
