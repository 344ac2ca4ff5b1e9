package store

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

const testChain = 31337

func testEventsAsWritten(t *testing.T, url string) {
	db := open(t, url, Options{})
	var want []onchain.Event
	for i := range 2*bulkRows[0] + bulkRows[1] + bulkRows[2] + 1 { // with statements of all sizes
		kinds := []onchain.EventKind{onchain.EventMissionFunded, onchain.EventSubmissionPaid, onchain.EventPayoutDeferred, onchain.EventMissionClosed}
		want = append(want, drawEvent(uint64(i/5), uint64(i%5)*1000, kinds[i%len(kinds)]))
	}
	want[1].BlockHash = want[0].BlockHash // as of one block
	want[2].Factory = bob
	largest := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	hostile := drawEvent(math.MaxInt64-1, 1<<40, onchain.EventMissionFunded)
	*hostile.Funded = onchain.MissionFunded{
		MissionID: "\x00\"\\\n'; DROP TABLE drafts; -- 😀\u2028", Reward: largest, TargetCount: new(big.Int), ReclaimAfter: math.MaxUint64,
	}
	want = append(want, hostile)
	for i, text := range []string{`"`, `\`, "\x00", "\x1f", "é", ""} {
		quoted := drawEvent(math.MaxInt64-1, 1<<40+1+uint64(i), onchain.EventMissionFunded)
		quoted.Funded.MissionID = text
		want = append(want, quoted)
	}

	stored := slices.Clone(want)
	rand.Shuffle(len(stored), func(i, j int) { stored[i], stored[j] = stored[j], stored[i] })
	mustTx(t, db, func(tx *Tx) error { return tx.AddEvents(testChain, stored) })
	mustTx(t, db, func(tx *Tx) error { return tx.AddEvents(testChain+1, stored[:3]) })

	got, err := db.ChainEvents(context.Background(), testChain, 0, math.MaxUint64)
	if err != nil || len(got) != len(want) {
		t.Fatalf("read %d events, %v; want %d", len(got), err, len(want))
	}
	for i := range want {
		if !sameEvent(got[i], want[i]) {
			t.Errorf("event %d was read as %+v, want %+v", i, got[i], want[i])
		}
	}
	got, err = db.ChainEvents(context.Background(), testChain, 3, 4)
	if err != nil || len(got) != 10 || !sameEvent(got[0], want[15]) || !sameEvent(got[9], want[24]) {
		t.Errorf("events of blocks 3 and 4: got %d, error %v; want those written", len(got), err)
	}
}

// sameEvent compares events by value: numbers of equal value may differ inside.
func sameEvent(a, b onchain.Event) bool {
	return reflect.DeepEqual(appendEventData(nil, &a), appendEventData(nil, &b)) && isWhole(&a) && isWhole(&b) &&
		a.Block == b.Block && a.BlockHash == b.BlockHash && a.LogIndex == b.LogIndex && a.Transaction == b.Transaction &&
		a.Factory == b.Factory && a.Kind == b.Kind && a.MissionKey == b.MissionKey &&
		reflect.DeepEqual([]bool{a.Funded == nil, a.Closed == nil, a.Payment == nil},
			[]bool{b.Funded == nil, b.Closed == nil, b.Payment == nil})
}

func testEventTwice(t *testing.T, url string) {
	db := open(t, url, Options{})
	first, other := drawEvent(1, 0, onchain.EventMissionFunded), drawEvent(2, 0, onchain.EventSubmissionPaid)
	mustTx(t, db, func(tx *Tx) error { return tx.AddEvents(testChain, []onchain.Event{first}) })
	again := drawEvent(1, 0, onchain.EventMissionClosed)
	err := db.Tx(context.Background(), func(tx *Tx) error {
		if err := tx.AddEvents(testChain, []onchain.Event{other, again}); !errors.Is(err, ErrConflict) {
			t.Errorf("AddEvents of one that is there: %v, want ErrConflict", err)
		}
		return nil
	})
	if !errors.Is(err, ErrConflict) {
		t.Errorf("Tx: %v, want ErrConflict although it was swallowed", err)
	}
	partless := again
	partless.Closed = nil
	if err := db.Tx(context.Background(), func(tx *Tx) error { return tx.AddEvents(testChain, []onchain.Event{other, partless}) }); err == nil {
		t.Error("an event without the part of its kind was added")
	}
	if got, err := db.ChainEvents(context.Background(), testChain, 0, 10); err != nil || len(got) != 1 || !sameEvent(got[0], first) {
		t.Errorf("stored %d events, %v; want the first alone", len(got), err)
	}
}

// testReorganizations compares many moves, back and forth, with the same moves of slices.
func testReorganizations(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	random := rand.New(rand.NewPCG(3, 4))
	blocks := []onchain.Block{drawBlock(100)}
	var events []onchain.Event
	position := onchain.Position{ChainID: testChain, Start: 100, Tip: blocks[0], Head: 107, Final: 90, Version: 1}
	if _, err := db.ChainPosition(ctx, testChain); !errors.Is(err, ErrNotFound) {
		t.Errorf("the position before the first: %v, want ErrNotFound", err)
	}
	mustTx(t, db, func(tx *Tx) error { return tx.StartChain(position) })
	for range 60 {
		keep := blocks[max(0, len(blocks)-1-random.IntN(4)*random.IntN(3))].Number
		var wantRemoved []onchain.Event
		blocks = slices.DeleteFunc(blocks, func(b onchain.Block) bool { return b.Number > keep })
		events = slices.DeleteFunc(events, func(e onchain.Event) bool {
			if e.Block > keep {
				wantRemoved = append([]onchain.Event{e}, wantRemoved...)
			}
			return e.Block > keep
		})
		var newBlocks []onchain.Block
		var newEvents []onchain.Event
		for number := keep + 1; number <= keep+uint64(random.IntN(5)); number++ {
			newBlocks = append(newBlocks, drawBlock(number))
			for logIndex := range random.IntN(3) {
				newEvents = append(newEvents, drawEvent(number, uint64(logIndex), onchain.EventMissionFunded))
			}
		}
		blocks, events = append(blocks, newBlocks...), append(events, newEvents...)
		prune := blocks[0].Number
		if len(blocks) > 20 {
			prune = blocks[len(blocks)-15].Number
		}
		blocks = slices.DeleteFunc(blocks, func(b onchain.Block) bool { return b.Number < prune })

		mustTx(t, db, func(tx *Tx) error {
			removed, err := tx.RemoveBlocksAbove(testChain, keep)
			if err != nil || !slices.EqualFunc(removed, wantRemoved, sameEvent) {
				t.Fatalf("removed %d events above %d, %v; want %d, newest first", len(removed), keep, err, len(wantRemoved))
			}
			err = errors.Join(tx.AddBlocks(testChain, newBlocks), tx.AddEvents(testChain, newEvents), tx.PruneBlocks(testChain, prune))
			if err == nil {
				position, err = tx.MoveChain(position, blocks[len(blocks)-1], position.Head+1, position.Final+1)
			}
			return err
		})
		if got, err := db.ChainPosition(ctx, testChain); err != nil || got != position {
			t.Fatalf("the position is %+v, %v; want %+v", got, err, position)
		}
		if got, err := db.ChainEvents(ctx, testChain, 0, math.MaxUint64); err != nil || !slices.EqualFunc(got, events, sameEvent) {
			t.Fatalf("there are %d events, %v; want %d", len(got), err, len(events))
		}
		got, err := db.ChainBlocks(ctx, testChain, math.MaxUint64, 1000)
		slices.Reverse(got)
		if err != nil || !slices.Equal(got, blocks) {
			t.Fatalf("the blocks are %v, %v; want %v", got, err, blocks)
		}
	}
	tip := blocks[len(blocks)-1].Number
	if page, err := db.ChainBlocks(ctx, testChain, tip, 2); err != nil || len(page) != 2 || page[0].Number != tip-1 || page[1].Number != tip-2 {
		t.Errorf("two blocks below %d: got %v, error %v; want the two newest", tip, page, err)
	}
}

func drawBlock(number uint64) onchain.Block {
	return onchain.Block{Number: number, Hash: drawHash(), Time: time.UnixMicro(1_790_000_000_000_000 + int64(number)).UTC()}
}

// testPositionRace lets many followers that read the same position move it.
func testPositionRace(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	var started int
	for _, err := range together(16, func(i int) error {
		return db.Tx(ctx, func(tx *Tx) error {
			return tx.StartChain(onchain.Position{ChainID: testChain, Tip: drawBlock(uint64(i))})
		})
	}) {
		if err == nil {
			started++
		} else if !errors.Is(err, ErrConflict) {
			t.Errorf("a loser got %v, want ErrConflict", err)
		}
	}
	if blocks, err := db.ChainBlocks(ctx, testChain, math.MaxUint64, 100); started != 1 || err != nil || len(blocks) != 1 {
		t.Errorf("%d started and there are %d blocks, %v; want one", started, len(blocks), err)
	}
	for round := range uint64(8) {
		was, err := db.ChainPosition(ctx, testChain)
		if err != nil {
			t.Fatal(err)
		}
		var moved []onchain.Position
		won := make(chan onchain.Position, 16)
		for _, err := range together(16, func(i int) error {
			tip := drawBlock(100 + round*100 + uint64(i)) // of its own, so that only the position can collide
			return db.Tx(ctx, func(tx *Tx) error {
				if err := errors.Join(tx.AddBlocks(testChain, []onchain.Block{tip}), tx.AddEvents(testChain, []onchain.Event{drawEvent(tip.Number, 0, onchain.EventMissionFunded)})); err != nil {
					return err
				}
				position, err := tx.MoveChain(was, tip, tip.Number, 0)
				if err == nil {
					won <- position
				}
				return err
			})
		}) {
			if err != nil && !errors.Is(err, ErrConflict) {
				t.Errorf("a loser got %v, want ErrConflict", err)
			}
		}
		for close(won); ; {
			position, more := <-won
			if !more {
				break
			}
			moved = append(moved, position)
		}
		now, err := db.ChainPosition(ctx, testChain)
		if err != nil || len(moved) != 1 || now != moved[0] || now.Version != was.Version+1 {
			t.Fatalf("race for the position: got winners %v, position %+v, error %v; want one winner and its position", moved, now, err)
		}
		if events, err := db.ChainEvents(ctx, testChain, 100+round*100, 199+round*100); err != nil || len(events) != 1 || events[0].Block != now.Tip.Number {
			t.Fatalf("%d events remain of the race, %v; want the winner's", len(events), err)
		}
	}
}

func testFactories(t *testing.T, url string) {
	db := open(t, url, Options{})
	mustAll(t, together(16, func(i int) error {
		return db.Tx(context.Background(), func(tx *Tx) error {
			return errors.Join(tx.AddFactory(testChain, []sortie.Address{alice, bob}[i%2]), tx.AddFactory(1, alice))
		})
	}))
	got, err := db.Factories(context.Background(), testChain)
	if err != nil || len(got) != 2 || !slices.Contains(got, alice) || !slices.Contains(got, bob) {
		t.Errorf("factories: got %v, error %v; want both, sorted", got, err)
	}
}

// mustTx runs a transaction that has no reason to fail.
func mustTx(t testing.TB, db *DB, fn func(*Tx) error) {
	t.Helper()
	if err := db.Tx(context.Background(), fn); err != nil {
		t.Fatalf("Tx: %v", err)
	}
}

func TestBulkStatementsFitTheirEngines(t *testing.T) {
	t.Parallel()
	for _, b := range []bulk{insertBlocks, insertEvents} {
		for _, size := range b.sizes {
			if parameters := 1 + size.rows*b.columns; parameters > 32_766 || strings.Count(size.sqlite, "?") != size.rows*(1+b.columns) ||
				!strings.HasSuffix(size.postgreSQL, "$"+big.NewInt(int64(parameters)).String()+")") {
				t.Errorf("statement for %d rows: want %d parameters, got %.200s", size.rows, parameters, size.postgreSQL)
			}
		}
	}
}
