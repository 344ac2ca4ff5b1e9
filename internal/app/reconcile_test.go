package app

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// missed is an event of a block that was followed, which the node left out.
func (w *world) missed(number uint64, event onchain.Event) onchain.Event {
	event.Block, event.BlockHash, event.LogIndex, event.Transaction = number, w.blocks[number].Hash, 7, testHash('t', number, 7)
	return event
}

func (w *world) storedEvents() int {
	w.t.Helper()
	events, err := w.db.ChainEvents(context.Background(), testChain, 0, 1<<40)
	w.must(err)
	return len(events)
}

func TestAMissedFundingIsAdoptedOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openWorld(t, database, worldOptions{})
		draft := w.create(alice, "k")
		w.extend(nil, nil, nil, nil)
		funding := w.missed(testStart+1, fundingOf(draft))
		for range 2 {
			w.must(w.ledger.Adopt(context.Background(), testChain, funding))
		}
		w.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionNone})
		if stored := w.storedEvents(); stored != 1 {
			t.Errorf("%d events are stored", stored)
		}
		// A follower that had read the position before finds it changed.
		if _, err := w.ledger.Advance(context.Background(), w.step(w.position.Tip.Number, nil)); !errors.Is(err, store.ErrConflict) {
			t.Errorf("the follower went on: %v", err)
		}
		var err error
		w.position, err = w.ledger.Position(context.Background(), testChain)
		w.must(err)
		w.settle()
		w.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone})

		closing := w.missed(testStart+2, closingOf(draft, 2))
		w.must(w.ledger.Adopt(context.Background(), testChain, closing))
		stored, err := w.db.FundingOf(context.Background(), draft.ID)
		if err != nil || stored.Closed == nil || stored.Closed.Transaction != closing.Transaction {
			t.Errorf("the funding is %+v, %v", stored, err)
		}
	})
}

// What is adopted must be on the chain as it was followed.
func TestNothingIsAdoptedFromAnotherChain(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	draft := w.create(alice, "k")
	w.extend(nil, nil)
	sparse := w.step(w.position.Tip.Number) // a range of which only the last block is kept
	sparse.Blocks = []onchain.Block{w.mine(w.position.Tip.Number + 5)}
	sparse.Head = sparse.Blocks[0].Number
	w.advance(sparse)
	for name, change := range map[string]func(*onchain.Event){
		"above the tip": func(e *onchain.Event) { e.Block = w.position.Tip.Number + 1 },
		"another block": func(e *onchain.Event) { e.BlockHash[0]++ },
		"a block that is neither known nor final": func(e *onchain.Event) { e.Block = w.position.Tip.Number - 1 },
	} {
		event := w.missed(testStart+1, fundingOf(draft))
		change(&event)
		if err := w.ledger.Adopt(context.Background(), testChain, event); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.wantState(draft, mission.Created())
	w.finalize(w.position.Tip.Number)
	w.must(w.ledger.Adopt(context.Background(), testChain, w.missed(w.position.Tip.Number-1, fundingOf(draft))))
	w.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionNone})
}

func TestAnEventIsNotAdoptedInThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	first, second := w.create(alice, "first"), w.create(alice, "second")
	w.extend(nil)
	w.must(w.ledger.Adopt(context.Background(), testChain, w.missed(testStart+1, fundingOf(first))))
	other := w.missed(testStart+1, fundingOf(second))
	other.Transaction[0]++
	if err := w.ledger.Adopt(context.Background(), testChain, other); err == nil {
		t.Error("two events have one place")
	}
	w.wantState(second, mission.Created())
}

// A funding that the chain does not have is taken back. Had it been final, that is an incident that
// halts.
func TestAGhostIsRetracted(t *testing.T) {
	t.Parallel()
	for depth, incidents := range map[mission.Depth][]string{
		mission.DepthSeen: nil, mission.DepthConfirmed: nil, mission.DepthLocked: {"finality_broken"},
	} {
		t.Run(string(depth), func(t *testing.T) {
			t.Parallel()
			w := openWorld(t, sqliteDatabase(t), worldOptions{})
			draft := w.fund(alice, "k", depth)
			events, err := w.db.ChainEvents(context.Background(), testChain, 0, 1<<40)
			w.must(err)
			stranger := events[0]
			stranger.Transaction[0]++
			for _, event := range []onchain.Event{stranger, events[0], events[0]} {
				w.must(w.ledger.Retract(context.Background(), testChain, event))
			}
			w.wantState(draft, mission.Created())
			w.wantIncidents(incidents...)
			if stored := w.storedEvents(); stored != 0 {
				t.Errorf("%d events are stored", stored)
			}
			halted, err := w.ledger.Halted(context.Background())
			if err != nil || halted != (depth == mission.DepthLocked) {
				t.Errorf("halted is %t, %v", halted, err)
			}
		})
	}
}

// A close that the chain does not have leaves the refund to be done.
func TestAGhostCloseIsRetracted(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	draft := w.fund(alice, "k", mission.DepthLocked)
	w.extend([]onchain.Event{closingOf(draft, 1)})
	_, err := w.operators.Reject(context.Background(), reviewer, draft.ID, "No.")
	w.must(err)
	w.finalize(w.position.Tip.Number)
	w.settle()
	w.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionRejected, Refunded: true})
	events, err := w.db.ChainEvents(context.Background(), testChain, w.position.Tip.Number, w.position.Tip.Number)
	w.must(err)
	ghost := events[0]
	ghost.LogIndex += 5 // whoever asks the contract knows no log
	w.must(w.ledger.Retract(context.Background(), testChain, ghost))
	w.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionRejected})
	if stored := w.storedEvents(); stored != 1 {
		t.Errorf("%d events are stored, want the funding alone", stored)
	}
	if halted, err := w.ledger.Halted(context.Background()); err != nil || !halted {
		t.Errorf("halted is %t, %v", halted, err)
	}
	if jobs := w.refundJobs(draft); jobs != 1 {
		t.Errorf("%d refund jobs", jobs)
	}
}

func TestOpenMissionsAreListedOnce(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	want := make(map[string]bool) // draft id: funded
	for i := range 9 {
		draft := w.create(alice, fmt.Sprint(i))
		want[draft.ID] = i%2 == 0
		if i%2 == 0 {
			w.extend([]onchain.Event{fundingOf(draft)})
		}
		switch i {
		case 4, 8: // its refund is not final
			w.extend([]onchain.Event{closingOf(draft, 2)})
		case 2: // over
			w.extend([]onchain.Event{closingOf(draft, 2)})
			w.finalize(w.position.Tip.Number)
			w.settle()
			delete(want, draft.ID)
		}
	}
	for limit := 2; limit <= 10; limit++ { // a page takes both refunds
		got := make(map[string]bool)
		for after := ""; ; {
			page, next, err := w.ledger.OpenMissions(context.Background(), testChain, after, limit)
			w.must(err)
			if len(page) > limit {
				t.Fatalf("%d missions on a page of %d", len(page), limit)
			}
			for _, expected := range page {
				if _, twice := got[expected.Terms.DraftID]; twice {
					t.Errorf("limit %d: %s is listed twice", limit, expected.Terms.DraftID)
				}
				got[expected.Terms.DraftID] = expected.Funding != nil
			}
			if after = next; after == "" {
				break
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("limit %d: got %v, want %v", limit, got, want)
		}
	}
	for _, place := range []string{"funded", "elsewhere 1", "funded x", "closed 0"} {
		if _, _, err := w.ledger.OpenMissions(context.Background(), testChain, place, 1); err == nil {
			t.Errorf("a list goes on at %q", place)
		}
	}
}
