package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// OpenMissions lists, in pages, what the database expects of the missions that have not ended:
// those with a pending refund, those that are funded, and those that can be funded. Next is where
// the next page begins, empty after the last page.
//
// Of the drafts that can be funded one walk lists at most [maxFundable]. The next walk begins where
// this one ended.
func (l *Ledger) OpenMissions(ctx context.Context, chainID uint64, after string, limit int) (missions []onchain.Expected, next string, err error) {
	at, err := parsePlace(after)
	for err == nil && limit > len(missions) {
		if at.phase == phaseUnfunded && at.left == 0 {
			break
		}
		want := limit - len(missions)
		if at.phase == phaseUnfunded {
			want = min(want, at.left)
		}
		var page []onchain.Expected
		var last int64
		if page, last, err = l.openMissionsIn(ctx, at, chainID, want); err != nil {
			break
		}
		missions = append(missions, page...)
		if len(page) == want {
			at.seq = last
		}
		if at, err = l.placeAfterPage(ctx, chainID, at, page, want); err != nil || at == (walkPlace{}) {
			break
		}
	}
	if err == nil && at.phase == phaseUnfunded && at.left == 0 {
		err = l.endWalk(ctx, chainID, at.seq)
		at = walkPlace{}
	}
	if err != nil {
		return nil, "", fmt.Errorf("list open missions: %w", err)
	}
	return missions, at.String(), nil
}

// maxFundable is how many unfunded drafts one walk compares with the contract. Anyone can make
// drafts.
const maxFundable = 9800

// maxAuthorization is the longest life of an authorization in the contract, with a margin for
// clocks that differ.
const maxAuthorization = 25 * time.Hour

// The phases of a walk over the open missions. A mission that changes phase during a walk may be
// missed by it: the follower has just read it.
const (
	phaseClosed   = "closed"
	phaseFunded   = "funded"
	phaseUnfunded = "unfunded"
)

// walkPlace is a position in a walk over the open missions. The zero value is the end.
type walkPlace struct {
	phase string
	seq   int64
	left  int // drafts that this walk may still list, in the last phase
}

func (p walkPlace) String() string {
	if p == (walkPlace{}) {
		return ""
	}
	return fmt.Sprintf("%s %d %d", p.phase, p.seq, p.left)
}

func parsePlace(text string) (at walkPlace, err error) {
	if text == "" {
		return walkPlace{phase: phaseClosed}, nil
	}
	if n, _ := fmt.Sscanf(text, "%s %d %d", &at.phase, &at.seq, &at.left); n != 3 || at.phase != phaseFunded && at.phase != phaseUnfunded {
		return walkPlace{}, fmt.Errorf("no page begins at %.40q: begin without a place and continue with what the page before gave", text)
	}
	return at, nil
}

// placeAfterPage is the position after a page for which want missions were read.
func (l *Ledger) placeAfterPage(ctx context.Context, chainID uint64, at walkPlace, page []onchain.Expected, want int) (walkPlace, error) {
	full := len(page) == want
	switch {
	case at.phase == phaseClosed: // one page: there are few, and they stay until they are settled
		return walkPlace{phase: phaseFunded}, nil
	case at.phase == phaseFunded && !full:
		begin, err := l.walkBegin(ctx, chainID)
		return walkPlace{phase: phaseUnfunded, seq: begin, left: maxFundable}, err
	case at.phase == phaseUnfunded && !full:
		return walkPlace{}, l.endWalk(ctx, chainID, 0)
	case at.phase == phaseUnfunded:
		at.left -= len(page)
	}
	return at, nil
}

func walkSetting(chainID uint64) string { return fmt.Sprintf("reconcile-drafts-after:%d", chainID) }

// walkBegin is the draft after which the next walk lists those that can be funded.
func (l *Ledger) walkBegin(ctx context.Context, chainID uint64) (seq int64, err error) {
	stored, err := l.store.LastSetting(ctx, walkSetting(chainID))
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err == nil {
		seq, err = strconv.ParseInt(string(stored), 10, 64)
	}
	return seq, err
}

// endWalk stores where the next walk begins, if it changed.
func (l *Ledger) endWalk(ctx context.Context, chainID uint64, seq int64) error {
	begin, err := l.walkBegin(ctx, chainID)
	if err != nil || begin == seq {
		return err
	}
	return l.store.Tx(ctx, func(tx *store.Tx) error {
		return tx.PutSetting(walkSetting(chainID), strconv.AppendInt(nil, seq, 10))
	})
}

func (l *Ledger) openMissionsIn(ctx context.Context, at walkPlace, chainID uint64, limit int) (page []onchain.Expected, last int64, err error) {
	var funded []store.FundedDraft
	var unfunded []store.Draft
	switch at.phase {
	case phaseClosed:
		funded, err = l.store.RefundsToConfirm(ctx, chainID, math.MaxInt64, onchain.Place{}, limit)
	case phaseFunded:
		funded, err = l.store.FundedDrafts(ctx, chainID, at.seq, limit)
	default:
		unfunded, err = l.store.FundableDrafts(ctx, chainID, l.now().Add(-maxAuthorization).Unix(), at.seq, limit)
	}
	for _, each := range funded {
		page, last = append(page, onchain.Expected{Terms: each.Terms(), Funding: &each.Funding}), each.Draft.Seq
	}
	for _, draft := range unfunded {
		page, last = append(page, onchain.Expected{Terms: draft.Terms()}), draft.Seq
	}
	return page, last, err
}

// Adopt adds an event at or below the tip that the follower missed, and applies it. An event that
// is stored already is not added again.
//
// It fails with [store.ErrConflict] when the chain was reorganized since the event was found, or
// advances at the same time.
func (l *Ledger) Adopt(ctx context.Context, chainID uint64, event onchain.Event) error {
	position, err := l.positionWith(ctx, chainID, &event)
	if err != nil {
		return err
	}
	known, err := l.hasEvent(ctx, chainID, &event)
	if err != nil {
		return err
	}
	err = l.write(ctx, func(tx *writeTx) error {
		if err := tx.fence(position); err != nil {
			return err
		}
		if !known {
			if err := tx.AddEvents(chainID, []onchain.Event{event}); err != nil {
				return err
			}
		}
		if err := tx.apply(chainID, &event); err != nil {
			return err
		}
		return tx.applyPayments(chainID, []onchain.Event{event})
	})
	if err != nil {
		return fmt.Errorf("adopt event %d of block %d: %w", event.LogIndex, event.Block, err)
	}
	return nil
}

// Retract reverts an event that is in the database and not on the chain, found by its block,
// transaction and mission. A final event is an incident that halts.
//
// It fails with [store.ErrConflict] when the chain advances at the same time.
func (l *Ledger) Retract(ctx context.Context, chainID uint64, event onchain.Event) error {
	position, err := l.store.ChainPosition(ctx, chainID)
	if err != nil {
		return err
	}
	stored, err := l.store.ChainEvents(ctx, chainID, event.Block, event.Block)
	if err != nil {
		return err
	}
	err = l.write(ctx, func(tx *writeTx) error {
		if err := tx.fence(position); err != nil {
			return err
		}
		for _, ghost := range stored {
			if ghost.Kind != event.Kind || ghost.MissionKey != event.MissionKey || ghost.Transaction != event.Transaction {
				continue
			}
			event.LogIndex = ghost.LogIndex
			if err := tx.RemoveEvent(chainID, ghost.Block, ghost.LogIndex); err != nil {
				return err
			}
		}
		return tx.undo(chainID, &event)
	})
	if err != nil {
		return fmt.Errorf("retract event %d of block %d: %w", event.LogIndex, event.Block, err)
	}
	return nil
}

// fence checks that the chain is at a position, and makes a concurrent advance fail.
func (tx *writeTx) fence(position onchain.Position) error {
	if _, err := tx.MoveChain(position, position.Tip, position.Head, position.Final); err != nil {
		return lostRace{err}
	}
	return nil
}

// positionWith reads the position and checks that an event's block is on the followed chain.
func (l *Ledger) positionWith(ctx context.Context, chainID uint64, event *onchain.Event) (onchain.Position, error) {
	position, err := l.store.ChainPosition(ctx, chainID)
	if err != nil {
		return onchain.Position{}, err
	}
	blocks, err := l.store.ChainBlocks(ctx, chainID, event.Block+1, 1)
	if err != nil {
		return onchain.Position{}, err
	}
	kept := len(blocks) == 1 && blocks[0].Number == event.Block // not all final blocks are kept
	if kept && blocks[0].Hash != event.BlockHash || !kept && event.Block > position.Final {
		return onchain.Position{}, fmt.Errorf("adopt event %d: block %d (%s) is not on the chain as it was followed: %w", event.LogIndex, event.Block, event.BlockHash, store.ErrConflict)
	}
	return position, nil
}

// hasEvent reports whether the database holds the event, and fails when it holds another one at the
// same place.
func (l *Ledger) hasEvent(ctx context.Context, chainID uint64, event *onchain.Event) (bool, error) {
	events, err := l.store.ChainEvents(ctx, chainID, event.Block, event.Block)
	if err != nil {
		return false, err
	}
	for _, known := range events {
		if known.LogIndex != event.LogIndex {
			continue
		}
		if known.BlockHash != event.BlockHash || known.Transaction != event.Transaction || known.Kind != event.Kind {
			return false, errors.New("adopt: the rows hold another event in its place; retract that first")
		}
		return true, nil
	}
	return false, nil
}

func reconcileSetting(chainID uint64) string { return fmt.Sprintf("reconcile-report:%d", chainID) }

// RecordReconcile stores the outcome of a comparison for [Operators.ChainOverview], with the
// current time as FinishedAt. Repairs are added to the audit log.
func (l *Ledger) RecordReconcile(ctx context.Context, report sortie.ReconcileReport) error {
	err := l.write(ctx, func(tx *writeTx) error {
		report.FinishedAt = sortie.FormatTime(tx.Now)
		if report.Alarms == nil {
			report.Alarms = []string{}
		}
		encoded, err := json.Marshal(report)
		if err != nil {
			return err
		}
		if err := tx.PutSetting(reconcileSetting(l.domain.ChainID), encoded); err != nil {
			return err
		}
		if report.Repaired == 0 {
			return nil
		}
		return tx.audit(actorChain, "chain.repaired", fmt.Sprint(l.domain.ChainID), map[string]any{"repaired": report.Repaired, "checked": report.Checked})
	})
	if err != nil {
		return fmt.Errorf("record reconcile report: %w", err)
	}
	return nil
}
