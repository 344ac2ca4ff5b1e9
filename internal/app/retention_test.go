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

func openRetaining(t *testing.T, database string, retention time.Duration) *testApp {
	t.Helper()
	return openTestApp(t, database, testAppOptions{configure: func(config *Config) { config.DraftRetention = retention }})
}

func (a *testApp) removeUnfunded(want int) {
	a.t.Helper()
	got, err := a.app.RemoveUnfundedDrafts(context.Background())
	a.must(err)
	if got != want {
		a.t.Errorf("removed %d drafts, want %d", got, want)
	}
}

func (a *testApp) checkGone(draft store.Draft) {
	a.t.Helper()
	if _, err := a.app.Mission(context.Background(), draft.Wallet, draft.ID); sortie.ErrorCode(err) != sortie.CodeNotFound {
		a.t.Errorf("reading the removed draft: %v, want %s", err, sortie.CodeNotFound)
	}
	if types := a.typesOf(draft); len(types) != 0 {
		a.t.Errorf("the removed draft has events %v, want none", types)
	}
}

func TestADraftThatStaysUnfundedIsRemoved(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openRetaining(t, database, testRetention)
		locked := a.fund(alice, "locked", mission.DepthLocked)
		seen := a.fund(bob, "seen", mission.DepthSeen)
		unfunded := a.create(alice, "unfunded")
		a.removeUnfunded(0)
		a.pass(testRetention + retentionMargin)
		a.extend(nil)
		a.removeUnfunded(0) // it is old enough only after this
		a.pass(2 * time.Second)
		a.removeUnfunded(0) // nothing is known about the chain since
		a.extend(nil)
		a.removeUnfunded(1)
		a.checkGone(unfunded)
		for _, kept := range []store.Draft{locked, seen} {
			if types := a.typesOf(kept); a.read(kept.ID).ID != kept.ID || len(types) < 2 {
				t.Errorf("draft %s: events %v, want it kept with its events", kept.ID, types)
			}
		}
		_, created, err := a.app.CreateDraft(context.Background(), alice, "unfunded",
			[]byte(`{"title":"Something else","reward":{"token":"USDC","amount":1},"targetCount":1}`))
		if err != nil || !created {
			t.Errorf("another mission under the key of the removed draft: created %t, error %v, want a new draft", created, err)
		}
		a.removeUnfunded(0)
	})
}

func TestDraftsAreKeptForEverWithoutARetention(t *testing.T) {
	t.Parallel()
	a := openRetaining(t, sqliteDatabase(t), 0)
	draft := a.create(alice, "key")
	a.removeUnfunded(0)
	a.pass(10 * 365 * 24 * time.Hour)
	a.extend(nil)
	a.removeUnfunded(0)
	if got := a.read(draft.ID); got.ID != draft.ID {
		t.Errorf("read %q, want %q", got.ID, draft.ID)
	}
}

// TestNoQuoteIsLiveWhenItsDraftIsRemoved reads a draft at every step of its quote until it is gone.
func TestNoQuoteIsLiveWhenItsDraftIsRemoved(t *testing.T) {
	t.Parallel()
	const retention = 24 * time.Hour
	a := openRetaining(t, sqliteDatabase(t), retention)
	draft := a.create(alice, "key")
	latest := uint64(0)
	for reads := 0; ; reads++ {
		view, err := a.app.Mission(context.Background(), alice, draft.ID)
		if sortie.ErrorCode(err) == sortie.CodeNotFound && reads > 0 {
			break
		}
		a.must(err)
		latest = max(latest, view.Quote.Authorization.Deadline)
		a.pass(7 * time.Minute)
		a.extend(nil)
		if _, err := a.app.RemoveUnfundedDrafts(context.Background()); err != nil {
			t.Fatal(err)
		}
		if reads > 10_000 {
			t.Fatal("the draft is never removed")
		}
	}
	if limit := uint64(draft.CreatedAt.Add(retention).Unix()); latest > limit {
		t.Errorf("a quote was live until %d, want %d at most", latest, limit)
	}
	if removed := a.position.Tip.Time; removed.Before(time.Unix(int64(latest), 0).Add(time.Hour)) {
		t.Errorf("removed at block time %s, want an hour or more after the last deadline %s", removed, time.Unix(int64(latest), 0).UTC())
	}
}

// TestAShorterRetentionWaitsForQuotesOfALongerOne restarts the service with another retention.
func TestAShorterRetentionWaitsForQuotesOfALongerOne(t *testing.T) {
	t.Parallel()
	a := openRetaining(t, sqliteDatabase(t), testRetention)
	a.removeUnfunded(0)
	draft := a.create(alice, "key")
	a.pass(10 * 24 * time.Hour)
	a.extend(nil)
	a.config.DraftRetention = 24 * time.Hour
	service, err := New(context.Background(), a.config)
	a.must(err)
	a.use(service)
	a.removeUnfunded(0)
	a.pass(retentionMargin - time.Second)
	a.extend(nil)
	a.removeUnfunded(0)
	a.pass(time.Second)
	a.extend(nil)
	a.removeUnfunded(1)
	a.checkGone(draft)
}

// TestManyDraftsAreRemovedInBatches removes more drafts than one transaction does.
func TestManyDraftsAreRemovedInBatches(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openRetaining(t, database, testRetention)
		a.removeUnfunded(0)
		const drafts = 2*removalBatch + 5
		for i := range drafts {
			a.create([]sortie.Address{alice, bob}[i%2], string(testHash('k', uint64(i)).String()))
		}
		a.pass(testRetention + retentionMargin + time.Second)
		a.extend(nil)
		a.removeUnfunded(drafts)
		for _, wallet := range []sortie.Address{alice, bob} {
			left := 0
			_, err := a.app.Drafts(context.Background(), wallet, DraftQuery{}, func(View) (bool, error) { left++; return true, nil })
			if err != nil || left != 0 {
				t.Errorf("%s has %d drafts, %v, want none", wallet, left, err)
			}
		}
		if _, err := a.db.OldestDraft(context.Background()); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the oldest draft: %v, want %v", err, store.ErrNotFound)
		}
	})
}
