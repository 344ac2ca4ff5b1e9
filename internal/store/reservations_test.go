package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// bounded is a drawn submission with bounds.
func bounded(slots Slots, wallet sortie.Address, key string, bounds ReservationBounds) NewSubmission {
	submission := drawSubmission(slots, wallet, key)
	submission.Bounds = bounds
	return submission
}

// reservedBytes reads the sum of a holder; 0 without a row.
func reservedBytes(t testing.TB, db *DB, holder string) (size int64) {
	t.Helper()
	err := query(db, `SELECT COALESCE(SUM(size_bytes), 0) FROM reserved_bytes WHERE holder = $1`, []any{holder}, func(row scanner) error { return row.Scan(&size) })
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// testNewcomerShare races newcomers for a mission. They get half of what no other wallet holds, and
// one slot of any mission.
func testNewcomerShare(t *testing.T, url string) {
	db := open(t, url, Options{})
	newcomer := ReservationBounds{Newcomer: true, NewcomerPercent: 50}
	for target, want := range map[int]int64{1: 1, 2: 1, 3: 2, 50: 25} {
		slots := publish(t, db, func(s *Slots) { s.Target = target })
		var got atomic.Int64
		var group sync.WaitGroup
		for i := range 60 {
			group.Go(func() {
				_, _, err := declare(db, bounded(slots, contributor(i), fmt.Sprintf("%d-%d", target, i), newcomer))
				switch {
				case err == nil:
					got.Add(1)
				case !errors.Is(err, ErrNewcomersFull) && !errors.Is(err, ErrMissionFull):
					t.Errorf("declare to a mission of %d: got %v, want %v or %v", target, err, ErrNewcomersFull, ErrMissionFull)
				}
			})
		}
		group.Wait()
		if got.Load() != want {
			t.Errorf("60 newcomers got %d slots of a mission of %d, want %d", got.Load(), target, want)
		}
		if left := mustSlots(t, db, slots.DraftID).Left(); left > 0 {
			mustDeclare(t, db, slots, contributor(1000), fmt.Sprintf("known-%d", target))
		}
	}
}

// testNewcomersComeAndGo checks the count of newcomers for every way to a decision. An upload is
// not a decision.
func testNewcomersComeAndGo(t *testing.T, url string) {
	db := open(t, url, Options{})
	slots := publish(t, db, func(s *Slots) { s.Target = 2 })
	newcomer := ReservationBounds{Newcomer: true, NewcomerPercent: 50}
	for i, end := range []func(Submission){
		func(s Submission) { mustMove(t, db, s, sortie.SubmissionRejected) },
		func(s Submission) { mustMove(t, db, s, sortie.SubmissionWithdrawn) },
		func(s Submission) { mustMove(t, db, mustUpload(t, db, s), sortie.SubmissionRejected) },
		func(s Submission) {
			mustMove(t, db, mustMove(t, db, mustUpload(t, db, s), sortie.SubmissionFlagged), sortie.SubmissionWithdrawn)
		},
	} {
		stored, _, err := declare(db, bounded(slots, contributor(i), "one", newcomer))
		if err != nil {
			t.Fatalf("newcomer %d: got %v, want a slot", i, err)
		}
		if _, _, err := declare(db, bounded(slots, contributor(100), "two", newcomer)); !errors.Is(err, ErrNewcomersFull) {
			t.Errorf("a second newcomer with %d: got %v, want %v", i, err, ErrNewcomersFull)
		}
		end(stored)
		if got, want := reservedBytes(t, db, hexAddress(contributor(i)))+reservedBytes(t, db, allNewcomers)+reservedBytes(t, db, allReservations), int64(0); got != want {
			t.Errorf("%d bytes are reserved after the end of reservation %d, want %d", got, i, want)
		}
	}
	waiting, _, err := declare(db, bounded(slots, contributor(50), "one", newcomer))
	if err != nil {
		t.Fatal(err)
	}
	refused := func(when string) {
		t.Helper()
		if _, _, err := declare(db, bounded(slots, contributor(100), "two", newcomer)); !errors.Is(err, ErrNewcomersFull) {
			t.Errorf("a second newcomer %s: got %v, want %v", when, err, ErrNewcomersFull)
		}
	}
	waiting = mustUpload(t, db, waiting)
	refused("after the file of the first arrived")
	waiting = mustMove(t, db, waiting, sortie.SubmissionFlagged)
	refused("while a person looks at the first")
	mustMove(t, db, waiting, sortie.SubmissionAccepted)
	if _, _, err := declare(db, bounded(slots, contributor(100), "two", newcomer)); err != nil {
		t.Errorf("a second newcomer after the first was accepted: got %v, want a slot", err)
	}
}

// testReservationMeters uses up a meter. Acceptances and time refill it, other decisions do not.
func testReservationMeters(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(time.Now().UnixMicro())
	db := open(t, url, Options{Clock: clock.now})
	slots := publish(t, db, func(s *Slots) { s.Target, s.EndsAt = 100, clock.now().Add(24*time.Hour) })
	count := 0
	reserve := func(meter, wide ReservationMeter) (Submission, error) {
		count++
		stored, _, err := declare(db, bounded(slots, contributor(count), "one", ReservationBounds{Meter: meter, WideMeter: wide}))
		return stored, err
	}
	meter := ReservationMeter{Holder: "192.0.2.1/32", Burst: 3}
	var all []Submission
	for range meter.Burst {
		stored, err := reserve(meter, ReservationMeter{})
		if err != nil {
			t.Fatalf("reservation %d of %d: got %v, want none", count, meter.Burst, err)
		}
		all = append(all, stored)
	}
	var refusal *MeterError
	if _, err := reserve(meter, ReservationMeter{}); !errors.As(err, &refusal) || !refusal.RetryAt.Equal(clock.now().Truncate(time.Microsecond).Add(meterWindow/3)) {
		t.Fatalf("one too many: got %v, want a refusal until %s", err, clock.now().Add(meterWindow/3))
	}
	mustMove(t, db, all[0], sortie.SubmissionWithdrawn)
	if _, err := reserve(meter, ReservationMeter{}); !errors.As(err, &refusal) {
		t.Errorf("after a withdrawal: got %v, want a refusal", err)
	}
	mustMove(t, db, mustUpload(t, db, all[1]), sortie.SubmissionRejected)
	if _, err := reserve(meter, ReservationMeter{}); !errors.As(err, &refusal) {
		t.Errorf("after a file that was rejected: got %v, want a refusal", err)
	}
	uploaded := mustUpload(t, db, all[2])
	if _, err := reserve(meter, ReservationMeter{}); !errors.As(err, &refusal) {
		t.Errorf("after a file that is not decided about: got %v, want a refusal", err)
	}
	mustMove(t, db, uploaded, sortie.SubmissionAccepted)
	if _, err := reserve(meter, ReservationMeter{}); err != nil {
		t.Errorf("after an acceptance: got %v, want a reservation", err)
	}
	clock.micros.Add((meterWindow / 3).Microseconds())
	if _, err := reserve(meter, ReservationMeter{}); err != nil {
		t.Errorf("after a third of the window: got %v, want a reservation", err)
	}
	if _, err := reserve(ReservationMeter{Holder: "other", Burst: 3}, meter); !errors.As(err, &refusal) || refusal.Meter != meter {
		t.Errorf("a wider meter that is used up: got %v, want its refusal", err)
	}
	own := ReservationMeter{Holder: "0x07", Burst: 1}
	count++
	waiting, _, err := declare(db, bounded(slots, contributor(count), "one", ReservationBounds{OwnMeter: own}))
	if err != nil {
		t.Fatal(err)
	}
	count++
	if _, _, err := declare(db, bounded(slots, contributor(count), "one", ReservationBounds{OwnMeter: own})); !errors.As(err, &refusal) || refusal.Meter != own {
		t.Errorf("a meter of the contributor that is used up: got %v, want its refusal", err)
	}
	clock.micros.Add((2 * meterWindow).Microseconds())
	mustTx(t, db, func(tx *Tx) error { return tx.DropIdleMeters(100) })
	var left int64
	if err := query(db, `SELECT COUNT(*) FROM reservation_meters`, nil, func(row scanner) error { return row.Scan(&left) }); err != nil || left != 0 {
		t.Errorf("%d meters are left after their time, %v; want 0", left, err)
	}
	if err := query(db, `SELECT COUNT(*) FROM open_reservations WHERE meter <> '' OR wide_meter <> '' OR own_meter <> ''`, nil,
		func(row scanner) error { return row.Scan(&left) }); err != nil || left != 0 {
		t.Errorf("%d undecided submissions name their meters after the time of these, %v; want 0", left, err)
	}
	if idle, err := db.HasIdleMeters(context.Background()); err != nil || idle {
		t.Errorf("idle meters are left: %t, %v; want none", idle, err)
	}
	mustMove(t, db, mustUpload(t, db, waiting), sortie.SubmissionAccepted)
}

// testReservedBytes races declarations against the sums of declared sizes.
func testReservedBytes(t *testing.T, url string) {
	db := open(t, url, Options{})
	slots := publish(t, db, func(s *Slots) { s.Target, s.PerContributor = 1000, 100 })
	const size = sortie.MaxUploadBytes
	for name, c := range map[string]struct {
		bounds  ReservationBounds
		want    error
		wallets int
	}{
		"of a contributor": {ReservationBounds{ContributorBytes: 3*size + 1}, ErrContributorBytes, 1},
		"of a network":     {ReservationBounds{Network: "192.0.2.1/32", NetworkBytes: 3 * size}, ErrNetworkBytes, 20},
		"of newcomers":     {ReservationBounds{Newcomer: true, NewcomerPercent: 50, NewcomerBytes: 3 * size}, ErrNewcomerBytes, 20},
		"of all":           {ReservationBounds{TotalBytes: 3 * size}, ErrReservedBytes, 20},
	} {
		var held []Submission
		var mu sync.Mutex
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				stored, _, err := declare(db, bounded(slots, contributor(i%c.wallets), fmt.Sprint(name, i), c.bounds))
				if err != nil && !errors.Is(err, c.want) {
					t.Errorf("bytes %s: got %v, want %v", name, err, c.want)
				}
				if err == nil {
					mu.Lock()
					held = append(held, stored)
					mu.Unlock()
				}
			})
		}
		group.Wait()
		if got := reservedBytes(t, db, allReservations); len(held) != 3 || got != 3*size {
			t.Errorf("bytes %s: %d reservations of %d bytes are held, want 3 of %d", name, len(held), got, int64(3*size))
		}
		for i, stored := range held {
			if i == 0 {
				stored = mustUpload(t, db, stored)
				if got := reservedBytes(t, db, allReservations); got != 2*size {
					t.Errorf("bytes %s: %d bytes are held after one file arrived, want %d", name, got, int64(2*size))
				}
			}
			mustMove(t, db, stored, sortie.SubmissionWithdrawn)
		}
		for _, holder := range []string{allReservations, allNewcomers, c.bounds.Network} {
			if got := reservedBytes(t, db, holder); got != 0 {
				t.Errorf("bytes %s: %d bytes of %q are held in the end, want 0", name, got, holder)
			}
		}
	}
}

// testProlong moves the end of a reservation while it lasts, and checks that a concurrent expiry
// conflicts.
func testProlong(t *testing.T, url string) {
	db := open(t, url, Options{})
	slots := publish(t, db, nil)
	was := mustDeclare(t, db, slots, bob, "one")
	later := was.ReservedUntil.Add(10 * time.Minute)
	prolong := func(until time.Time) error {
		return db.Tx(context.Background(), func(tx *Tx) error { return tx.Prolong(was.ID, until) })
	}
	if err := prolong(later); err != nil {
		t.Fatal(err)
	}
	now, err := db.Submission(context.Background(), was.ID)
	if err != nil || !now.ReservedUntil.Equal(later) {
		t.Errorf("reserved until %s, %v; want %s", now.ReservedUntil, err, later)
	}
	err = db.Tx(context.Background(), func(tx *Tx) error {
		_, err := tx.MoveSubmission(was, SubmissionMove{To: sortie.SubmissionRejected})
		return err
	})
	if !errors.Is(err, ErrConflict) {
		t.Errorf("expiry of what was read before: got %v, want %v", err, ErrConflict)
	}
	if err := prolong(was.ReservedUntil); !errors.Is(err, ErrConflict) {
		t.Errorf("an earlier end: got %v, want %v", err, ErrConflict)
	}
	mustUpload(t, db, now)
	if err := prolong(later.Add(time.Hour)); !errors.Is(err, ErrConflict) {
		t.Errorf("after the upload: got %v, want %v", err, ErrConflict)
	}
}
