package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/onchain"
)

const leaseTime = 5 * time.Second

// testLeaseRace lets many holders race for a lease, again after each expiry.
func testLeaseRace(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(1_790_000_000_000_000)
	db := open(t, url, Options{Clock: clock.now})
	ctx := context.Background()
	var last Lease
	for round := range 6 {
		won := make(chan Lease, 16)
		for _, err := range together(16, func(i int) error {
			lease, err := db.AcquireLease(ctx, "follower:1", fmt.Sprintf("holder %d of round %d", i, round), leaseTime)
			if err == nil {
				won <- lease
			}
			return err
		}) {
			if err != nil && !errors.Is(err, ErrConflict) {
				t.Errorf("a loser got %v, want ErrConflict", err)
			}
		}
		if len(won) != 1 {
			t.Fatalf("race for a lease: got %d holders, want 1", len(won))
		}
		lease := <-won
		if lease.Epoch != last.Epoch+1 || !lease.ExpiresAt.Equal(clock.now().Truncate(time.Microsecond).Add(leaseTime)) {
			t.Errorf("new lease: got %+v, want the epoch after %d", lease, last.Epoch)
		}
		if round > 0 {
			if _, err := db.RenewLease(ctx, last, leaseTime); !errors.Is(err, ErrConflict) {
				t.Errorf("the holder before renewed: %v, want ErrConflict", err)
			}
			if err := db.ReleaseLease(ctx, last); !errors.Is(err, ErrConflict) {
				t.Errorf("the holder before released: %v, want ErrConflict", err)
			}
		}
		if again, err := db.AcquireLease(ctx, lease.Name, lease.Holder, leaseTime); err != nil || again != lease {
			t.Errorf("the holder acquired %+v again, %v; want the same", again, err)
		}
		clock.micros.Add(leaseTime.Microseconds() - 1)
		if _, err := db.AcquireLease(ctx, lease.Name, "too early", leaseTime); !errors.Is(err, ErrConflict) {
			t.Errorf("acquired a moment before the end: %v, want ErrConflict", err)
		}
		clock.micros.Add(1)
		last = lease
	}
	if other, err := db.AcquireLease(ctx, "sender:1", "other", leaseTime); err != nil || other.Epoch != 1 {
		t.Errorf("acquire a lease of another name: got %+v, error %v; want epoch 1", other, err)
	}
	if _, err := db.AcquireLease(ctx, "sender:2", "", leaseTime); err == nil {
		t.Error("acquire a lease without a holder: got no error, want one")
	}
}

func testLeaseLife(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(1_790_000_000_000_000)
	db := open(t, url, Options{Clock: clock.now})
	ctx := context.Background()
	check := func(lease Lease) error {
		return db.Tx(ctx, func(tx *Tx) error {
			_ = tx.CheckLease(lease) // swallowed, and fails the transaction all the same
			return tx.AddAudit(AuditEntry{Action: "fenced"})
		})
	}
	first, err := db.AcquireLease(ctx, "sender", "first", leaseTime)
	if err != nil {
		t.Fatal(err)
	}
	clock.micros.Add(2 * leaseTime.Microseconds())
	if err := check(first); err != nil {
		t.Errorf("check of an expired lease that no process took: got %v, want no error", err)
	}
	renewed, err := db.RenewLease(ctx, first, leaseTime)
	if err != nil || renewed.Epoch != first.Epoch || !renewed.ExpiresAt.After(first.ExpiresAt) {
		t.Errorf("renew a lease: got %+v, error %v; want the same epoch and a later end", renewed, err)
	}
	if _, err := db.AcquireLease(ctx, "sender", "second", leaseTime); !errors.Is(err, ErrConflict) {
		t.Errorf("acquired a renewed lease: %v, want ErrConflict", err)
	}
	if err := db.ReleaseLease(ctx, renewed); err != nil {
		t.Fatal(err)
	}
	if err := check(renewed); !errors.Is(err, ErrConflict) {
		t.Errorf("a write after the release: %v, want ErrConflict", err)
	}
	second, err := db.AcquireLease(ctx, "sender", "second", leaseTime) // without waiting
	if err != nil || second.Epoch != first.Epoch+1 {
		t.Errorf("acquired %+v, %v; want epoch %d", second, err, first.Epoch+1)
	}
	if err := db.ReleaseLease(ctx, second); err != nil {
		t.Fatal(err)
	}
	third, err := db.AcquireLease(ctx, "sender", "first", leaseTime)
	if err != nil || third.Epoch != first.Epoch+2 {
		t.Errorf("acquired %+v, %v; want epoch %d", third, err, first.Epoch+2)
	}
	for _, old := range []Lease{first, renewed, second, {Name: "sender", Holder: "first", Epoch: 99}, {Name: "unknown", Holder: "first", Epoch: 1}} {
		if err := check(old); !errors.Is(err, ErrConflict) {
			t.Errorf("a write under %+v: %v, want ErrConflict", old, err)
		}
	}
	if err := check(third); err != nil {
		t.Error(err)
	}
	if trail, err := db.Audit(ctx, 0, 100); err != nil || len(trail) != 2 {
		t.Errorf("%d writes passed, %v; want 2", len(trail), err)
	}
}

// testLeaseFence stops a holder in the middle of a transaction, past the end of its lease. The next
// holder must not begin before that transaction ends.
func testLeaseFence(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(1_790_000_000_000_000)
	db := open(t, url, Options{Clock: clock.now})
	ctx := context.Background()
	old, err := db.AcquireLease(ctx, "follower", "old", leaseTime)
	if err != nil {
		t.Fatal(err)
	}
	write := func(tx *Tx, lease Lease) error {
		return tx.AddAudit(AuditEntry{Action: "write", Subject: strconv.FormatInt(lease.Epoch, 10)})
	}
	next := make(chan error, 1)
	mustTx(t, db, func(tx *Tx) error {
		if err := tx.CheckLease(old); err != nil {
			return err
		}
		clock.micros.Add(leaseTime.Microseconds())
		go func() {
			lease, err := db.AcquireLease(ctx, "follower", "new", leaseTime)
			if err == nil {
				err = db.Tx(ctx, func(tx *Tx) error { return errors.Join(tx.CheckLease(lease), write(tx, lease)) })
			}
			next <- err
		}()
		for !transactionWaits(t, db, url) && len(next) == 0 {
			runtime.Gosched()
		}
		return write(tx, old)
	})
	if err := <-next; err != nil {
		t.Fatal(err)
	}
	trail, err := db.Audit(ctx, 0, 10)
	if err != nil || len(trail) != 2 || trail[0].Subject != "2" || trail[1].Subject != "1" {
		t.Errorf("the writes are %+v, %v; want that of epoch 1 before that of epoch 2", trail, err)
	}
}

// testHeldChain checks that a chain cannot move while a transaction holds it.
func testHeldChain(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	was := onchain.Position{ChainID: testChain, Tip: drawBlock(1), Version: 1}
	mustTx(t, db, func(tx *Tx) error { return errors.Join(tx.HoldChain(testChain), tx.StartChain(was)) })
	moved := make(chan error, 1)
	mustTx(t, db, func(tx *Tx) error {
		if err := tx.HoldChain(testChain); err != nil {
			return err
		}
		go func() {
			moved <- db.Tx(ctx, func(tx *Tx) error {
				_, err := tx.MoveChain(was, drawBlock(2), 2, 0)
				return errors.Join(err, tx.AddAudit(AuditEntry{Action: "moved"}))
			})
		}()
		for !transactionWaits(t, db, url) && len(moved) == 0 {
			runtime.Gosched()
		}
		return tx.AddAudit(AuditEntry{Action: "held"})
	})
	if err := <-moved; err != nil {
		t.Fatal(err)
	}
	if trail, err := db.Audit(ctx, 0, 10); err != nil || len(trail) != 2 || trail[1].Action != "held" {
		t.Errorf("audit: got %+v, error %v; want the move after the entry", trail, err)
	}
}

// transactionWaits reports whether a transaction waits for another.
func transactionWaits(t *testing.T, db *DB, url string) bool {
	t.Helper()
	if strings.HasPrefix(url, "sqlite") {
		return db.Stats().Waiting > 0
	}
	return count(t, db, `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
}
