package app

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/sortie-labs/sortie/internal/store"
)

// OpenMissions lists, in pages, what the database holds to be true of the missions that are not over: those whose refund is on
// its way, those that are funded, then those that could be. Next is where the next page begins, empty behind the last.
func (a *App) OpenMissions(ctx context.Context, chainID uint64, after string, limit int) (missions []store.Expected, next string, err error) {
	phase, seq, err := parsePlace(after)
	for err == nil && limit > len(missions) {
		var page []store.Expected
		if page, err = a.openMissionsIn(ctx, phase, chainID, seq, limit-len(missions)); err != nil {
			break
		}
		full := len(page) == limit-len(missions)
		missions = append(missions, page...)
		if full {
			seq = page[len(page)-1].Draft.Seq
		}
		switch {
		case phase == phaseClosed: // only the oldest of them: there are few, and they stay until they are settled
			phase, seq = phaseFunded, 0
		case !full && phase == phaseFunded:
			phase, seq = phaseUnfunded, 0
		case !full:
			return missions, "", nil
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("list open missions: %w", err)
	}
	return missions, formatPlace(phase, seq), nil
}

// A walk over the open missions goes through them by what is known of them. One that changes meanwhile may be missed by that
// walk: the follower has just seen it.
const (
	phaseClosed   = "closed"
	phaseFunded   = "funded"
	phaseUnfunded = "unfunded"
)

func (a *App) openMissionsIn(ctx context.Context, phase string, chainID uint64, seq int64, limit int) (page []store.Expected, err error) {
	var funded []store.FundedDraft
	var unfunded []store.Draft
	switch phase {
	case phaseClosed:
		funded, err = a.store.RefundsToConfirm(ctx, chainID, math.MaxInt64, limit)
	case phaseFunded:
		funded, err = a.store.FundedDrafts(ctx, chainID, seq, limit)
	default:
		unfunded, err = a.store.UnfundedDrafts(ctx, chainID, seq, limit)
	}
	for _, each := range funded {
		page = append(page, store.Expected{Draft: each.Draft, Funding: &each.Funding})
	}
	for _, draft := range unfunded {
		page = append(page, store.Expected{Draft: draft})
	}
	return page, err
}

func formatPlace(phase string, seq int64) string { return fmt.Sprintf("%s %d", phase, seq) }

func parsePlace(text string) (phase string, seq int64, err error) {
	if text == "" {
		return phaseClosed, 0, nil
	}
	if n, _ := fmt.Sscanf(text, "%s %d", &phase, &seq); n != 2 || phase != phaseFunded && phase != phaseUnfunded {
		return "", 0, fmt.Errorf("no page begins at %.40q: begin without a place and go on with what the page before gave", text)
	}
	return phase, seq, nil
}

// Adopt adds an event that is on the chain, at or below the tip, and that was missed. It does what following would have done.
// An event that is there already is not added again.
//
// It fails with [store.ErrConflict] when the chain was reorganized since the event was found, or moves on at this moment.
func (a *App) Adopt(ctx context.Context, chainID uint64, event store.ChainEvent) error {
	position, err := a.positionWith(ctx, chainID, &event)
	if err != nil {
		return err
	}
	known, err := a.knows(ctx, chainID, &event)
	if err != nil {
		return err
	}
	err = a.write(ctx, func(books *books) error {
		if err := books.fence(position); err != nil {
			return err
		}
		if !known {
			if err := books.tx.AddEvents(chainID, []store.ChainEvent{event}); err != nil {
				return err
			}
		}
		if err := books.apply(chainID, &event); err != nil {
			return err
		}
		return books.applyPayments(chainID, []store.ChainEvent{event})
	})
	if err != nil {
		return fmt.Errorf("adopt event %d of block %d: %w", event.LogIndex, event.Block, err)
	}
	return nil
}

// Retract takes back an event that the rows hold and the chain does not, found by its block, transaction and mission. What was
// final until now is an incident that halts.
//
// It fails with [store.ErrConflict] when the chain moves on at this moment.
func (a *App) Retract(ctx context.Context, chainID uint64, event store.ChainEvent) error {
	position, err := a.store.ChainPosition(ctx, chainID)
	if err != nil {
		return err
	}
	stored, err := a.store.ChainEvents(ctx, chainID, event.Block, event.Block)
	if err != nil {
		return err
	}
	err = a.write(ctx, func(books *books) error {
		if err := books.fence(position); err != nil {
			return err
		}
		for _, ghost := range stored {
			if ghost.Kind != event.Kind || ghost.MissionKey != event.MissionKey || ghost.Transaction != event.Transaction {
				continue
			}
			event.LogIndex = ghost.LogIndex
			if err := books.tx.RemoveEvent(chainID, ghost.Block, ghost.LogIndex); err != nil {
				return err
			}
		}
		return books.undo(chainID, &event)
	})
	if err != nil {
		return fmt.Errorf("retract event %d of block %d: %w", event.LogIndex, event.Block, err)
	}
	return nil
}

// fence makes sure that the chain is where it was, and that whoever moves it at the same time loses.
func (b *books) fence(position store.Position) error {
	if _, err := b.tx.MoveChain(position, position.Tip, position.Head, position.Final); err != nil {
		return lostRace{err}
	}
	return nil
}

// positionWith reads the position and makes sure that an event's block is on the chain that leads to it.
func (a *App) positionWith(ctx context.Context, chainID uint64, event *store.ChainEvent) (store.Position, error) {
	position, err := a.store.ChainPosition(ctx, chainID)
	if err != nil {
		return store.Position{}, err
	}
	blocks, err := a.store.ChainBlocks(ctx, chainID, event.Block+1, 1)
	if err != nil {
		return store.Position{}, err
	}
	kept := len(blocks) == 1 && blocks[0].Number == event.Block // of final blocks only some are
	if kept && blocks[0].Hash != event.BlockHash || !kept && event.Block > position.Final {
		return store.Position{}, fmt.Errorf("adopt event %d: block %d (%s) is not on the chain as it was followed: %w", event.LogIndex, event.Block, event.BlockHash, store.ErrConflict)
	}
	return position, nil
}

// knows reports whether the rows hold an event at the same place, and fails when it is another one.
func (a *App) knows(ctx context.Context, chainID uint64, event *store.ChainEvent) (bool, error) {
	events, err := a.store.ChainEvents(ctx, chainID, event.Block, event.Block)
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
