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

// missed is an event of a followed block that the node left out.
func (a *testApp) missed(number uint64, event onchain.Event) onchain.Event {
	event.Block, event.BlockHash, event.LogIndex, event.Transaction = number, a.blocks[number].Hash, 7, testHash('t', number, 7)
	return event
}

func (a *testApp) storedEvents() int {
	a.t.Helper()
	events, err := a.db.ChainEvents(context.Background(), testChain, 0, 1<<40)
	a.must(err)
	return len(events)
}

func TestAMissedFundingIsAdoptedOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		draft := a.create(alice, "k")
		a.extend(nil, nil, nil, nil)
		funding := a.missed(testStart+1, fundingOf(draft))
		for range 2 {
			a.must(a.ledger.Adopt(context.Background(), testChain, funding))
		}
		a.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionNone})
		if stored := a.storedEvents(); stored != 1 {
			t.Errorf("%d events are stored, want 1", stored)
		}
		// A follower that read the position before finds it changed.
		if _, err := a.ledger.Advance(context.Background(), a.step(a.position.Tip.Number, nil)); !errors.Is(err, store.ErrConflict) {
			t.Errorf("the follower went on: %v", err)
		}
		var err error
		a.position, err = a.ledger.Position(context.Background(), testChain)
		a.must(err)
		a.settle()
		a.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone})

		closing := a.missed(testStart+2, closingOf(draft, 2))
		a.must(a.ledger.Adopt(context.Background(), testChain, closing))
		stored, err := a.db.FundingOf(context.Background(), draft.ID)
		if err != nil || stored.Closed == nil || stored.Closed.Transaction != closing.Transaction {
			t.Errorf("the funding is %+v, %v", stored, err)
		}
	})
}

// An adopted event must be on the followed chain.
func TestNothingIsAdoptedFromAnotherChain(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.create(alice, "k")
	a.extend(nil, nil)
	sparse := a.step(a.position.Tip.Number) // a range of which only the last block is kept
	sparse.Blocks = []onchain.Block{a.mine(a.position.Tip.Number + 5)}
	sparse.Head = sparse.Blocks[0].Number
	a.advance(sparse)
	for name, change := range map[string]func(*onchain.Event){
		"above the tip": func(e *onchain.Event) { e.Block = a.position.Tip.Number + 1 },
		"another block": func(e *onchain.Event) { e.BlockHash[0]++ },
		"a block that is neither known nor final": func(e *onchain.Event) { e.Block = a.position.Tip.Number - 1 },
	} {
		event := a.missed(testStart+1, fundingOf(draft))
		change(&event)
		if err := a.ledger.Adopt(context.Background(), testChain, event); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: got error %v, want %v", name, err, store.ErrConflict)
		}
	}
	a.wantState(draft, mission.Created())
	a.finalize(a.position.Tip.Number)
	a.must(a.ledger.Adopt(context.Background(), testChain, a.missed(a.position.Tip.Number-1, fundingOf(draft))))
	a.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionNone})
}

func TestAnEventIsNotAdoptedInThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	first, second := a.create(alice, "first"), a.create(alice, "second")
	a.extend(nil)
	a.must(a.ledger.Adopt(context.Background(), testChain, a.missed(testStart+1, fundingOf(first))))
	other := a.missed(testStart+1, fundingOf(second))
	other.Transaction[0]++
	if err := a.ledger.Adopt(context.Background(), testChain, other); err == nil {
		t.Error("two events have one place")
	}
	a.wantState(second, mission.Created())
}

// A funding that is not on the chain is retracted. If it was final, that is an incident that halts.
func TestAGhostIsRetracted(t *testing.T) {
	t.Parallel()
	for depth, incidents := range map[mission.Depth][]string{
		mission.DepthSeen: nil, mission.DepthConfirmed: nil, mission.DepthLocked: {"finality_broken"},
	} {
		t.Run(string(depth), func(t *testing.T) {
			t.Parallel()
			a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
			draft := a.fund(alice, "k", depth)
			events, err := a.db.ChainEvents(context.Background(), testChain, 0, 1<<40)
			a.must(err)
			stranger := events[0]
			stranger.Transaction[0]++
			for _, event := range []onchain.Event{stranger, events[0], events[0]} {
				a.must(a.ledger.Retract(context.Background(), testChain, event))
			}
			a.wantState(draft, mission.Created())
			a.wantIncidents(incidents...)
			if stored := a.storedEvents(); stored != 0 {
				t.Errorf("%d events are stored, want 0", stored)
			}
			halted, err := a.ledger.Halted(context.Background())
			if err != nil || halted != (depth == mission.DepthLocked) {
				t.Errorf("halted is %t, %v", halted, err)
			}
		})
	}
}

// After a closing is retracted its refund is due again.
func TestAGhostCloseIsRetracted(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.fund(alice, "k", mission.DepthLocked)
	a.extend([]onchain.Event{closingOf(draft, 1)})
	_, err := a.operators.Reject(context.Background(), reviewer, draft.ID, "No.")
	a.must(err)
	a.finalize(a.position.Tip.Number)
	a.settle()
	a.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionRejected, Refunded: true})
	events, err := a.db.ChainEvents(context.Background(), testChain, a.position.Tip.Number, a.position.Tip.Number)
	a.must(err)
	ghost := events[0]
	ghost.LogIndex += 5 // the contract's state has no log index
	a.must(a.ledger.Retract(context.Background(), testChain, ghost))
	a.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionRejected})
	if stored := a.storedEvents(); stored != 1 {
		t.Errorf("%d events are stored, want the funding alone", stored)
	}
	if halted, err := a.ledger.Halted(context.Background()); err != nil || !halted {
		t.Errorf("halted is %t, %v", halted, err)
	}
	if jobs := a.refundJobs(draft); jobs != 1 {
		t.Errorf("%d refund jobs, want 1", jobs)
	}
}

func TestOpenMissionsAreListedOnce(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	want := make(map[string]bool) // draft id: funded
	for i := range 9 {
		draft := a.create(alice, fmt.Sprint(i))
		want[draft.ID] = i%2 == 0
		if i%2 == 0 {
			a.extend([]onchain.Event{fundingOf(draft)})
		}
		switch i {
		case 4, 8: // its refund is not final
			a.extend([]onchain.Event{closingOf(draft, 2)})
		case 2: // over
			a.extend([]onchain.Event{closingOf(draft, 2)})
			a.finalize(a.position.Tip.Number)
			a.settle()
			delete(want, draft.ID)
		}
	}
	for limit := 2; limit <= 10; limit++ { // a page takes both refunds
		got := make(map[string]bool)
		for after := ""; ; {
			page, next, err := a.ledger.OpenMissions(context.Background(), testChain, after, limit)
			a.must(err)
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
		if _, _, err := a.ledger.OpenMissions(context.Background(), testChain, place, 1); err == nil {
			t.Errorf("OpenMissions after %q: got no error, want one", place)
		}
	}
}
