package app

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

const testRetention = 30 * 24 * time.Hour

func openRetaining(t *testing.T, database string, retention time.Duration) *world {
	t.Helper()
	return openWorld(t, database, worldOptions{configure: func(config *Config) { config.DraftRetention = retention }})
}

func (w *world) removeUnfunded(want int) {
	w.t.Helper()
	got, err := w.app.RemoveUnfundedDrafts(context.Background())
	w.must(err)
	if got != want {
		w.t.Errorf("removed %d drafts, want %d", got, want)
	}
}

func (w *world) checkGone(draft store.Draft) {
	w.t.Helper()
	if _, err := w.app.Mission(context.Background(), draft.Wallet, draft.ID); sortie.ErrorCode(err) != sortie.CodeNotFound {
		w.t.Errorf("reading the removed draft: %v, want %s", err, sortie.CodeNotFound)
	}
	if types := w.typesOf(draft); len(types) != 0 {
		w.t.Errorf("the removed draft has events %v, want none", types)
	}
}

func TestADraftThatStaysUnfundedIsRemoved(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openRetaining(t, database, testRetention)
		locked := w.fund(alice, "locked", mission.DepthLocked)
		seen := w.fund(bob, "seen", mission.DepthSeen)
		unfunded := w.create(alice, "unfunded")
		w.removeUnfunded(0)
		w.pass(testRetention + retentionMargin)
		w.extend(nil)
		w.removeUnfunded(0) // it is old enough only after this
		w.pass(2 * time.Second)
		w.removeUnfunded(0) // nothing is known about the chain since
		w.extend(nil)
		w.removeUnfunded(1)
		w.checkGone(unfunded)
		for _, kept := range []store.Draft{locked, seen} {
			if types := w.typesOf(kept); w.read(kept.ID).ID != kept.ID || len(types) < 2 {
				t.Errorf("draft %s: events %v, want it kept with its events", kept.ID, types)
			}
		}
		_, created, err := w.app.CreateDraft(context.Background(), alice, "unfunded",
			[]byte(`{"title":"Something else","reward":{"token":"USDC","amount":1},"targetCount":1}`))
		if err != nil || !created {
			t.Errorf("another mission under the key of the removed draft: created %t, error %v, want a new draft", created, err)
		}
		w.removeUnfunded(0)
	})
}

func TestDraftsAreKeptForEverWithoutARetention(t *testing.T) {
	t.Parallel()
	w := openRetaining(t, sqliteDatabase(t), 0)
	draft := w.create(alice, "key")
	w.removeUnfunded(0)
	w.pass(10 * 365 * 24 * time.Hour)
	w.extend(nil)
	w.removeUnfunded(0)
	if got := w.read(draft.ID); got.ID != draft.ID {
		t.Errorf("read %q, want %q", got.ID, draft.ID)
	}
}

// TestNoQuoteIsLiveWhenItsDraftIsRemoved reads a draft at every step of its quote until it is gone.
func TestNoQuoteIsLiveWhenItsDraftIsRemoved(t *testing.T) {
	t.Parallel()
	const retention = 24 * time.Hour
	w := openRetaining(t, sqliteDatabase(t), retention)
	draft := w.create(alice, "key")
	latest := uint64(0)
	for reads := 0; ; reads++ {
		view, err := w.app.Mission(context.Background(), alice, draft.ID)
		if sortie.ErrorCode(err) == sortie.CodeNotFound && reads > 0 {
			break
		}
		w.must(err)
		latest = max(latest, view.Quote.Authorization.Deadline)
		w.pass(7 * time.Minute)
		w.extend(nil)
		if _, err := w.app.RemoveUnfundedDrafts(context.Background()); err != nil {
			t.Fatal(err)
		}
		if reads > 10_000 {
			t.Fatal("the draft is never removed")
		}
	}
	if limit := uint64(draft.CreatedAt.Add(retention).Unix()); latest > limit {
		t.Errorf("a quote was live until %d, want %d at most", latest, limit)
	}
	if removed := w.position.Tip.Time; removed.Before(time.Unix(int64(latest), 0).Add(time.Hour)) {
		t.Errorf("removed at block time %s, want an hour or more after the last deadline %s", removed, time.Unix(int64(latest), 0).UTC())
	}
}

// TestAShorterRetentionWaitsForQuotesOfALongerOne restarts the service with another retention.
func TestAShorterRetentionWaitsForQuotesOfALongerOne(t *testing.T) {
	t.Parallel()
	w := openRetaining(t, sqliteDatabase(t), testRetention)
	w.removeUnfunded(0)
	draft := w.create(alice, "key")
	w.pass(10 * 24 * time.Hour)
	w.extend(nil)
	w.config.DraftRetention = 24 * time.Hour
	service, err := New(context.Background(), w.config)
	w.must(err)
	w.use(service)
	w.removeUnfunded(0)
	w.pass(retentionMargin - time.Second)
	w.extend(nil)
	w.removeUnfunded(0)
	w.pass(time.Second)
	w.extend(nil)
	w.removeUnfunded(1)
	w.checkGone(draft)
}

// TestManyDraftsAreRemovedInBatches removes more drafts than one transaction does.
func TestManyDraftsAreRemovedInBatches(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openRetaining(t, database, testRetention)
		w.removeUnfunded(0)
		const drafts = 2*removalBatch + 5
		for i := range drafts {
			w.create([]sortie.Address{alice, bob}[i%2], string(testHash('k', uint64(i)).String()))
		}
		w.pass(testRetention + retentionMargin + time.Second)
		w.extend(nil)
		w.removeUnfunded(drafts)
		for _, wallet := range []sortie.Address{alice, bob} {
			left := 0
			_, err := w.app.Drafts(context.Background(), wallet, DraftQuery{}, func(View) (bool, error) { left++; return true, nil })
			if err != nil || left != 0 {
				t.Errorf("%s has %d drafts, %v, want none", wallet, left, err)
			}
		}
		if _, err := w.db.OldestDraft(context.Background()); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the oldest draft: %v, want %v", err, store.ErrNotFound)
		}
	})
}
