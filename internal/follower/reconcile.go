package follower

import (
	"context"
	"errors"
	"fmt"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// Incidents of a reconcile.
const (
	// IncidentTermsDiffer is a mission whose terms in the contract differ from the draft's.
	IncidentTermsDiffer = "terms_differ"
	// IncidentLogMissing is a mission in the contract whose log no node returns.
	IncidentLogMissing = "log_missing"
)

// IncidentKinds lists the kinds of incidents of the follower, for metrics that start at 0.
var IncidentKinds = []string{IncidentTermsDiffer, IncidentLogMissing, IncidentSetAside, IncidentUnverified, IncidentStuck}

// reconcilePage is the number of missions in one request, next to the block and the chain id.
const reconcilePage = chain.MaxCalls - 2

// Report is the result of a reconcile.
type Report struct {
	Block    uint64   // of the contract's state, for the last missions
	Checked  int      // missions compared
	Repaired int      // missions with corrected rows
	Alarms   []string // differences that could not be repaired
	More     bool     // unfunded drafts are left to compare

	unsettled int // missions that differ and were not repaired
}

// maxPassPages is the number of pages of a full pass in one run.
const maxPassPages = 100

// Reconcile compares every open mission in the contracts with the ledger, and repairs the ledger:
// it adopts a missed funding or closing, and retracts a funding that the chain does not have. It
// shares no state with Converge: both may run at once, also in different processes.
//
// It returns the error of the first page that could not be read, and a report about the pages
// before it.
func (f *Follower) Reconcile(ctx context.Context) (Report, error) {
	var report Report
	for after := ""; ; {
		position, err := f.ledger.Position(ctx, f.chainID) // before the rows: what is newer is not compared
		if err != nil {
			return report, fmt.Errorf("reconcile: %w", err)
		}
		page, next, err := f.ledger.OpenMissions(ctx, f.chainID, after, reconcilePage)
		if err != nil {
			return report, fmt.Errorf("reconcile: %w", err)
		}
		report.Block = position.Tip.Number
		if err := f.reconcileAll(ctx, position, page, &report); err != nil {
			return report, fmt.Errorf("reconcile: %w", err)
		}
		if next == "" {
			break
		}
		after = next
	}
	if err := f.continuePass(ctx, &report); err != nil {
		return report, fmt.Errorf("reconcile after events were set aside: %w", err)
	}
	return report, nil
}

// continuePass compares further unfunded drafts after events were set aside.
func (f *Follower) continuePass(ctx context.Context, report *Report) error {
	for range maxPassPages {
		position, err := f.ledger.Position(ctx, f.chainID)
		if err != nil {
			return err
		}
		page, err := f.ledger.PassPage(ctx, f.chainID, reconcilePage)
		if err != nil || page.Pass == 0 || position.Tip.Number < page.Block {
			return err
		}
		before := report.unsettled
		report.Block = position.Tip.Number
		if err := f.reconcileAll(ctx, position, page.Missions, report); err != nil {
			return err
		}
		more, err := f.ledger.PassCompared(ctx, f.chainID, page, report.unsettled == before)
		if err != nil || !more {
			return err
		}
	}
	report.More = true
	return nil
}

func (f *Follower) reconcileAll(ctx context.Context, position onchain.Position, page []onchain.Expected, report *Report) error {
	if len(page) == 0 {
		return nil
	}
	missions, node, err := f.missionsAt(ctx, position.Tip, page)
	if err != nil {
		return err
	}
	report.Checked += len(page)
	for i := range page {
		repaired, err := f.reconcileOne(ctx, node, position, &page[i], missions[i])
		if err != nil {
			report.unsettled++
		}
		switch {
		case err == nil && repaired:
			report.Repaired++
			f.config.Logger.Warn("reconciled with the contract", "missionId", page[i].MissionID, "draftId", page[i].DraftID)
		case errors.Is(err, onchain.ErrConflict): // the follower or the next run applies it
		case err != nil:
			report.Alarms = append(report.Alarms, chain.OneLine(fmt.Sprintf("mission %s: %v", page[i].MissionID, err)))
		}
	}
	return nil
}

// missionsAt reads missions as of a block that must be on the node's chain.
func (f *Follower) missionsAt(ctx context.Context, block onchain.Block, page []onchain.Expected) (missions []chain.Mission, node *chain.Node, err error) {
	calls := make([]chain.Call, 0, len(page)+1)
	for i := range page {
		calls = append(calls, chain.MissionCall(page[i].Factory, sortie.MissionKey(page[i].MissionID), chain.HexNumber(block.Number)))
	}
	calls = append(calls, chain.HeaderCall(chain.HexNumber(block.Number)))
	failures := fmt.Errorf("%w: %s", chain.ErrUnreachable, f.nodes.Problem())
	for _, node := range f.nodes.InUse() {
		missions, err := f.missionsOf(ctx, node, block, calls)
		if err == nil {
			return missions, node, nil
		}
		failures = fmt.Errorf("%w; %w", failures, err)
	}
	return nil, nil, failures
}

// missionsOf sends calls for missions and, last, for the block.
func (f *Follower) missionsOf(ctx context.Context, node *chain.Node, block onchain.Block, calls []chain.Call) ([]chain.Mission, error) {
	replies, err := f.ask(ctx, node, calls)
	if err != nil {
		return nil, err
	}
	h, err := replies[len(calls)-1].Header(block.Number)
	if err == nil && h.Hash != block.Hash {
		err = fmt.Errorf("block %d is another one than was followed", block.Number)
	}
	missions := make([]chain.Mission, len(calls)-1)
	for i := range missions {
		if err == nil {
			missions[i], err = replies[i].Mission()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", node.Name(), err)
	}
	return missions, nil
}

// reconcileOne compares one mission and repairs what differs.
func (f *Follower) reconcileOne(ctx context.Context, node *chain.Node, position onchain.Position, expected *onchain.Expected, m chain.Mission) (repaired bool, err error) {
	funding := expected.Funding
	switch {
	case m.Exists() && !m.Holds(&expected.Terms):
		detail := fmt.Sprintf("The contract holds mission %s of draft %s with other terms than the draft's. Find out who signed for it.", expected.MissionID, expected.DraftID)
		return false, errors.Join(errors.New("other terms than the draft's"), f.ledger.ReportIncident(ctx, IncidentTermsDiffer, detail, false))
	case m.Exists() && funding == nil:
		return f.adopt(ctx, node, position, expected, onchain.EventMissionFunded, m)
	case !m.Exists() && funding != nil && funding.Block <= position.Tip.Number:
		return f.retract(ctx, fundingOf(expected))
	case !m.Exists() || funding == nil:
		return false, nil
	case m.Closed != 0 && funding.Closed == nil:
		return f.adopt(ctx, node, position, expected, onchain.EventMissionClosed, m)
	case m.Closed == 0 && funding.Closed != nil && funding.Closed.Block <= position.Tip.Number:
		return f.retract(ctx, closingOf(expected))
	}
	return false, nil
}

// adopt searches the log of what the contract holds, up to the tip, and adds it to the ledger.
func (f *Follower) adopt(ctx context.Context, node *chain.Node, position onchain.Position, expected *onchain.Expected, kind onchain.EventKind, m chain.Mission) (bool, error) {
	event, err := f.findEvent(ctx, node, position, expected.Factory, kind, sortie.MissionKey(expected.MissionID))
	if err != nil {
		return false, err
	}
	if event == nil {
		if again, err := f.missionAt(ctx, node, position.Tip.Number, expected); err != nil || again != m {
			return false, err // the node had answered for a block after the tip
		}
		detail := fmt.Sprintf("The contract holds mission %s of draft %s, and no node gives the log of it. Check the nodes.", expected.MissionID, expected.DraftID)
		return false, errors.Join(errors.New("its log cannot be found"), f.ledger.ReportIncident(ctx, IncidentLogMissing, detail, false))
	}
	if err := f.ledger.Adopt(ctx, f.chainID, *event); err != nil {
		return false, err
	}
	if kind == onchain.EventMissionFunded && m.Closed != 0 { // the closing was missed, too
		return f.adopt(ctx, node, position, expected, onchain.EventMissionClosed, m)
	}
	return true, nil
}

// missionAt reads a mission as of a block.
func (f *Follower) missionAt(ctx context.Context, node *chain.Node, block uint64, expected *onchain.Expected) (chain.Mission, error) {
	replies, err := f.ask(ctx, node, []chain.Call{chain.MissionCall(expected.Factory, sortie.MissionKey(expected.MissionID), chain.HexNumber(block))})
	if err != nil {
		return chain.Mission{}, err
	}
	return replies[0].Mission()
}

// findEvent searches an event of one mission backwards from the tip, because missed events are
// likely recent. The ranges grow as long as the node accepts them.
func (f *Follower) findEvent(ctx context.Context, node *chain.Node, position onchain.Position, factoryAddress sortie.Address, kind onchain.EventKind, key sortie.Hash) (*onchain.Event, error) {
	one := chain.NewLogFilter([]sortie.Address{factoryAddress})
	one.Only(kind, key)
	size := newAdaptive(1 << 40)
	size.size = maxRangeBlocks
	for to := position.Tip.Number; to > position.Start; {
		from := max(position.Start+1, to+1-min(to, size.size))
		events, err := f.searchRange(ctx, node, one, from, to)
		if err != nil {
			if size.adapt(err); from == to || ctx.Err() != nil || errors.Is(err, chain.ErrBadAnswer) {
				return nil, err
			}
			continue
		}
		if len(events) > 0 {
			return &events[0], nil
		}
		size.size *= 4
		to = from - 1
	}
	return nil, nil
}

func (f *Follower) searchRange(ctx context.Context, node *chain.Node, one *chain.LogFilter, from, to uint64) ([]onchain.Event, error) {
	replies, err := f.ask(ctx, node, []chain.Call{one.RangeCall(from, to)})
	if err != nil {
		return nil, err
	}
	logs, err := replies[0].Value()
	if err != nil {
		return nil, err
	}
	events, err := one.Events(logs, from, to)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	headers, err := node.Headers(ctx, []uint64{events[0].Block})
	if err != nil {
		return nil, err
	}
	return events[:1], one.CheckInBlock(events[:1], headers[0])
}

// fundingOf and closingOf return rows of the ledger as events.
func fundingOf(expected *onchain.Expected) onchain.Event {
	funding := expected.Funding
	return onchain.Event{
		Block: funding.Block, BlockHash: funding.BlockHash, LogIndex: funding.LogIndex, Transaction: funding.Transaction,
		Factory: expected.Factory, Kind: onchain.EventMissionFunded, MissionKey: sortie.MissionKey(expected.MissionID),
	}
}

func closingOf(expected *onchain.Expected) onchain.Event {
	closing := expected.Funding.Closed
	return onchain.Event{
		Block: closing.Block, BlockHash: closing.BlockHash, Transaction: closing.Transaction,
		Factory: expected.Factory, Kind: onchain.EventMissionClosed, MissionKey: sortie.MissionKey(expected.MissionID),
	}
}

// retract removes an event if enough nodes agree that the contract does not have it and that its
// transaction is not in the block.
func (f *Follower) retract(ctx context.Context, event onchain.Event) (bool, error) {
	type said struct{ held, mined bool }
	agreed, err := quorumOf(ctx, f, func(ctx context.Context, node *chain.Node) (said, error) {
		mined, err := node.HasMined(ctx, &event)
		if err != nil {
			return said{}, err
		}
		replies, err := f.ask(ctx, node, []chain.Call{chain.MissionCall(event.Factory, event.MissionKey, chain.TagLatest)})
		if err != nil {
			return said{}, err
		}
		m, err := replies[0].Mission()
		if err != nil {
			return said{}, fmt.Errorf("%s: %w", node.Name(), err)
		}
		held := m.Exists() && (event.Kind == onchain.EventMissionFunded || m.Closed != 0)
		return said{held, mined}, nil
	})
	f.monitor.settle(aboutMissions, err)
	if err != nil {
		return false, err
	}
	if agreed.held || agreed.mined {
		return false, fmt.Errorf("one node does not have it and others do: %w", chain.ErrNodesDisagree)
	}
	err = f.ledger.Retract(ctx, f.chainID, event)
	return err == nil, err
}
