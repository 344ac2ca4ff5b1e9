package store

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

func testReadAsWritten(t *testing.T, url string) {
	clock := new(fixedClock)
	clock.micros.Store(1_770_000_000_123_456)
	db := open(t, url, Options{Clock: clock.now})
	ctx := context.Background()
	want := Draft{
		NewDraft: drawDraft(alice, "the key"), State: mission.Created(), Version: 1,
		CreatedAt: time.UnixMicro(1_770_000_000_123_456).UTC(), UpdatedAt: time.UnixMicro(1_770_000_000_123_456).UTC(),
	}
	got, wasCreated, err := create(db, want.NewDraft, 1000)
	want.Seq = got.Seq
	if err != nil || !wasCreated || got.Seq <= 0 || !reflect.DeepEqual(got, want) {
		t.Fatalf("CreateDraft = %+v, %t, %v, want %+v", got, wasCreated, err, want)
	}
	checkRead := func(want Draft) {
		t.Helper()
		byID, err1 := db.DraftByID(ctx, alice, want.ID)
		byMission, err2 := db.DraftByID(ctx, alice, want.MissionID)
		byKey, err3 := db.DraftByKey(ctx, alice, want.IdempotencyKey)
		listed, err4 := db.ListDrafts(ctx, alice, DraftFilter{Limit: 10})
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		for _, got := range append(listed, byID, byMission, byKey) {
			if !reflect.DeepEqual(got, want) {
				t.Errorf("read %+v, want %+v", got, want)
			}
		}
	}
	checkRead(want)

	clock.micros.Add(1_000_001)
	moved := mustApply(t, db, got, mission.FundingSeen, mission.FundingConfirmed)
	want.State = mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone}
	want.UpdatedAt, want.Version, want.QuoteDeadline = time.UnixMicro(1_770_000_001_123_457).UTC(), 3, 1_770_000_900
	if !reflect.DeepEqual(moved, want) {
		t.Errorf("TransitionDraft = %+v, want %+v", moved, want)
	}
	checkRead(want)
	checkRead(func() Draft { // a reorganization makes the quote live again
		want = mustApply(t, db, moved, mission.FundingReverted)
		if want.QuoteDeadline != 0 {
			t.Errorf("a live quote has deadline %d", want.QuoteDeadline)
		}
		return want
	}())
	checkCounters(t, db, alice)
}

func testReplay(t *testing.T, url string) {
	db := open(t, url, Options{})
	first := mustCreate(t, db, alice, "same key")
	moved := mustApply(t, db, first, mission.FundingSeen)
	again, wasCreated, err := create(db, drawDraft(alice, "same key"), 1000)
	if err != nil || wasCreated || !reflect.DeepEqual(again, moved) {
		t.Errorf("a replay gave %+v, %t, %v, want the draft as it is now, %+v", again, wasCreated, err, moved)
	}
	if other := mustCreate(t, db, bob, "same key"); other.ID == first.ID {
		t.Error("two wallets share a key's draft")
	}
	checkCounters(t, db, alice)
}

func testKeyRace(t *testing.T, url string) {
	db := open(t, url, Options{})
	for round := range 5 {
		drafts := make([]Draft, 64)
		var creations atomic.Int64
		mustAll(t, together(len(drafts), func(i int) error {
			draft, wasCreated, err := create(db, drawDraft(alice, key(round)), manyDrafts)
			drafts[i] = draft
			if wasCreated {
				creations.Add(1)
			}
			return err
		}))
		if creations.Load() != 1 {
			t.Errorf("race for a key: got %d callers that created the draft, want 1", creations.Load())
		}
		for _, draft := range drafts {
			if !reflect.DeepEqual(draft, drafts[0]) {
				t.Fatalf("race for a key: got %+v, want %+v for all callers", draft, drafts[0])
			}
		}
	}
	if stored := list(t, db, alice, "", 100); len(stored) != 5 {
		t.Errorf("drafts of 5 keys: got %d, want 5", len(stored))
	}
	checkCounters(t, db, alice)
}

func testForeignDrafts(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	draft := mustCreate(t, db, alice, "key")
	for _, id := range []string{draft.ID, draft.MissionID, "draft_00000000000000000000000000", "no-such-mission", "", "_", "'; --"} {
		if _, err := db.DraftByID(ctx, bob, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("DraftByID(%q) of another wallet: %v, want ErrNotFound", id, err)
		}
	}
	if _, err := db.DraftByKey(ctx, bob, "key"); !errors.Is(err, ErrNotFound) {
		t.Errorf("DraftByKey of another wallet: %v, want ErrNotFound", err)
	}
	if drafts := list(t, db, bob, "", 10); len(drafts) != 0 {
		t.Errorf("list of a wallet without drafts: got %d, want 0", len(drafts))
	}
}

func testTakenIDs(t *testing.T, url string) {
	db := open(t, url, Options{})
	existing := mustCreate(t, db, alice, "first")
	sameDraftID, sameMissionID, free := drawDraft(bob, "second"), drawDraft(bob, "second"), drawDraft(bob, "second")
	sameDraftID.ID, sameMissionID.MissionID = existing.ID, existing.MissionID
	err := db.Tx(context.Background(), func(tx *Tx) error {
		for _, taken := range []NewDraft{sameDraftID, sameMissionID} {
			if _, _, err := tx.CreateDraft(taken, 1000, created); !errors.Is(err, ErrIDTaken) {
				t.Errorf("CreateDraft with a taken id: %v, want ErrIDTaken", err)
			}
		}
		_, _, err := tx.CreateDraft(free, 1000, created)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if drafts := list(t, db, bob, "", 10); len(drafts) != 1 || drafts[0].ID != free.ID {
		t.Errorf("stored %v, want %s alone", ids(drafts), free.ID)
	}
	checkCounters(t, db, bob)
}

func testLimitRace(t *testing.T, url string) {
	const limit = 10
	db := open(t, url, Options{})
	var creations atomic.Int64
	for _, err := range together(64, func(i int) error {
		_, wasCreated, err := create(db, drawDraft(alice, key(i)), limit)
		if wasCreated && err == nil {
			creations.Add(1)
		}
		return err
	}) {
		if err != nil && !errors.Is(err, ErrDraftLimit) {
			t.Errorf("a loser got %v, want ErrDraftLimit", err)
		}
	}
	stored := list(t, db, alice, "", 100)
	if creations.Load() != limit || len(stored) != limit {
		t.Errorf("%d callers created a draft and %d are stored, want %d", creations.Load(), len(stored), limit)
	}
	checkCounters(t, db, alice)

	if _, wasCreated, err := create(db, drawDraft(alice, stored[0].IdempotencyKey), limit); err != nil || wasCreated {
		t.Errorf("a replay at the limit: created %t, %v; want the draft", wasCreated, err)
	}
	if _, _, err := create(db, drawDraft(bob, "key"), limit); err != nil {
		t.Errorf("another wallet at its own beginning: %v", err)
	}
}

func testLimitCounts(t *testing.T, url string) {
	const limit = 3
	db := open(t, url, Options{})
	full := func() bool {
		t.Helper()
		checkCounters(t, db, alice)
		_, _, err := create(db, drawDraft(alice, "probe"), int(count(t, db, "SELECT unfunded_drafts FROM wallets WHERE wallet = $1", hexAddress(alice))))
		if !errors.Is(err, ErrDraftLimit) {
			t.Errorf("one above the count: %v, want ErrDraftLimit", err)
		}
		return count(t, db, "SELECT unfunded_drafts FROM wallets WHERE wallet = $1", hexAddress(alice)) >= limit
	}
	drafts := []Draft{mustCreate(t, db, alice, "a"), mustCreate(t, db, alice, "b"), mustCreate(t, db, alice, "c")}
	for _, step := range []struct {
		draft int
		event mission.Event
		full  bool
	}{
		{0, mission.FundingSeen, true}, // still unconfirmed
		{0, mission.FundingConfirmed, false},
		{0, mission.FundingReverted, true},
		{1, mission.Rejected, false},
		{1, mission.FundingConfirmed, false}, // money for a rejected mission waits for its refund
		{2, mission.FundingLocked, false},
		{2, mission.Approved, false},
	} {
		drafts[step.draft] = mustApply(t, db, drafts[step.draft], step.event)
		if got := full(); got != step.full {
			t.Errorf("after %s: full %t, want %t", step.event, got, step.full)
		}
	}
}

func testSwallowedRefusal(t *testing.T, url string) {
	db := open(t, url, Options{})
	mustCreate(t, db, alice, "only one")
	err := db.Tx(context.Background(), func(tx *Tx) error {
		_, _, _ = tx.CreateDraft(drawDraft(alice, "one too many"), 1, created)
		return nil
	})
	if !errors.Is(err, ErrDraftLimit) {
		t.Errorf("Tx: %v, want ErrDraftLimit", err)
	}
	if drafts := list(t, db, alice, "", 10); len(drafts) != 1 {
		t.Errorf("%d drafts are stored, want 1", len(drafts))
	}
	checkCounters(t, db, alice)
}

func testListPartition(t *testing.T, url string) {
	db := open(t, url, Options{})
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 150 {
		draft := mustCreate(t, db, alice, key(i))
		mustCreate(t, db, bob, key(i))
		for range random.IntN(5) {
			if moved, err := apply(db, draft, mission.Events()[random.IntN(len(mission.Events()))]); err == nil {
				draft = moved
			}
		}
	}
	all := list(t, db, alice, "", 1000)
	if len(all) != 150 || !slices.IsSortedFunc(all, func(a, b Draft) int { return int(b.Seq - a.Seq) }) {
		t.Errorf("the list has %d drafts, want all 150, newest first", len(all))
	}
	union := make(map[string]Draft)
	for _, status := range sortie.ListStatuses() {
		part := list(t, db, alice, status, 7)
		if len(part) == 0 {
			t.Errorf("drafts with status %s: got none, want some to test", status)
		}
		if !slices.IsSortedFunc(part, func(a, b Draft) int { return int(b.Seq - a.Seq) }) {
			t.Errorf("list of %s: got another order, want newest first", status)
		}
		for _, draft := range part {
			if _, twice := union[draft.ID]; twice || draft.State.View().List != status || draft.Wallet != alice {
				t.Errorf("draft %s of %s in state %+v: got it in the list of %s, want it in another", draft.ID, draft.Wallet, draft.State, status)
			}
			union[draft.ID] = draft
		}
	}
	if want := slices.Sorted(slices.Values(ids(all))); !slices.Equal(slices.Sorted(maps.Keys(union)), want) {
		t.Errorf("the five lists hold %d drafts together, want %d", len(union), len(want))
	}
	checkCounters(t, db, alice)
}

func testPagesWhileWriting(t *testing.T, url string) {
	db := open(t, url, Options{})
	for i := range 100 {
		mustCreate(t, db, alice, key(i))
	}
	before := ids(list(t, db, alice, "", 1000))

	written := make(chan error, 1)
	go func() {
		for i := range 200 {
			if _, _, err := create(db, drawDraft(alice, key(100+i)), manyDrafts); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	for writing := true; writing; {
		select {
		case err := <-written:
			if err != nil {
				t.Fatal(err)
			}
			writing = false // and once more
		default:
		}
		for _, status := range []sortie.ListStatus{"", sortie.ListPendingFunding} {
			seen := ids(list(t, db, alice, status, 7))
			if len(slices.Compact(slices.Sorted(slices.Values(seen)))) != len(seen) {
				t.Fatal("a draft was listed twice")
			}
			if old := seen[max(0, len(seen)-len(before)):]; !slices.Equal(old, before) {
				t.Fatalf("pages: got another end, want the %d drafts that existed before", len(before))
			}
		}
	}
}

func testTransitionRace(t *testing.T, url string) {
	db := open(t, url, Options{})
	draft := mustCreate(t, db, alice, "key")
	wins := 0
	for _, err := range together(64, func(int) error {
		_, err := apply(db, draft, mission.FundingSeen)
		return err
	}) {
		switch {
		case err == nil:
			wins++
		case !errors.Is(err, ErrConflict):
			t.Errorf("a loser got %v, want ErrConflict", err)
		}
	}
	events, err := db.EventsAfter(context.Background(), alice, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if wins != 1 || len(events) != 2 {
		t.Errorf("%d callers moved the draft and %d events tell of it, want 1 and 2 (with its creation)", wins, len(events))
	}
	checkCounters(t, db, alice)
}

func testTransitionsTogether(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	first, second, third := mustCreate(t, db, alice, "first"), mustCreate(t, db, bob, "second"), mustCreate(t, db, alice, "third")
	seen, confirmed := mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionNone}, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone}
	moves := []DraftMove{
		{Draft: first, To: Transition{State: confirmed, QuoteDeadline: 7}, Steps: 2},
		{Draft: second, To: Transition{State: seen, QuoteDeadline: 8}, Steps: 1},
		{Draft: third, To: Transition{State: seen, QuoteDeadline: 9}, Steps: 1},
	}
	about := func(draft Draft, kind string) DraftEvent {
		return DraftEvent{draft.Wallet, draft.ID, NewEvent{Type: kind, Data: created.Data}}
	}
	events := []DraftEvent{about(first, "a"), about(second, "b"), about(third, "c"), about(first, "d")}
	moveAll := func() error {
		return db.Tx(ctx, func(tx *Tx) error { return tx.TransitionDrafts(moves, events) })
	}
	if err := moveAll(); err != nil {
		t.Fatal(err)
	}
	for _, move := range moves {
		draft, err := db.DraftByDraftID(ctx, move.Draft.ID)
		if err != nil || draft.State != move.To.State || draft.QuoteDeadline != move.To.QuoteDeadline || draft.Version != move.Draft.Version+move.Steps {
			t.Errorf("draft moved to %+v: got %+v, error %v", move.To, draft, err)
		}
	}
	told := func(wallet sortie.Address) (text string) {
		stored, err := db.EventsAfter(ctx, wallet, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for i, event := range stored {
			if event.Seq != int64(i+1) {
				t.Errorf("number of event %d of %s: got %d, want no gaps", i+1, wallet, event.Seq)
			}
			text += event.Type + " "
		}
		return text
	}
	if got, want := told(alice)+"| "+told(bob), created.Type+" "+created.Type+" a c d | "+created.Type+" b "; got != want {
		t.Errorf("the events are %s, want %s", got, want)
	}
	checkCounters(t, db, alice)
	checkCounters(t, db, bob)

	moves[0].Draft.Version += moves[0].Steps // the first may move again, the others may not
	before := told(alice)
	swallowed := db.Tx(ctx, func(tx *Tx) error {
		_ = tx.TransitionDrafts(moves, events)
		return nil
	})
	if err := moveAll(); !errors.Is(err, ErrConflict) || !errors.Is(swallowed, ErrConflict) {
		t.Errorf("move drafts a second time: got %v and %v, want ErrConflict", err, swallowed)
	}
	if draft, err := db.DraftByDraftID(ctx, first.ID); err != nil || draft.Version != moves[0].Draft.Version || told(alice) != before {
		t.Errorf("draft moved together with a conflict: got %+v, error %v; want it unchanged", draft, err)
	}
}
