package store

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func addIntent(db *DB, subject string) (intent Intent, wasCreated bool, err error) {
	err = db.Tx(context.Background(), func(tx *Tx) error {
		intent, wasCreated, err = tx.AddIntent("close", subject, testChain, alice)
		return err
	})
	return intent, wasCreated, err
}

func mustIntent(t testing.TB, db *DB, subject string) Intent {
	t.Helper()
	intent, wasCreated, err := addIntent(db, subject)
	if err != nil || !wasCreated {
		t.Fatalf("AddIntent(%s): got created %t, error %v", subject, wasCreated, err)
	}
	return intent
}

func drawAttempt(nonce uint64) Attempt {
	return Attempt{Sender: alice, Hash: drawHash(), Raw: []byte{2, 0, 255, 39}, Nonce: nonce, FeeCap: new(big.Int).Lsh(big.NewInt(1), 90), TipCap: big.NewInt(0)}
}

func addAttempt(db *DB, intent Intent, attempt Attempt) error {
	return db.Tx(context.Background(), func(tx *Tx) error { return tx.AddAttempt(intent.ID, attempt) })
}

func moveIntentTo(db *DB, was Intent, status IntentStatus) error {
	to := was
	to.Status = status
	return db.Tx(context.Background(), func(tx *Tx) error { return tx.MoveIntent(was, to) })
}

func testIntentRace(t *testing.T, url string) {
	db := open(t, url, Options{})
	for round := range 3 { // each after the intent before it is done
		intents := make([]Intent, 24)
		var creations atomic.Int64
		mustAll(t, together(len(intents), func(i int) (err error) {
			var wasCreated bool
			intents[i], wasCreated, err = addIntent(db, "draft")
			if wasCreated {
				creations.Add(1)
			}
			return err
		}))
		for _, intent := range intents {
			if intent.ID != intents[0].ID || intent.Status != IntentQueued || intent.Sender != alice || intent.ChainID != testChain {
				t.Fatalf("race for an intent: got %+v, want %+v for all callers", intent, intents[0])
			}
		}
		if rows := count(t, db, "SELECT COUNT(*) FROM intents"); creations.Load() != 1 || rows != int64(round+1) {
			t.Fatalf("race for an intent: got %d callers that created it and %d rows, want 1 and 1", creations.Load(), rows)
		}
		if newest, err := db.IntentOf(context.Background(), "close", "draft"); err != nil || newest.ID != intents[0].ID {
			t.Errorf("the newest intent is %d, %v; want %d", newest.ID, err, intents[0].ID)
		}

		var moves atomic.Int64
		for _, err := range together(16, func(i int) error { return moveIntentTo(db, intents[0], []IntentStatus{IntentVoid, IntentDone}[i%2]) }) {
			if err == nil {
				moves.Add(1)
			} else if !errors.Is(err, ErrConflict) {
				t.Errorf("a loser got %v, want ErrConflict", err)
			}
		}
		if moves.Load() != 1 {
			t.Errorf("race to move an intent: got %d winners, want 1", moves.Load())
		}
	}
}

// testNonceRace gives the same nonces to different intents.
func testNonceRace(t *testing.T, url string) {
	db := open(t, url, Options{})
	intents := make([]Intent, 12)
	for i := range intents {
		intents[i] = mustIntent(t, db, key(i))
	}
	for nonce := range uint64(4) {
		var winners atomic.Int64
		for _, err := range together(len(intents), func(i int) error {
			err := addAttempt(db, intents[i], drawAttempt(nonce))
			if err == nil {
				winners.Add(1)
			}
			return err
		}) {
			if err != nil && !errors.Is(err, ErrConflict) {
				t.Errorf("a loser got %v, want ErrConflict", err)
			}
		}
		if winners.Load() != 1 {
			t.Errorf("race for a nonce: got %d intents with nonce %d, want 1", winners.Load(), nonce)
		}
	}
	sent, err := db.Intents(context.Background(), testChain, alice, IntentSent)
	if err != nil || len(sent) != 4 {
		t.Fatalf("%d intents were sent, %v; want 4", len(sent), err)
	}
	for i, intent := range sent {
		if *intent.Nonce != uint64(i) || len(intent.Attempts) != 1 {
			t.Errorf("intent %d: got nonce %d and %d attempts, want its own nonce and one attempt", i, *intent.Nonce, len(intent.Attempts))
		}
	}
	if rows := count(t, db, "SELECT COUNT(*) FROM attempts"); rows != 4 {
		t.Errorf("%d attempts are stored, want those of the winners", rows)
	}
}

func testIntentLife(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(1_790_000_000_000_000)
	db := open(t, url, Options{Clock: clock.now})
	ctx := context.Background()
	intent, other := mustIntent(t, db, "a"), mustIntent(t, db, "b")
	conflict := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrConflict) {
			t.Errorf("%s: %v, want ErrConflict", what, err)
		}
	}
	reread := func(subject string) Intent {
		t.Helper()
		got, err := db.IntentOf(ctx, "close", subject)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	move := func(was, to Intent) {
		t.Helper()
		mustTx(t, db, func(tx *Tx) error { return tx.MoveIntent(was, to) })
	}

	first, second := drawAttempt(7), drawAttempt(7)
	mustAll(t, []error{addAttempt(db, intent, first), addAttempt(db, intent, second)})
	conflict("an attempt with another nonce", addAttempt(db, intent, drawAttempt(8)))
	conflict("a nonce that another has", addAttempt(db, other, drawAttempt(7)))
	conflict("the same transaction again", addAttempt(db, intent, second))
	conflict("a move from where it was", moveIntentTo(db, intent, IntentVoid))
	want := intent
	want.Status, want.Nonce = IntentSent, &first.Nonce
	for i, attempt := range []Attempt{first, second} {
		attempt.Number, attempt.SentAt = i+1, clock.now().UTC().Truncate(time.Microsecond)
		want.Attempts = append(want.Attempts, attempt)
	}
	sent := reread("a")
	if !sameIntent(sent, want) {
		t.Errorf("read %+v, want %+v", sent, want)
	}

	for _, nonce := range []*uint64{nil, new(uint64)} {
		stale := sent
		stale.Nonce = nonce
		conflict("a move from another nonce", moveIntentTo(db, stale, IntentVoid))
	}

	clock.micros.Add(1_000_000)
	mined := sent
	mined.Status, mined.MinedBlock, mined.MinedTransaction, mined.Problem = IntentMined, 12, first.Hash, "none"
	move(sent, mined)
	mined.UpdatedAt = clock.now().UTC().Truncate(time.Microsecond)
	if got := reread("a"); !sameIntent(got, mined) {
		t.Errorf("read %+v, want %+v", got, mined)
	}
	conflict("an attempt for what is mined", addAttempt(db, intent, drawAttempt(7)))
	conflict("a nonce that a mined one has", addAttempt(db, other, drawAttempt(7)))

	queued := mined // replaced by a stranger's transaction: it needs another nonce
	queued.Status, queued.Nonce, queued.MinedBlock, queued.MinedTransaction, queued.Problem = IntentQueued, nil, 0, [32]byte{}, ""
	move(mined, queued)
	mustAll(t, []error{addAttempt(db, other, drawAttempt(7)), addAttempt(db, intent, drawAttempt(9))})
	if got := reread("a"); *got.Nonce != 9 || len(got.Attempts) != 3 || got.Attempts[2].Number != 3 || got.Attempts[1].Nonce != 7 {
		t.Errorf("read %+v, want a third attempt with nonce 9", got)
	}
	if err := moveIntentTo(db, reread("a"), IntentDone); err != nil {
		t.Fatal(err)
	}
	again := mustIntent(t, db, "a")
	if again.ID <= intent.ID || reread("a").ID != again.ID {
		t.Errorf("intent after %d: got %d, want a later one", intent.ID, again.ID)
	}
	done, err := db.Intents(ctx, testChain, alice, IntentDone)
	if err != nil || len(done) != 1 {
		t.Fatalf("done intents: got %d, error %v; want one", len(done), err)
	}
	conflict("two active intents for one thing", moveIntentTo(db, done[0], IntentQueued))
	if _, err := db.IntentOf(ctx, "close", "unknown"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown intent: %v, want ErrNotFound", err)
	}
}

func sameIntent(a, b Intent) bool {
	attempts := slices.EqualFunc(a.Attempts, b.Attempts, func(a, b Attempt) bool {
		same := a.FeeCap.Cmp(b.FeeCap) == 0 && a.TipCap.Cmp(b.TipCap) == 0
		a.FeeCap, a.TipCap, b.FeeCap, b.TipCap = nil, nil, nil, nil
		return same && reflect.DeepEqual(a, b)
	})
	a.Attempts, b.Attempts = nil, nil
	return attempts && reflect.DeepEqual(a, b)
}

func testIntentLists(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(1_790_000_000_000_000)
	db := open(t, url, Options{Clock: clock.now})
	ctx := context.Background()
	checkBacklog := func(wantQueued, wantSent int, wantOldest time.Time) {
		t.Helper()
		queued, sent, oldest, err := db.IntentBacklog(ctx)
		if err != nil || queued != wantQueued || sent != wantSent || !oldest.Equal(wantOldest) {
			t.Errorf("the backlog is %d, %d since %s, %v; want %d, %d since %s", queued, sent, oldest, err, wantQueued, wantSent, wantOldest)
		}
	}
	checkBacklog(0, 0, time.Time{})
	intents := make([]Intent, MaxIntents+10)
	mustTx(t, db, func(tx *Tx) (err error) {
		for i := range intents {
			if intents[i], _, err = tx.AddIntent("close", key(i), testChain, alice); err != nil {
				return err
			}
		}
		_, _, err = tx.AddIntent("close", "of another sender", testChain, bob)
		return err
	})
	began := intents[0].CreatedAt
	clock.micros.Add(1_000_000)
	last := len(intents) - 1
	for i, nonce := range map[int]uint64{0: 12, last: 10, 2: 11} { // in another order than that of their numbers
		if err := errors.Join(addAttempt(db, intents[i], drawAttempt(nonce)), addAttempt(db, intents[i], drawAttempt(nonce))); err != nil {
			t.Fatal(err)
		}
	}
	checkBacklog(len(intents)+1-3, 3, began)
	for _, test := range []struct {
		statuses []IntentStatus
		first    []int // by place in intents
		number   int
	}{
		{[]IntentStatus{IntentSent}, []int{last, 2, 0}, 3},
		{[]IntentStatus{IntentQueued}, []int{1, 3, 4, 5, 6}, MaxIntents},
		{[]IntentStatus{IntentQueued, IntentSent, IntentMined}, []int{last, 2, 0, 1, 3, 4}, MaxIntents},
		{[]IntentStatus{IntentMined, IntentDone}, nil, 0},
	} {
		got, err := db.Intents(ctx, testChain, alice, test.statuses...)
		if err != nil || len(got) != test.number {
			t.Fatalf("%v: %d intents, %v; want %d", test.statuses, len(got), err, test.number)
		}
		for i, place := range test.first {
			attempts := 0
			if place == 0 || place == 2 || place == last {
				attempts = 2
			}
			if got[i].ID != intents[place].ID || len(got[i].Attempts) != attempts {
				t.Errorf("%v: number %d is %s with %d attempts, want %s", test.statuses, i, got[i].Subject, len(got[i].Attempts), fmt.Sprint(intents[place].Subject))
			}
		}
	}
	mustTx(t, db, func(tx *Tx) error {
		_, _, err := tx.AddIntent(IntentSettle, "1", testChain, alice)
		return err
	})
	if got, err := db.Intents(ctx, testChain, alice, IntentQueued); err != nil || len(got) != MaxIntents || got[MaxIntents-1].Kind != IntentSettle || got[0].ID != intents[1].ID {
		t.Errorf("a payout after more closings than are read: got %d intents, error %v; want it among them, in its order", len(got), err)
	}
	if got, err := db.Intents(ctx, testChain, alice); err != nil || len(got) != 0 {
		t.Errorf("intents in no status: got %d, error %v; want none", len(got), err)
	}
	if _, err := db.Intents(ctx, testChain, alice, "sent') OR ('' = '"); err == nil {
		t.Error("a status that there is not was taken")
	}
}
