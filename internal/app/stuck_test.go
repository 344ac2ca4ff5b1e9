package app

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// No quote is issued while a funding would not be noticed. Funded missions are shown as before.
func TestQuotesAreWithheldWhileTheFollowerIsStuck(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		ctx := context.Background()
		a := openTestApp(t, database, testAppOptions{})
		draft, funded := a.create(alice, "k"), a.create(bob, "k")
		a.extend([]onchain.Event{fundingOf(funded)}, nil, nil, nil)
		a.settle()
		a.must(a.ledger.ReportIncident(ctx, onchain.IncidentFollowerStuck, "it is stuck", false))

		asked := map[string]func() error{
			"create": func() error {
				_, _, err := a.app.CreateDraft(ctx, alice, "another", []byte(`{"title":"Photo of the main entrance","reward":{"token":"USDC","amount":2.5},"targetCount":4}`))
				return err
			},
			"create again": func() error {
				_, _, err := a.app.CreateDraft(ctx, alice, "k", []byte(`{"title":"Photo of the main entrance","reward":{"token":"USDC","amount":2.5},"targetCount":4}`))
				return err
			},
			"status": func() error { _, err := a.app.Mission(ctx, alice, draft.ID); return err },
			"list": func() error {
				_, err := a.app.Drafts(ctx, alice, DraftQuery{}, func(View) (bool, error) { return true, nil })
				return err
			},
		}
		for name, ask := range asked {
			var coded *sortie.Error
			if err := ask(); !errors.As(err, &coded) || coded.Code != sortie.CodeFundingQuoteUnavailable {
				t.Errorf("%s: got %v, want %s", name, err, sortie.CodeFundingQuoteUnavailable)
			}
		}
		if _, err := a.app.Mission(ctx, bob, funded.ID); err != nil {
			t.Errorf("status of a funded mission: got %v, want none", err)
		}
		a.must(a.ledger.ResolveIncidents(ctx, onchain.IncidentFollowerStuck))
		for name, ask := range asked {
			if err := ask(); err != nil {
				t.Errorf("%s, when it is not stuck: got %v, want none", name, err)
			}
		}
		if incidents, err := a.db.OpenIncidents(ctx); err != nil || len(incidents) > 0 {
			t.Errorf("the incidents are %v, %v, want none", incidents, err)
		}
	})
}

// A draft without a valid authorization is not compared with the contract, and of the others a
// bounded number is.
func TestReconcileComparesWhatCanBeFunded(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		ctx := context.Background()
		a := openTestApp(t, database, testAppOptions{})
		live, rejected := a.create(alice, "live"), a.create(alice, "rejected")
		a.reject(rejected)
		listed := func() (ids []string) {
			for after := ""; ; {
				page, next, err := a.ledger.OpenMissions(ctx, testChain, after, 1)
				a.must(err)
				for _, each := range page {
					ids = append(ids, each.Terms.DraftID)
				}
				if after = next; next == "" {
					return ids
				}
			}
		}
		if got, want := listed(), []string{live.ID, rejected.ID}; !slices.Equal(got, want) {
			t.Errorf("while an authorization is alive: got %v, want %v", got, want)
		}
		a.pass(2 * maxAuthorization)
		if got, want := listed(), []string{live.ID}; !slices.Equal(got, want) {
			t.Errorf("when none is: got %v, want %v", got, want)
		}
	})
}

// A walk over drafts that can be funded ends after a number of them, and the next one begins there.
func TestReconcileComparesABoundedNumberOfDrafts(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		ctx := context.Background()
		a := openTestApp(t, database, testAppOptions{})
		var drafts []string
		for _, key := range []string{"a", "b", "c"} {
			drafts = append(drafts, a.create(alice, key).ID)
		}
		walk := func(after string) (ids []string) {
			page, next, err := a.ledger.OpenMissions(ctx, testChain, after, 10)
			a.must(err)
			if next != "" {
				t.Errorf("the walk from %q continues at %q, want its end", after, next)
			}
			for _, each := range page {
				ids = append(ids, each.Terms.DraftID)
			}
			return ids
		}
		if got := walk("unfunded 0 2"); !slices.Equal(got, drafts[:2]) {
			t.Errorf("a walk of two: got %v, want %v", got, drafts[:2])
		}
		if got := walk(""); !slices.Equal(got, drafts[2:]) {
			t.Errorf("the walk after it: got %v, want %v", got, drafts[2:])
		}
		if got := walk(""); !slices.Equal(got, drafts) {
			t.Errorf("the walk after the last draft: got %v, want %v", got, drafts)
		}
	})
}

// A reconcile is queued when events are set aside, and again when the incident is cleared.
func TestClearingSetAsideEventsReconciles(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		ctx := context.Background()
		a := openTestApp(t, database, testAppOptions{})
		a.must(a.ledger.SetAside(ctx, testChain, onchain.Block{Number: 7, Time: a.clock()}, "Block 7."))
		incidents, err := a.db.OpenIncidents(ctx)
		if err != nil || len(incidents) != 1 {
			t.Fatalf("the incidents are %v, %v, want one", incidents, err)
		}
		jobs := func() int { return a.count(`SELECT count(*) FROM test_jobs WHERE name = 'reconcile'`) }
		if got := jobs(); got != 1 {
			t.Errorf("opened: got %d reconcile jobs, want 1", got)
		}
		_, err = a.operators.ClearIncident(ctx, reviewer, incidents[0].ID, "the node was repaired")
		a.must(err)
		if got := jobs(); got != 2 {
			t.Errorf("cleared: got %d reconcile jobs, want 2", got)
		}
	})
}
