package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
)

func testFailedFunction(t *testing.T, url string) {
	db := open(t, url, Options{})
	refusal := errors.New("no")
	err := db.Tx(context.Background(), func(tx *Tx) error {
		if _, _, err := tx.CreateDraft(drawDraft(alice, "key"), 10, created); err != nil {
			t.Error(err)
		}
		if _, err := tx.DraftByKey(alice, "key"); err != nil {
			t.Errorf("a transaction does not see its own draft: %v", err)
		}
		return refusal
	})
	if err != refusal {
		t.Errorf("Tx: %v, want the function's own error", err)
	}
	checkNothingStored(t, db)
}

func testPanickingFunction(t *testing.T, url string) {
	db := open(t, url, Options{})
	func() {
		defer func() {
			if got := recover(); got != "out of order" {
				t.Errorf("recovered %v, want the function's own panic", got)
			}
		}()
		_ = db.Tx(context.Background(), func(tx *Tx) error {
			if _, _, err := tx.CreateDraft(drawDraft(alice, "key"), 10, created); err != nil {
				t.Error(err)
			}
			panic("out of order")
		})
	}()
	checkNothingStored(t, db)
	mustCreate(t, db, alice, "the next one works")
}

func testGoexit(t *testing.T, url string) {
	db := open(t, url, Options{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = db.Tx(context.Background(), func(tx *Tx) error {
			if _, _, err := tx.CreateDraft(drawDraft(alice, "key"), 10, created); err != nil {
				t.Error(err)
			}
			runtime.Goexit()
			return nil
		})
	}()
	<-ended
	checkNothingStored(t, db)
	mustCreate(t, db, alice, "the next one works")
}

func checkNothingStored(t *testing.T, db *DB) {
	t.Helper()
	for _, table := range []string{"drafts", "wallets", "events"} {
		if rows := count(t, db, "SELECT COUNT(*) FROM "+table); rows != 0 {
			t.Errorf("rows of a failed transaction: got %d in %s, want 0", rows, table)
		}
	}
}

func testLeavingInside(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	err := db.Tx(ctx, func(tx *Tx) error {
		cancel()
		_, _, err := tx.CreateDraft(drawDraft(alice, "key"), 10, created)
		return err
	})
	if _, stored := db.DraftByKey(context.Background(), alice, "key"); err != nil || stored != nil {
		t.Errorf("Tx: %v, its draft: %v; want the transaction finished", err, stored)
	}
	if _, err := db.DraftByKey(ctx, alice, "key"); !errors.Is(err, context.Canceled) {
		t.Errorf("a read for a caller who left: %v, want context.Canceled", err)
	}
}

func testCancelledCaller(t *testing.T, url string) {
	db := open(t, url, Options{Connections: 1})
	running, release := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- db.Tx(context.Background(), func(*Tx) error {
			close(running)
			<-release
			return nil
		})
	}()
	<-running
	ctx, cancel := context.WithCancel(context.Background())
	second := make(chan error, 1)
	go func() {
		second <- db.Tx(ctx, func(*Tx) error {
			t.Error("the function of a caller who left was run")
			return nil
		})
	}()
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("Tx: %v, want context.Canceled", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Errorf("the caller who stayed: %v", err)
	}
	if err := db.Tx(ctx, func(*Tx) error { t.Error("run"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Tx: %v, want context.Canceled", err)
	}
	mustCreate(t, db, alice, "the next one works")
}

// testLeavingCallers lets callers leave at any moment. A transaction that ended with an error must
// have left nothing, one that ended without it is kept, and other callers are not affected.
func testLeavingCallers(t *testing.T, url string) {
	const callers, each = 32, 15
	db := open(t, url, Options{})
	var left atomic.Int64
	mustAll(t, together(callers, func(caller int) error {
		for i := range each {
			ctx, cancel := context.WithCancel(context.Background())
			leave := func(moment int) {
				if i%3 == moment {
					go cancel()
				}
			}
			key := fmt.Sprint(caller, " ", i)
			leave(0)
			err := db.Tx(ctx, func(tx *Tx) error {
				leave(1)
				_, _, err := tx.CreateDraft(drawDraft(alice, key), manyDrafts, created)
				leave(2)
				return err
			})
			_, stored := db.DraftByKey(context.Background(), alice, key)
			switch {
			case err == nil && stored != nil:
				return fmt.Errorf("%s was acknowledged, but: %w", key, stored)
			case err != nil && !errors.Is(stored, ErrNotFound):
				return fmt.Errorf("%s failed with %v, but is stored (%w)", key, err, stored)
			case err != nil:
				left.Add(1)
			}
		}
		return nil
	}))
	if gone := left.Load(); gone == 0 || gone == callers*each {
		t.Errorf("callers that left in time: got %d of %d, want more to test", gone, callers*each)
	}
	mustCreate(t, db, alice, "the next one works")
	checkCounters(t, db, alice)
}

func testOverload(t *testing.T, url string) {
	const callers = 16
	db := open(t, url, Options{MaxWaiting: 2})
	release := make(chan struct{})
	results := make(chan error, callers)
	for i := range callers {
		go func() {
			results <- db.Tx(context.Background(), func(tx *Tx) error {
				<-release
				_, _, err := tx.CreateDraft(drawDraft(alice, key(i)), manyDrafts, created)
				return err
			})
		}()
	}
	if err := <-results; !errors.Is(err, ErrOverloaded) { // all others wait
		t.Errorf("Tx: %v, want ErrOverloaded", err)
	}
	close(release)
	refused := int64(1)
	for range callers - 1 {
		if err := <-results; errors.Is(err, ErrOverloaded) {
			refused++
		} else if err != nil {
			t.Errorf("Tx: %v", err)
		}
	}
	stats := db.Stats()
	if stored := len(list(t, db, alice, "", 100)); int64(stored) != callers-refused || stats.Overloads != refused || stats.Writes != callers-refused {
		t.Errorf("overload: got %d refused callers, %d stored drafts and statistics %+v, want them to agree", refused, stored, stats)
	}
}

func testCloseDrains(t *testing.T, url string) {
	const callers = 8
	db := open(t, url, Options{})
	running, release := make(chan struct{}, callers), make(chan struct{})
	results := make(chan error, callers)
	for i := range callers {
		go func() {
			results <- db.Tx(context.Background(), func(tx *Tx) error {
				running <- struct{}{}
				<-release
				_, _, err := tx.CreateDraft(drawDraft(alice, key(i)), manyDrafts, created)
				return err
			})
		}()
	}
	<-running
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	for len(closed) == 0 && db.lifetime.TryRLock() { // until Close waits
		db.lifetime.RUnlock()
		runtime.Gosched()
	}
	if len(closed) != 0 {
		t.Error("Close did not wait for the transaction that was running")
	}
	close(release)
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	acknowledged := 0
	for range callers {
		if err := <-results; err == nil {
			acknowledged++
		} else if !errors.Is(err, ErrClosed) {
			t.Errorf("Tx: %v, want success or ErrClosed", err)
		}
	}
	if err := db.Tx(context.Background(), func(*Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("Tx after Close: %v, want ErrClosed", err)
	}
	if stored := len(list(t, open(t, url, Options{}), alice, "", 100)); stored != acknowledged || acknowledged == 0 {
		t.Errorf("callers: got %d acknowledged and %d stored drafts, want the same", acknowledged, stored)
	}
}

func testReopen(t *testing.T, url string) {
	db := open(t, url, Options{})
	draft := mustCreate(t, db, alice, "key")
	if err := db.Ping(context.Background()); err != nil {
		t.Errorf("Ping: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, url, Options{})
	if got, err := db.DraftByID(context.Background(), alice, draft.ID); err != nil || got.Nonce != draft.Nonce {
		t.Errorf("draft after a restart: got %+v, error %v; want the stored one", got, err)
	}
	if next := mustCreate(t, db, alice, "next"); next.Seq <= draft.Seq {
		t.Errorf("number of the draft after %d: got %d, want a greater one", draft.Seq, next.Seq)
	}
}
