package follower

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chaintest"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// memoryLedger is a ledger in memory that refuses contradictions.
type memoryLedger struct {
	mutex     sync.Mutex
	clock     func() time.Time
	interest  time.Time
	started   bool
	position  onchain.Position
	blocks    []onchain.Block
	events    []onchain.Event
	drafts    []onchain.Terms
	fundings  map[string]*onchain.Funding // by mission id
	depth     map[string]string           // by mission id: seen, confirmed, locked, refunded
	incidents []string
	factories []sortie.Address
	failure   error // of every write
	refusal   error // of Adopt
	listless  bool  // OpenMissions lists nothing
	pass      onchain.PassPage
	passes    []bool // whether each compared page of full passes was settled
	advances  int
}

func newMemoryLedger(clock func() time.Time, drafts ...onchain.Terms) *memoryLedger {
	return &memoryLedger{
		clock: clock, interest: clock(), drafts: drafts, fundings: make(map[string]*onchain.Funding), depth: make(map[string]string),
		factories: []sortie.Address{chaintest.Factory},
	}
}

func (l *memoryLedger) Position(context.Context, uint64) (onchain.Position, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.started {
		return onchain.Position{}, fmt.Errorf("position: %w", onchain.ErrNotFound)
	}
	return l.position, nil
}

func (l *memoryLedger) Begin(_ context.Context, chainID uint64, start onchain.Block) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.started {
		return onchain.ErrConflict
	}
	l.started = true
	l.position = onchain.Position{ChainID: chainID, Start: start.Number, Tip: start, Head: start.Number, Version: 1}
	l.blocks = []onchain.Block{start}
	return l.failure
}

func (l *memoryLedger) EarliestInterest(context.Context) (time.Time, error) { return l.interest, nil }

func (l *memoryLedger) Tail(_ context.Context, _, below uint64, limit int) ([]onchain.Block, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var tail []onchain.Block
	for _, block := range slices.Backward(l.blocks) {
		if block.Number < below && len(tail) < limit {
			tail = append(tail, block)
		}
	}
	return tail, nil
}

func (l *memoryLedger) Factories(context.Context, uint64) ([]sortie.Address, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.factories), nil
}

func (l *memoryLedger) Advance(_ context.Context, a onchain.Advance) (onchain.Position, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.failure != nil {
		return onchain.Position{}, l.failure
	}
	if a.Was != l.position {
		return onchain.Position{}, onchain.ErrConflict
	}
	if !slices.ContainsFunc(l.blocks, func(b onchain.Block) bool { return b.Number == a.After.Number && b.Hash == a.After.Hash }) {
		return onchain.Position{}, errors.New("the new blocks follow one that is not there")
	}
	tip := a.After
	for _, b := range a.Blocks {
		if b.Number <= tip.Number {
			return onchain.Position{}, errors.New("blocks in the wrong order")
		}
		tip = b
	}
	if a.Head < tip.Number || a.Final > tip.Number || (a.Final < l.position.Final && a.After.Number >= l.position.Final) {
		return onchain.Position{}, fmt.Errorf("tip %d, head %d and final %d do not go together, or with final %d before", tip.Number, a.Head, a.Final, l.position.Final)
	}
	if a.After.Number < l.position.Final {
		l.incidents = append(l.incidents, "finality_broken")
	}
	for i := range a.Events {
		if e := &a.Events[i]; e.Block <= a.After.Number || e.Block > tip.Number || i > 0 && !isAfter(e, &a.Events[i-1]) {
			return onchain.Position{}, errors.New("events in the wrong order")
		}
	}
	l.takeBack(a.After.Number)
	l.blocks = append(l.blocks, a.Blocks...)
	for _, e := range a.Events {
		l.add(e)
	}
	l.advances++
	l.position.Tip, l.position.Head, l.position.Final = tip, a.Head, a.Final
	l.position.Version++
	return l.position, nil
}

func (l *memoryLedger) takeBack(above uint64) {
	l.blocks = slices.DeleteFunc(l.blocks, func(b onchain.Block) bool { return b.Number > above })
	for _, e := range slices.Backward(l.events) {
		if e.Block > above {
			l.remove(e)
		}
	}
}

func (l *memoryLedger) add(e onchain.Event) {
	l.events = append(l.events, e)
	for _, draft := range l.drafts {
		if sortie.MissionKey(draft.MissionID) != e.MissionKey {
			continue
		}
		switch {
		case e.Funded != nil && e.Funded.Reward.Cmp(draft.Reward) == 0 && e.Factory == draft.Factory:
			l.fundings[draft.MissionID] = &onchain.Funding{
				DraftID: draft.DraftID, MissionKey: e.MissionKey, ChainID: chaintest.ChainID, Block: e.Block, BlockHash: e.BlockHash,
				Transaction: e.Transaction, LogIndex: e.LogIndex, ReclaimAfter: e.Funded.ReclaimAfter,
			}
			l.depth[draft.MissionID] = "seen"
		case e.Closed != nil && l.fundings[draft.MissionID] != nil:
			l.fundings[draft.MissionID].Closed = &onchain.Closing{
				Block: e.Block, BlockHash: e.BlockHash, Transaction: e.Transaction, Reason: e.Closed.Reason,
				Refund: e.Closed.Refund, RefundDeferred: e.Closed.RefundDeferred,
			}
		}
	}
}

func (l *memoryLedger) remove(gone onchain.Event) {
	l.events = slices.DeleteFunc(l.events, func(e onchain.Event) bool { return e.Block == gone.Block && e.LogIndex == gone.LogIndex })
	for missionID, funding := range l.fundings {
		if funding.MissionKey != gone.MissionKey {
			continue
		}
		if gone.Kind == onchain.EventMissionFunded && funding.Block == gone.Block && funding.LogIndex == gone.LogIndex {
			delete(l.fundings, missionID)
			delete(l.depth, missionID)
		} else if gone.Closed != nil {
			funding.Closed = nil
		}
	}
}

// confirmPage is small, to have several pages.
const confirmPage = 40

func (l *memoryLedger) PendingConfirmations(_ context.Context, _, confirmedUpTo, lockedUpTo uint64, after onchain.ConfirmationPlace) (due []onchain.Confirmation, next onchain.ConfirmationPlace, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for i, draft := range l.drafts {
		funding := l.fundings[draft.MissionID]
		if funding == nil || uint64(i) < after.Seen.Index {
			continue
		}
		if len(due) >= confirmPage {
			return due, onchain.ConfirmationPlace{Seen: onchain.Place{Index: uint64(i)}}, nil
		}
		item := onchain.Confirmation{Terms: draft, Funding: *funding}
		depth := l.depth[draft.MissionID]
		if depth == "seen" && funding.Block <= confirmedUpTo {
			item.To = "confirmed"
			due = append(due, item)
		}
		if (depth == "seen" || depth == "confirmed") && funding.Block <= lockedUpTo {
			item.To = "locked"
			due = append(due, item)
		}
		if funding.Closed != nil && funding.Closed.Block <= lockedUpTo && depth != "refunded" {
			item.To, item.Refund = "locked", true
			due = append(due, item)
		}
	}
	return due, onchain.ConfirmationPlace{}, nil
}

func (l *memoryLedger) Confirm(_ context.Context, items []onchain.Confirmation) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, item := range items {
		if item.To == "locked" && eventOf(&item).Block > l.position.Final {
			return errors.New("locked beyond what is final")
		}
		l.depth[item.MissionID] = string(item.To)
		if item.Refund {
			l.depth[item.MissionID] = "refunded"
		}
	}
	return l.failure
}

func (l *memoryLedger) ReportIncident(_ context.Context, kind, _ string, _ bool) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !slices.Contains(l.incidents, kind) {
		l.incidents = append(l.incidents, kind)
	}
	return nil
}

func (l *memoryLedger) SetAside(ctx context.Context, _ uint64, block onchain.Block, detail string) error {
	l.mutex.Lock()
	l.pass = onchain.PassPage{Pass: l.pass.Pass + 1, Block: block.Number}
	l.mutex.Unlock()
	return l.ReportIncident(ctx, IncidentSetAside, detail, false)
}

// passPage is small, to have several pages.
const passPage = 2

func (l *memoryLedger) PassPage(context.Context, uint64, int) (onchain.PassPage, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	page := l.pass
	if page.End {
		return onchain.PassPage{}, nil
	}
	page.Last = min(page.After+passPage, int64(len(l.drafts)))
	page.End = page.Last == int64(len(l.drafts))
	for _, draft := range l.drafts[page.After:page.Last] {
		if l.fundings[draft.MissionID] == nil {
			page.Missions = append(page.Missions, onchain.Expected{Terms: draft})
		}
	}
	return page, nil
}

func (l *memoryLedger) PassCompared(_ context.Context, _ uint64, page onchain.PassPage, settled bool) (more bool, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.passes = append(l.passes, settled)
	l.pass.After, l.pass.End = page.Last, page.End
	return !page.End, nil
}

func (l *memoryLedger) ResolveIncidents(_ context.Context, kind string) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.incidents = slices.DeleteFunc(l.incidents, func(open string) bool { return open == kind })
	return nil
}

func (l *memoryLedger) OpenMissions(_ context.Context, _ uint64, after string, limit int) (page []onchain.Expected, next string, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.listless {
		return nil, "", nil
	}
	begin := 0
	if after != "" {
		_, _ = fmt.Sscan(after, &begin)
	}
	for i, draft := range l.drafts[begin:] {
		if len(page) == min(limit, 3) { // to have several pages
			return page, fmt.Sprint(begin + i), nil
		}
		expected := onchain.Expected{Terms: draft}
		if funding := l.fundings[draft.MissionID]; funding != nil {
			held := *funding
			expected.Funding = &held
		}
		page = append(page, expected)
	}
	return page, "", nil
}

func (l *memoryLedger) Adopt(_ context.Context, _ uint64, event onchain.Event) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.refusal != nil {
		return l.refusal
	}
	l.add(event)
	slices.SortStableFunc(l.events, func(a, b onchain.Event) int {
		if isAfter(&a, &b) {
			return 1
		}
		return -1
	})
	return nil
}

func (l *memoryLedger) Retract(_ context.Context, _ uint64, event onchain.Event) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, held := range slices.Clone(l.events) {
		if held.Block == event.Block && held.Kind == event.Kind && held.MissionKey == event.MissionKey {
			l.remove(held)
		}
	}
	return nil
}

// rows describes the events of the ledger.
func (l *memoryLedger) rows() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var rows []string
	for _, e := range l.events {
		rows = append(rows, chaintest.Describe(e))
	}
	return rows
}

func (l *memoryLedger) depthOf(n int) string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.depth[chaintest.Terms(n).MissionID]
}

func (l *memoryLedger) incidentKinds() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.incidents)
}

// isAfter reports whether an event comes after another on the chain.
func isAfter(a, b *onchain.Event) bool {
	return a.Block > b.Block || a.Block == b.Block && a.LogIndex > b.LogIndex && a.BlockHash == b.BlockHash
}
