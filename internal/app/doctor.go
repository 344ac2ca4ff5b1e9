package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// ConfirmFunding makes the follower look at the chain now. A transaction hash that the creator has
// is of no use: funding is found by the factory's event.
//
// It fails with not_found, the same for an id that does not exist and for one that is somebody
// else's.
func (a *App) ConfirmFunding(ctx context.Context, wallet sortie.Address, id string) (sortie.FundingCheck, error) {
	draft, err := a.draftOf(ctx, wallet, id)
	if err != nil {
		return sortie.FundingCheck{}, err
	}
	place, err := a.placeOf(ctx, draft)
	if err != nil {
		return sortie.FundingCheck{}, err
	}
	a.wake()
	shown := draft.State.View()
	return sortie.FundingCheck{
		OK: true, DraftID: draft.ID, MissionID: draft.MissionID, FundingStatus: shown.Funding, NextAction: shown.NextAction,
		Funding: a.depthOf(draft, place.funding, place.position),
	}, nil
}

// Doctor says what holds a mission up, who must act, and until when.
//
// It fails with not_found, the same for an id that does not exist and for one that is somebody
// else's.
func (a *App) Doctor(ctx context.Context, wallet sortie.Address, id string) (sortie.Doctor, error) {
	draft, err := a.draftOf(ctx, wallet, id)
	if err != nil {
		return sortie.Doctor{}, err
	}
	place, err := a.placeOf(ctx, draft)
	if err != nil {
		return sortie.Doctor{}, err
	}
	normalized, err := mission.Restore(draft.Mission)
	if err != nil {
		return sortie.Doctor{}, fmt.Errorf("restore the mission of draft %s: %w", draft.ID, err)
	}
	terms, err := normalized.Terms(a.tokens[draft.Token].Decimals)
	if err != nil {
		return sortie.Doctor{}, fmt.Errorf("terms of draft %s: %w", draft.ID, err)
	}
	patient := patient{
		draft: draft, place: place, now: a.now(), budget: terms.Total(), depth: a.depthOf(draft, place.funding, place.position),
		quoteUntil: time.Unix(int64(a.liveDeadline(draft, a.now())), 0),
	}
	if patient.halted, err = a.store.Halted(ctx); err != nil {
		return sortie.Doctor{}, storeError(err)
	}
	var money *sortie.MissionMoney
	patient.opens, patient.ends = normalized.Window(patient.now)
	if draft.State.View().Published {
		slots, err := a.store.SlotsOf(ctx, draft.ID)
		if err != nil {
			return sortie.Doctor{}, storeError(err)
		}
		patient.slots, patient.opens, patient.ends = &slots, slots.OpensAt, slots.EndsAt
		findings, err := a.payoutFindings(ctx, slots)
		if err != nil {
			return sortie.Doctor{}, err
		}
		patient.payouts = &findings
		money = a.missionMoney(draft, slots, place.closing())
	}
	answer := patient.diagnose()
	answer.Money = money
	return answer, nil
}

// place is what is known about a draft beside its row.
type place struct {
	funding  *onchain.Funding // nil while none is on the canonical chain
	review   *store.Review    // nil until decided
	position onchain.Position // zero before the chain was followed
}

// closing is how the mission ended on the chain; nil while it is open.
func (p place) closing() *onchain.Closing {
	if p.funding == nil {
		return nil
	}
	return p.funding.Closed
}

func (c *core) placeOf(ctx context.Context, draft store.Draft) (place, error) {
	var found place
	funding, err := c.store.FundingOf(ctx, draft.ID)
	switch {
	case err == nil:
		found.funding = &funding
	case !errors.Is(err, store.ErrNotFound):
		return place{}, storeError(err)
	}
	review, err := c.store.ReviewOf(ctx, draft.ID)
	switch {
	case err == nil:
		found.review = &review
	case !errors.Is(err, store.ErrNotFound):
		return place{}, storeError(err)
	}
	found.position, err = c.position(ctx)
	return found, err
}

// position is how far the chain was followed; zero before the first block.
func (c *core) position(ctx context.Context) (onchain.Position, error) {
	position, err := c.store.ChainPosition(ctx, c.domain.ChainID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return onchain.Position{}, storeError(err)
	}
	return position, nil
}

// depthOf says where in the chain a draft's funding is.
func (c *core) depthOf(draft store.Draft, funding *onchain.Funding, position onchain.Position) sortie.FundingDepth {
	depth := sortie.FundingDepth{Required: c.confirmations, Locked: draft.State.Depth == mission.DepthLocked}
	if funding != nil {
		depth.Seen, depth.TransactionHash, depth.BlockNumber = true, &funding.Transaction, &funding.Block
		depth.Confirmations = max(1, confirmationsAt(position, funding.Block)) // its own block is one
	}
	return depth
}
