package store

import (
	"context"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// An intent that is handed over begins anew with nonces of the new sender, and keeps the
// transactions of the former one.
func testHandOver(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	next := sortie.MustAddress("0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f")
	sent, queued, mined := mustIntent(t, db, "sent"), mustIntent(t, db, "queued"), mustIntent(t, db, "mined")
	mustAll(t, []error{addAttempt(db, sent, drawAttempt(7)), addAttempt(db, mined, drawAttempt(8))})
	read := func(subject string) Intent {
		t.Helper()
		intent, err := db.IntentOf(ctx, "close", subject)
		if err != nil {
			t.Fatal(err)
		}
		return intent
	}
	handOver := func(was Intent) error {
		return db.Tx(ctx, func(tx *Tx) error { return tx.HandOver(was, next) })
	}
	mined = read("mined")
	if err := moveIntentTo(db, mined, IntentMined); err != nil {
		t.Fatal(err)
	}
	if err := handOver(read("mined")); !errors.Is(err, ErrConflict) {
		t.Errorf("hand over what is mined: got %v, want a conflict", err)
	}
	if err := handOver(sent); !errors.Is(err, ErrConflict) {
		t.Errorf("hand over what was sent since it was read: got %v, want a conflict", err)
	}
	mustAll(t, []error{handOver(queued), handOver(read("sent"))})
	if others, err := db.OtherSenders(ctx, testChain, next); err != nil || len(others) != 1 || others[alice] != 1 {
		t.Errorf("other senders: got %v, %v; want one intent of %s", others, err, alice)
	}
	now := read("sent")
	if now.Sender != next || now.Status != IntentQueued || now.Nonce != nil || len(now.Attempts) != 1 || now.Attempts[0].Sender != alice {
		t.Errorf("handed over: got %+v, want it queued for %s with the attempt of %s", now, next, alice)
	}
	if err := addAttempt(db, now, drawAttempt(7)); err != nil { // the former sender's intents may hold the same number
		t.Fatal(err)
	}
	if now = read("sent"); len(now.Attempts) != 2 || now.Attempts[1].Sender != next {
		t.Errorf("attempts: got %+v, want a second one of %s", now.Attempts, next)
	}
}

func testGasCost(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(1_790_000_000_000_000)
	db := open(t, url, Options{Clock: clock.now})
	ctx := context.Background()
	want := func(when string, wei int64, known bool) {
		t.Helper()
		cost, err := db.GasCost(ctx, testChain)
		if err != nil || cost.Wei.Cmp(big.NewInt(wei)) != 0 || cost.Since.IsZero() == known {
			t.Errorf("%s: got %+v, %v; want %d wei, since known %t", when, cost, err, wei, known)
		}
	}
	want("before the first", 0, false)
	for range 3 {
		mustTx(t, db, func(tx *Tx) error { return tx.AddGasCost(testChain, big.NewInt(5)) })
		clock.micros.Add((24 * time.Hour).Microseconds())
	}
	mustTx(t, db, func(tx *Tx) error { return tx.AddGasCost(testChain+1, big.NewInt(5)) })
	want("after three days", 10, true)
	clock.micros.Add((72 * time.Hour).Microseconds())
	want("after six days", 0, false)
}
