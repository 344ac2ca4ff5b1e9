package app

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/onchain"
)

// setAside reports the next block, and follows it without its events.
func (a *testApp) setAside(detail string) {
	a.t.Helper()
	next := onchain.Block{Number: a.position.Tip.Number + 1, Time: a.clock()}
	a.must(a.ledger.SetAside(context.Background(), testChain, next, detail))
	a.extend(nil)
}

func (a *testApp) passPage(limit int) onchain.PassPage {
	a.t.Helper()
	page, err := a.ledger.PassPage(context.Background(), testChain, limit)
	a.must(err)
	return page
}

func (a *testApp) compared(page onchain.PassPage, settled, wantMore bool) {
	a.t.Helper()
	more, err := a.ledger.PassCompared(context.Background(), testChain, page, settled)
	a.must(err)
	if more != wantMore {
		a.t.Errorf("after the page that follows draft %d: more is %t, want %t", page.After, more, wantMore)
	}
}

func idsOf(page onchain.PassPage) (ids []string) {
	for _, each := range page.Missions {
		ids = append(ids, each.Terms.DraftID)
	}
	return ids
}

// A draft whose funding was set aside is never removed as unfunded.
func TestADraftWhoseFundingWasSetAsideIsNotRemoved(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openRetaining(t, database, testRetention)
		a.removeUnfunded(0)
		unfunded, another, funded := a.create(alice, "unfunded"), a.create(alice, "another"), a.create(bob, "funded")
		a.extend(nil)
		a.setAside("The funding.")
		block := a.position.Tip.Number
		a.pass(testRetention + retentionMargin + time.Second)
		a.extend(nil)
		a.removeUnfunded(0) // the incident is open
		a.clearIncidents()
		a.removeUnfunded(0) // nothing was compared since

		first := a.passPage(2)
		if got, want := idsOf(first), []string{unfunded.ID, another.ID}; !slices.Equal(got, want) || first.Block != block {
			t.Errorf("the first page: got %v as of block %d, want %v as of block %d", got, first.Block, want, block)
		}
		a.compared(first, true, true)
		a.removeUnfunded(0) // the last page was not compared
		last := a.passPage(2)
		if got, want := idsOf(last), []string{funded.ID}; !slices.Equal(got, want) || !last.End {
			t.Errorf("the last page: got %v, end %t, want %v, end true", got, last.End, want)
		}
		a.must(a.ledger.Adopt(context.Background(), testChain, a.missed(block, fundingOf(funded))))
		a.compared(last, true, false)
		a.removeUnfunded(2)
		a.checkGone(unfunded)
		a.checkGone(another)
		if got := a.read(funded.ID); got.ID != funded.ID {
			t.Errorf("the funded draft: read %q, want %q", got.ID, funded.ID)
		}
		if page := a.passPage(2); page.Pass != 0 {
			t.Errorf("a complete pass has page %+v, want none", page)
		}
	})
}

// Nothing is removed while the incident is open, even if all drafts were compared.
func TestNothingIsRemovedWhileASetAsideIsOpen(t *testing.T) {
	t.Parallel()
	a := openRetaining(t, sqliteDatabase(t), testRetention)
	a.removeUnfunded(0)
	a.create(alice, "unfunded")
	a.setAside("A block.")
	a.compared(a.passPage(10), true, false)
	a.pass(testRetention + retentionMargin + time.Second)
	a.extend(nil)
	a.removeUnfunded(0)
	a.clearIncidents()
	a.compared(a.passPage(10), true, false)
	a.removeUnfunded(1)
}

// A pass is complete only when each page of the newest pass was compared once, in order, with
// everything adopted.
func TestAFullPassIsCompleteOnlyAsAWhole(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		for _, key := range []string{"a", "b", "c"} {
			a.create(alice, key)
		}
		a.setAside("A block.")
		first := a.passPage(2)
		a.compared(first, true, true)
		a.compared(first, true, false) // by another process, too
		stale := a.passPage(2)
		a.setAside("Another block.")
		a.compared(stale, true, false) // of the pass before
		a.compared(first, true, false)
		if page := a.passPage(2); page.After != 0 || page.Block != a.position.Tip.Number {
			t.Errorf("after another block: got a page after draft %d as of block %d, want 0 and %d", page.After, page.Block, a.position.Tip.Number)
		}
		a.compared(a.passPage(2), false, true)
		a.compared(a.passPage(2), true, false)
		if page := a.passPage(2); page.Pass == 0 || page.After != 0 {
			t.Errorf("after a pass in which something was not adopted: got %+v, want it from its beginning", page)
		}
		a.compared(a.passPage(2), true, true)
		a.compared(a.passPage(2), true, false)
		if page := a.passPage(2); page.Pass != 0 {
			t.Errorf("after a whole pass: got %+v, want none", page)
		}
	})
}

// A draft is compared if its authorization was valid when the block was made.
func TestAFullPassComparesWhatCouldBeFundedThen(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	rejected := a.create(alice, "rejected")
	a.reject(rejected)
	a.setAside("A block.")
	a.pass(30 * 24 * time.Hour)
	a.clearIncidents()
	if got, want := idsOf(a.passPage(10)), []string{rejected.ID}; !slices.Equal(got, want) {
		t.Errorf("the page: got %v, want %v", got, want)
	}
	a.compared(a.passPage(10), true, false)
	a.setAside("A later block.")
	if got := idsOf(a.passPage(10)); len(got) != 0 {
		t.Errorf("for a later block: got %v, want none", got)
	}
}

func TestAFullPassThatIsNotCompleteContinues(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	before := a.count(`SELECT count(*) FROM test_jobs WHERE name = 'reconcile'`)
	a.must(a.ledger.ContinueReconcile(context.Background()))
	if got := a.count(`SELECT count(*) FROM test_jobs WHERE name = 'reconcile'`); got != before+1 {
		t.Errorf("got %d reconcile jobs, want %d", got, before+1)
	}
}
