package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// isOpen reports whether the mission takes submissions: it is published, and its money is in the
// contract.
func (d *draftState) isOpen() bool {
	return d.draft.State.View().Published && d.funding != nil && d.funding.Closed == nil
}

// moveSlots opens the missions that were published, closes those whose money left the contract, and
// opens them again after a reorganization. Only the state at the end of the transaction counts: see
// [writeTx.queueRefunds].
func (tx *writeTx) moveSlots() error {
	for _, touched := range tx.order {
		open := touched.isOpen()
		if open == touched.wasOpen {
			continue
		}
		if open {
			slots, err := newSlots(touched.draft, tx.Now)
			if err != nil {
				return err
			}
			if err := tx.PublishSlots(slots); err != nil {
				return err
			}
		}
		if err := tx.CloseSlots(touched.draft.ID, !open); err != nil {
			return err
		}
	}
	return nil
}

// newSlots are the slots of a mission that is published at a time.
func newSlots(draft store.Draft, publishedAt time.Time) (store.Slots, error) {
	normalized, err := mission.Restore(draft.Mission)
	if err != nil {
		return store.Slots{}, fmt.Errorf("restore the mission of draft %s: %w", draft.ID, err)
	}
	definition := normalized.Mission()
	summary, err := json.Marshal(sortie.DeliverablesMission{
		MissionID: draft.MissionID, DraftID: draft.ID, Title: definition.Title, MediaType: definition.MediaType,
		Reward: definition.Reward, TargetCount: definition.TargetCount,
	})
	if err != nil {
		return store.Slots{}, fmt.Errorf("encode the summary of draft %s: %w", draft.ID, err)
	}
	slots := store.Slots{
		DraftID: draft.ID, MissionID: draft.MissionID, Creator: draft.Wallet, Target: definition.TargetCount,
		PerContributor: definition.MaxSubmissionsPerContributor, Token: draft.Token, MediaType: definition.MediaType, PublishedAt: publishedAt, Summary: summary,
	}
	slots.OpensAt, slots.EndsAt = normalized.Window(publishedAt)
	if area := definition.Location; area != nil {
		place, err := mission.ParseMicroDegrees(area.Lat, area.Lng)
		if err != nil {
			return store.Slots{}, fmt.Errorf("place of draft %s: %w", draft.ID, err)
		}
		slots.Place = &place
	}
	return slots, nil
}

// olderPublished is the setting that records that missions older than slots have slots.
const olderPublished = "older-missions-published"

// publishOlder adds slots to missions that were published before slots existed, once for each
// database.
func (c *core) publishOlder(ctx context.Context) error {
	const atOnce = 100
	_, err := c.store.LastSetting(ctx, olderPublished)
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	for {
		drafts, err := c.store.UnpublishedSlots(ctx, atOnce)
		if err != nil {
			return err
		}
		err = c.store.Tx(ctx, func(tx *store.Tx) error {
			for _, draft := range drafts {
				if err := publishOlder(tx, draft); err != nil {
					return err
				}
			}
			if len(drafts) == atOnce {
				return nil // there may be more
			}
			return tx.PutSetting(olderPublished, []byte("yes"))
		})
		if err != nil || len(drafts) < atOnce {
			return err
		}
	}
}

// publishOlder uses the time of the draft's last transition as the time of publication: a draft
// does not change after it.
func publishOlder(tx *store.Tx, draft store.Draft) error {
	slots, err := newSlots(draft, draft.UpdatedAt)
	if err != nil {
		return err
	}
	if err := tx.PublishSlots(slots); err != nil {
		return err
	}
	funding, err := tx.FundingOf(draft.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return tx.CloseSlots(draft.ID, err != nil || funding.Closed != nil)
}
