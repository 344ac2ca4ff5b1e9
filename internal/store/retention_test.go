package store

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

func testRemoveUnfundedDrafts(t *testing.T, url string) {
	var seconds atomic.Int64
	seconds.Store(1_770_000_000)
	db := open(t, url, Options{Clock: func() time.Time { return time.Unix(seconds.Load(), 0) }})
	kept := []Draft{
		mustApply(t, db, mustCreate(t, db, alice, "seen"), mission.FundingSeen),
		mustApply(t, db, mustCreate(t, db, alice, "funded"), mission.FundingConfirmed),
		mustApply(t, db, mustCreate(t, db, alice, "rejected"), mission.Rejected),
	}
	reverted := mustApply(t, db, mustCreate(t, db, alice, "reverted"), mission.FundingSeen, mission.FundingReverted)
	old := []Draft{reverted, mustCreate(t, db, alice, "old"), mustCreate(t, db, bob, "old")}
	before := time.Unix(seconds.Add(1), 0)
	kept = append(kept, mustCreate(t, db, alice, "young"))

	remove := func(limit int) (removed int, err error) {
		err = db.Tx(context.Background(), func(tx *Tx) error {
			removed, err = tx.RemoveUnfundedDrafts(before, limit)
			return err
		})
		return removed, err
	}
	for _, step := range []struct{ limit, want int }{{2, 2}, {2, 1}, {2, 0}} {
		if got, err := remove(step.limit); err != nil || got != step.want {
			t.Errorf("removed %d with limit %d, %v, want %d", got, step.limit, err, step.want)
		}
	}
	for _, draft := range old {
		if _, err := db.DraftByKey(context.Background(), draft.Wallet, draft.IdempotencyKey); !errors.Is(err, ErrNotFound) {
			t.Errorf("draft %s: %v, want %v", draft.IdempotencyKey, err, ErrNotFound)
		}
		if got := count(t, db, "SELECT COUNT(*) FROM events WHERE draft_id = $1", draft.ID); got != 0 {
			t.Errorf("draft %s: %d events, want 0", draft.IdempotencyKey, got)
		}
	}
	for _, draft := range kept {
		if _, err := db.DraftByKey(context.Background(), draft.Wallet, draft.IdempotencyKey); err != nil {
			t.Errorf("draft %s: %v, want it kept", draft.IdempotencyKey, err)
		}
	}
	for wallet, want := range map[sortie.Address]int64{alice: 2, bob: 0} { // seen and young
		if got := count(t, db, "SELECT unfunded_drafts FROM wallets WHERE wallet = $1", hexAddress(wallet)); got != want {
			t.Errorf("%s counts %d drafts that wait for funding, want %d", wallet, got, want)
		}
	}
	last := count(t, db, "SELECT last_event FROM wallets WHERE wallet = $1", hexAddress(alice))
	mustCreate(t, db, alice, "old") // under the key of a removed draft
	if events, err := db.EventsAfter(context.Background(), alice, last, 10); err != nil || len(events) != 1 {
		t.Errorf("%d events after the last before the removal, %v, want 1: numbers are not used again", len(events), err)
	}
}
