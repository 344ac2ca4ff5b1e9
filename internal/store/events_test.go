package store

import (
	"bytes"
	"context"
	"reflect"
	"testing"
	"time"
)

func testEventsWhileWriting(t *testing.T, url string) {
	const writers, each = 16, 20
	clock := new(fixedClock)
	clock.micros.Store(1_770_000_000_000_000)
	db := open(t, url, Options{Clock: clock.now})
	ctx := context.Background()
	draft := mustCreate(t, db, alice, "key")

	written := make(chan []error)
	go func() {
		written <- together(writers, func(int) error {
			for range each {
				if err := db.Tx(ctx, func(tx *Tx) error { return tx.AppendEvent(alice, draft.ID, created) }); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	var last int64
	read := func() {
		events, err := db.EventsAfter(ctx, alice, last, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events {
			want := Event{NewEvent: created, Wallet: alice, Seq: last + 1, DraftID: draft.ID, CreatedAt: time.UnixMicro(1_770_000_000_000_000).UTC()}
			if !reflect.DeepEqual(event, want) {
				t.Fatalf("after event %d came %+v, want %+v", last, event, want)
			}
			last = event.Seq
		}
	}
	for done := false; !done; {
		select {
		case errs := <-written:
			mustAll(t, errs)
			done = true
		default:
			read()
		}
	}
	for before := int64(-1); before != last; {
		before = last
		read()
	}
	if last != writers*each+1 {
		t.Errorf("the reader saw %d events, want %d", last, writers*each+1)
	}
	if events, err := db.EventsAfter(ctx, bob, 0, 10); err != nil || len(events) != 0 {
		t.Errorf("events of another wallet: got %d, error %v; want none", len(events), err)
	}
	checkCounters(t, db, alice)
}

func testSettingRace(t *testing.T, url string) {
	db := open(t, url, Options{})
	values := make([][]byte, 32)
	mustAll(t, together(len(values), func(i int) error {
		return db.Tx(context.Background(), func(tx *Tx) (err error) {
			values[i], err = tx.Setting("cursor key", []byte{0, 0xff, byte(i)})
			return err
		})
	}))
	for _, value := range values {
		if len(value) != 3 || value[0] != 0 || value[1] != 0xff || !bytes.Equal(value, values[0]) {
			t.Errorf("race for a setting: got %x, want %x for all callers", value, values[0])
		}
	}
}
