package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// The wallets with drafts in the seeded database. Other wallets create drafts during the run.
var (
	fewDraftsCreator  = newCreator(1)
	manyDraftsCreator = newCreator(2)
)

const (
	fewDrafts     = 1_000
	rareDrafts    = 10 // published ones, among few as among many
	draftsAtATime = 1_000
	usdcDecimals  = 6
)

// missionBody is a mission of usual length.
var missionBody = []byte(`{"title":"Photo of the main entrance","description":"Take a photo of the whole entrance from the ` +
	`other side of the street, by daylight. The number above the door must be readable. Do not show faces or number plates.",` +
	`"mediaType":"photo","reward":{"token":"USDC","amount":2.5},"targetCount":40,"location":{"lat":52.52,"lng":13.405,` +
	`"radiusMeters":150,"label":"Alexanderplatz"},"verification":{"accept":["The entrance is visible as a whole"],` +
	`"reject":["Faces are visible"]},"tags":["retail","storefront"],"externalReference":"shop-4711"}`)

// seed stores the drafts of both wallets and returns the ids of those of the wallet with few.
func (b *bench) seed(ctx context.Context, path string) (ids []string, err error) {
	db, err := store.Open(ctx, "sqlite:"+path, store.Options{})
	if err != nil {
		return nil, err
	}
	if ids, err = b.fill(ctx, db, fewDraftsCreator.Address(), fewDrafts); err == nil {
		_, err = b.fill(ctx, db, manyDraftsCreator.Address(), b.drafts)
	}
	if err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	return ids, db.Close()
}

// sampleDraft returns a draft without ids, key and nonce.
func (b *bench) sampleDraft(owner sortie.Address) (store.NewDraft, error) {
	normalized, err := mission.Normalize(missionBody, owner)
	if err != nil {
		return store.NewDraft{}, err
	}
	terms, err := normalized.Terms(usdcDecimals)
	return store.NewDraft{
		Wallet: owner, Fingerprint: normalized.Fingerprint(), Mission: normalized.AppendJSON(nil), Title: normalized.Mission().Title,
		Token: terms.Token, TokenAddress: b.dev.token(terms.Token), ChainID: b.dev.ChainID, Factory: b.dev.Factory,
		Reward: terms.Reward, TargetCount: terms.TargetCount,
	}, err
}

func (b *bench) fill(ctx context.Context, db *store.DB, owner sortie.Address, drafts int) (ids []string, err error) {
	draft, err := b.sampleDraft(owner)
	for len(ids) < drafts && err == nil {
		err = db.Tx(ctx, func(tx *store.Tx) error {
			for range min(draftsAtATime, drafts-len(ids)) {
				id, err := insertCopy(tx, draft, len(ids)%(drafts/rareDrafts) == 0)
				if err != nil {
					return err
				}
				ids = append(ids, id)
			}
			return nil
		})
	}
	return ids, err
}

// insertCopy stores a draft with new ids.
func insertCopy(tx *store.Tx, draft store.NewDraft, publish bool) (id string, err error) {
	var entropy, other mission.Entropy
	for _, random := range [][]byte{entropy[:], other[:], draft.Nonce[:]} {
		_, _ = rand.Read(random) // never fails
	}
	draft.ID, draft.MissionID = mission.NewDraftID(entropy, tx.Now), mission.NewMissionID(draft.Title, other)
	draft.IdempotencyKey = draft.ID
	const unlimited = 1 << 30
	event := store.NewEvent{Type: "draft.created", Data: []byte("{}")}
	stored, _, err := tx.CreateDraft(draft, unlimited, event)
	if err == nil && publish {
		_, err = tx.TransitionDraft(stored, store.Transition{
			State:         mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionApproved},
			QuoteDeadline: uint64(tx.Now.Add(-time.Hour).Unix()),
		}, event)
	}
	return draft.ID, err
}
