package app

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/onchain"
)

// setAside reports the next block, and follows it without its events.
func (w *world) setAside(detail string) {
	w.t.Helper()
	next := onchain.Block{Number: w.position.Tip.Number + 1, Time: w.clock()}
	w.must(w.ledger.SetAside(context.Background(), testChain, next, detail))
	w.extend(nil)
}

func (w *world) passPage(limit int) onchain.PassPage {
	w.t.Helper()
	page, err := w.ledger.PassPage(context.Background(), testChain, limit)
	w.must(err)
	return page
}

func (w *world) compared(page onchain.PassPage, settled, wantMore bool) {
	w.t.Helper()
	more, err := w.ledger.PassCompared(context.Background(), testChain, page, settled)
	w.must(err)
	if more != wantMore {
		w.t.Errorf("after the page that follows draft %d: more is %t, want %t", page.After, more, wantMore)
	}
}

func idsOf(page onchain.PassPage) (ids []string) {
	for _, each := range page.Missions {
		ids = append(ids, each.Terms.DraftID)
	}
	return ids
}

// A draft whose funding was set aside is not removed as unfunded, however late an operator looks at
// it.
func TestADraftWhoseFundingWasSetAsideIsNotRemoved(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openRetaining(t, database, testRetention)
		w.removeUnfunded(0)
		unfunded, another, funded := w.create(alice, "unfunded"), w.create(alice, "another"), w.create(bob, "funded")
		w.extend(nil)
		w.setAside("The funding.")
		block := w.position.Tip.Number
		w.pass(testRetention + retentionMargin + time.Second)
		w.extend(nil)
		w.removeUnfunded(0) // the incident is open
		w.clearIncidents()
		w.removeUnfunded(0) // nothing was compared since

		first := w.passPage(2)
		if got, want := idsOf(first), []string{unfunded.ID, another.ID}; !slices.Equal(got, want) || first.Block != block {
			t.Errorf("the first page: got %v as of block %d, want %v as of block %d", got, first.Block, want, block)
		}
		w.compared(first, true, true)
		w.removeUnfunded(0) // the last page was not compared
		last := w.passPage(2)
		if got, want := idsOf(last), []string{funded.ID}; !slices.Equal(got, want) || !last.End {
			t.Errorf("the last page: got %v, end %t, want %v, end true", got, last.End, want)
		}
		w.must(w.ledger.Adopt(context.Background(), testChain, w.missed(block, fundingOf(funded))))
		w.compared(last, true, false)
		w.removeUnfunded(2)
		w.checkGone(unfunded)
		w.checkGone(another)
		if got := w.read(funded.ID); got.ID != funded.ID {
			t.Errorf("the funded draft: read %q, want %q", got.ID, funded.ID)
		}
		if page := w.passPage(2); page.Pass != 0 {
			t.Errorf("a complete pass has page %+v, want none", page)
		}
	})
}

// Nothing is removed while the incident is open, even if all drafts were compared: an operator has
// not looked at the nodes.
func TestNothingIsRemovedWhileASetAsideIsOpen(t *testing.T) {
	t.Parallel()
	w := openRetaining(t, sqliteDatabase(t), testRetention)
	w.removeUnfunded(0)
	w.create(alice, "unfunded")
	w.setAside("A block.")
	w.compared(w.passPage(10), true, false)
	w.pass(testRetention + retentionMargin + time.Second)
	w.extend(nil)
	w.removeUnfunded(0)
	w.clearIncidents()
	w.compared(w.passPage(10), true, false)
	w.removeUnfunded(1)
}

// A pass counts only as a whole: each page once, in order, of the newest pass, with everything
// adopted.
func TestAFullPassIsCompleteOnlyAsAWhole(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openWorld(t, database, worldOptions{})
		for _, key := range []string{"a", "b", "c"} {
			w.create(alice, key)
		}
		w.setAside("A block.")
		first := w.passPage(2)
		w.compared(first, true, true)
		w.compared(first, true, false) // by another process, too
		stale := w.passPage(2)
		w.setAside("Another block.")
		w.compared(stale, true, false) // of the pass before
		w.compared(first, true, false)
		if page := w.passPage(2); page.After != 0 || page.Block != w.position.Tip.Number {
			t.Errorf("after another block: got a page after draft %d as of block %d, want 0 and %d", page.After, page.Block, w.position.Tip.Number)
		}
		w.compared(w.passPage(2), false, true)
		w.compared(w.passPage(2), true, false)
		if page := w.passPage(2); page.Pass == 0 || page.After != 0 {
			t.Errorf("after a pass in which something was not adopted: got %+v, want it from its beginning", page)
		}
		w.compared(w.passPage(2), true, true)
		w.compared(w.passPage(2), true, false)
		if page := w.passPage(2); page.Pass != 0 {
			t.Errorf("after a whole pass: got %+v, want none", page)
		}
	})
}

// A draft is compared if its authorization was alive when the block was made, however long ago that
// is now.
func TestAFullPassComparesWhatCouldBeFundedThen(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	rejected := w.create(alice, "rejected")
	w.reject(rejected)
	w.setAside("A block.")
	w.pass(30 * 24 * time.Hour)
	w.clearIncidents()
	if got, want := idsOf(w.passPage(10)), []string{rejected.ID}; !slices.Equal(got, want) {
		t.Errorf("the page: got %v, want %v", got, want)
	}
	w.compared(w.passPage(10), true, false)
	w.setAside("A later block.")
	if got := idsOf(w.passPage(10)); len(got) != 0 {
		t.Errorf("for a later block: got %v, want none", got)
	}
}

func TestAFullPassThatIsNotCompleteContinues(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	before := w.count(`SELECT count(*) FROM test_jobs WHERE name = 'reconcile'`)
	w.must(w.ledger.ContinueReconcile(context.Background()))
	if got := w.count(`SELECT count(*) FROM test_jobs WHERE name = 'reconcile'`); got != before+1 {
		t.Errorf("got %d reconcile jobs, want %d", got, before+1)
	}
}
