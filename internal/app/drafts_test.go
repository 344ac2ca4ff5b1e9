package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// Not parallel: it replaces the process's source of randomness.
func TestIDsThatAreTakenAreDrawnAgain(t *testing.T) {
	useCases := newApp(t)
	const body = `{"title":"Photo of the main entrance","reward":{"token":"USDC","amount":2.5},"targetCount":4}`
	creator := sortie.MustAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
	create := func(key string) View {
		t.Helper()
		cryptotest.SetGlobalRandom(t, 1) // the same draws from the beginning
		view, created, err := useCases.CreateDraft(context.Background(), creator, key, []byte(body))
		if err != nil || !created {
			t.Fatalf("%s: created %t, %v", key, created, err)
		}
		return view
	}
	first, second := create("k1"), create("k2")
	if first.DraftID == second.DraftID || first.MissionID == second.MissionID {
		t.Errorf("%s %s are the ids of two drafts", first.DraftID, first.MissionID)
	}
	if first.Quote.Authorization.Nonce == second.Quote.Authorization.Nonce {
		t.Error("two drafts share a nonce")
	}
	again, created, err := useCases.CreateDraft(context.Background(), creator, "k2", []byte(body))
	if err != nil || created || again.MissionID != second.MissionID {
		t.Errorf("replay: %s, created %t, %v; want %s", again.MissionID, created, err, second.MissionID)
	}
}

// The process that follows the chain may have a faster clock than the one that answers.
func TestAFrozenQuoteIsShownByASlowClock(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.fund(alice, "k", mission.DepthConfirmed)
	frozen, err := a.app.Mission(context.Background(), alice, draft.ID)
	a.must(err)
	a.pass(24 * time.Hour)
	later, err := a.app.Mission(context.Background(), alice, draft.ID)
	a.must(err)
	if later.Quote.Authorization.Deadline != draft.QuoteDeadline || later.Quote.Authorization.Deadline != frozen.Quote.Authorization.Deadline {
		t.Errorf("the deadline was %d and is %d", frozen.Quote.Authorization.Deadline, later.Quote.Authorization.Deadline)
	}
	a.pass(-25 * time.Hour)
	earlier, err := a.app.Mission(context.Background(), alice, draft.ID)
	if err != nil || earlier.Quote.Authorization.Deadline >= draft.QuoteDeadline {
		t.Errorf("an hour before it was frozen: %d, %v", earlier.Quote.Authorization.Deadline, err)
	}
}

func newApp(t *testing.T) *App {
	t.Helper()
	ctx, logger := context.Background(), slog.New(slog.DiscardHandler)
	now := func() time.Time { return time.UnixMilli(1_770_000_000_000) }
	db, err := store.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "sortie.db"), store.Options{Clock: now, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	signer, err := funding.NewKeySigner([32]byte{31: 7})
	if err != nil {
		t.Fatal(err)
	}
	domain := sortie.Domain{ChainID: 31337, Factory: sortie.MustAddress("0x1111111111111111111111111111111111111111")}
	issuer, err := funding.NewIssuer(domain, signer, funding.DefaultTTL)
	if err != nil {
		t.Fatal(err)
	}
	useCases, err := New(ctx, Config{
		Store: db, Issuer: issuer, Domain: domain, Now: now, Logger: logger,
		Tokens: map[sortie.Token]Token{sortie.TokenUSDC: {Address: sortie.MustAddress("0x036CbD53842c5426634e7929541eC2318f3dCF7e"), Decimals: 6}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return useCases.App
}

func TestFailuresOfTheStore(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{store.ErrOverloaded, store.ErrUnavailable, store.ErrClosed} {
		err := storeError(fmt.Errorf("read draft: %w", failure))
		if sortie.ErrorCode(err) != sortie.CodeServiceUnavailable || !errors.Is(err, failure) {
			t.Errorf("%v became %v", failure, err)
		}
	}
	for _, failure := range []error{errors.New("unplanned"), store.ErrConflict, sortie.NewError(sortie.CodeNotFound, "of our own")} {
		if err := storeError(failure); err != failure {
			t.Errorf("%v became %v", failure, err)
		}
	}
}
