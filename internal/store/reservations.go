package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sortie-labs/sortie"
)

// ReservationBounds limit what reservations without a file may hold. The zero value limits nothing.
type ReservationBounds struct {
	// Newcomer says that the contributor has no accepted submission: see [DB.HasAccepted].
	Newcomer bool
	// NewcomerPercent is the part of a mission's slots that newcomers may hold together without a file, rounded up, of those that
	// no other wallet holds. 0: all.
	NewcomerPercent int
	// Meter and WideMeter count reservations that end without a file.
	Meter, WideMeter ReservationMeter
	// ContributorBytes and TotalBytes are the largest sums of declared sizes. 0: no limit.
	ContributorBytes, TotalBytes int64
}

// ReservationMeter lets its holder make so many reservations at once, and as many more each hour. A reservation whose file arrives is
// given back. The zero value lets every reservation pass.
type ReservationMeter struct {
	Holder string
	Burst  int
}

// meterWindow is how long a meter takes to refill.
const meterWindow = time.Hour

// cost is what one reservation takes of a meter, in microseconds.
func (m ReservationMeter) cost() int64 {
	if m.Burst <= 0 || m.Holder == "" {
		return 0
	}
	return meterWindow.Microseconds() / int64(m.Burst)
}

// MeterError is the refusal of a reservation by its meter.
type MeterError struct {
	Meter   ReservationMeter
	RetryAt time.Time
}

func (e *MeterError) Error() string {
	return fmt.Sprintf("%d reservations of %s ended without a file or wait for one: try again at %s", e.Meter.Burst, e.Meter.Holder, e.RetryAt.UTC().Format(time.RFC3339))
}

// HasAccepted reports whether a contributor has an accepted submission.
func (db *DB) HasAccepted(ctx context.Context, contributor sortie.Address) (bool, error) {
	return db.exists(ctx, "look for an accepted submission", selectAccepted, hexAddress(contributor))
}

// NextReservationEnd is when the next reservation of a mission without a file ends, unless it is prolonged; nil when there is none.
func (db *DB) NextReservationEnd(ctx context.Context, draftID string) (*time.Time, error) {
	return read(ctx, db, func(ctx context.Context, s *session) (*time.Time, error) {
		var end sql.NullInt64
		err := s.one(ctx, selectNextReservationEnd, []any{draftID}, func(row scanner) error { return row.Scan(&end) })
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("read the next end of a reservation: %w", err)
		}
		return optionalTime(end), nil
	})
}

// Prolong moves the end of a reservation whose file is arriving. A reservation that has ended, or lasts longer, stays as it is and
// Prolong is [ErrConflict].
func (tx *Tx) Prolong(id string, until time.Time) error {
	changed, err := tx.session.exec(tx.ctx, prolongReservation, id, until.UnixMicro())
	if err == nil && changed == 0 {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("prolong the reservation of submission %s: %w", id, err)
	}
	return nil
}

// HasIdleMeters reports whether [Tx.DropIdleMeters] would delete anything.
func (db *DB) HasIdleMeters(ctx context.Context) (bool, error) {
	return db.exists(ctx, "look for idle reservation meters", selectIdleMeter, db.clock().UnixMicro())
}

// DropIdleMeters deletes up to limit meters that have refilled.
func (tx *Tx) DropIdleMeters(limit int) error {
	if _, err := tx.session.exec(tx.ctx, deleteIdleMeters, tx.Now.UnixMicro(), limit); err != nil {
		return fmt.Errorf("delete reservation meters: %w", err)
	}
	return nil
}

// openReservation counts a new reservation, and fails the transaction when that exceeds a bound. The sum of all comes last: it is one
// row for all missions, and is held until the commit.
func (tx *Tx) openReservation(submission NewSubmission) error {
	bounds := submission.Bounds
	for _, meter := range []ReservationMeter{bounds.Meter, bounds.WideMeter} {
		if err := tx.charge(meter); err != nil {
			return err
		}
	}
	size := submission.Declaration.SizeBytes
	if _, err := tx.session.exec(tx.ctx, insertReservation, submission.ID, bounds.Newcomer, size,
		bounds.Meter.Holder, bounds.Meter.cost(), bounds.WideMeter.Holder, bounds.WideMeter.cost()); err != nil {
		return err
	}
	if err := tx.addBytes(hexAddress(submission.Contributor), size, bounds.ContributorBytes, ErrContributorBytes); err != nil {
		return err
	}
	return tx.addBytes(allReservations, size, bounds.TotalBytes, ErrReservedBytes)
}

// charge takes one reservation of a meter.
func (tx *Tx) charge(meter ReservationMeter) error {
	cost, now := meter.cost(), tx.Now.UnixMicro()
	if cost == 0 {
		return nil
	}
	slack := cost * int64(meter.Burst-1)
	changed, err := tx.session.exec(tx.ctx, chargeMeter, meter.Holder, now, cost, now+cost, now+slack)
	if err != nil || changed == 1 {
		return err
	}
	var usedUntil int64
	if err := tx.session.one(tx.ctx, selectMeter, []any{meter.Holder}, func(row scanner) error { return row.Scan(&usedUntil) }); err != nil {
		return err
	}
	return tx.session.refuse(&MeterError{Meter: meter, RetryAt: microTime(usedUntil - slack)})
}

func (tx *Tx) addBytes(holder string, size, limit int64, refusal error) error {
	if limit == 0 {
		limit = math.MaxInt64
	}
	if size > limit {
		return tx.session.refuse(refusal)
	}
	changed, err := tx.session.exec(tx.ctx, addReservedBytes, holder, size, limit-size)
	if err == nil && changed == 0 {
		err = tx.session.refuse(refusal)
	}
	return err
}

// reservation is a row of open_reservations.
type reservation struct {
	id, wallet       string
	newcomer         bool
	size             int64
	meter, wideMeter string
	cost, wideCost   int64
}

// reservationOf reads what a submission without a file counts against. One whose reservation has ended counts against nothing.
func (tx *Tx) reservationOf(was Submission) (*reservation, error) {
	r := reservation{id: was.ID, wallet: hexAddress(was.Contributor)}
	err := tx.session.one(tx.ctx, selectReservation, []any{was.ID}, func(row scanner) error {
		return row.Scan(&r.newcomer, &r.size, &r.meter, &r.cost, &r.wideMeter, &r.wideCost)
	})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return &r, err
}

// newcomers is how much the reservation counts against the share of newcomers.
func (r *reservation) newcomers() int {
	if r == nil || !r.newcomer {
		return 0
	}
	return 1
}

// closeReservation ends what openReservation counted. Meters are given back only when the file arrived.
func (tx *Tx) closeReservation(r *reservation, arrived bool) error {
	if r == nil {
		return nil
	}
	type change struct {
		statement string
		args      []any
	}
	changes := []change{{deleteReservation, []any{r.id}}}
	if arrived && r.cost > 0 {
		changes = append(changes, change{refundMeter, []any{r.meter, r.cost}})
	}
	if arrived && r.wideCost > 0 {
		changes = append(changes, change{refundMeter, []any{r.wideMeter, r.wideCost}})
	}
	changes = append(changes, change{subtractReservedBytes, []any{r.wallet, r.size}}, change{deleteReservedBytes, []any{r.wallet}},
		change{subtractReservedBytes, []any{allReservations, r.size}})
	for _, c := range changes {
		if _, err := tx.session.exec(tx.ctx, c.statement, c.args...); err != nil {
			return err
		}
	}
	return nil
}

// allReservations is the holder of the sum of all reserved bytes.
const allReservations = ""

const (
	selectAccepted = `SELECT 1 FROM submissions WHERE contributor = $1 AND accept_seq IS NOT NULL
ORDER BY accept_seq LIMIT 1`
	selectNextReservationEnd = `SELECT expires_at FROM submissions WHERE draft_id = $1 AND expires_at IS NOT NULL
ORDER BY expires_at LIMIT 1`

	prolongReservation = `UPDATE submissions SET reserved_until = $2, version = version + 1
WHERE submission_id = $1 AND status = 'pending' AND uploaded_at IS NULL AND reserved_until < $2`

	chargeMeter = `INSERT INTO reservation_meters (holder, used_until) VALUES ($1, $4)
ON CONFLICT (holder) DO UPDATE SET used_until =
	CASE WHEN reservation_meters.used_until > $2 THEN reservation_meters.used_until ELSE $2 END + $3
WHERE reservation_meters.used_until <= $5`
	refundMeter      = `UPDATE reservation_meters SET used_until = used_until - $2 WHERE holder = $1`
	selectMeter      = `SELECT used_until FROM reservation_meters WHERE holder = $1`
	selectIdleMeter  = `SELECT 1 FROM reservation_meters WHERE used_until < $1 LIMIT 1`
	deleteIdleMeters = `DELETE FROM reservation_meters WHERE holder IN
	(SELECT holder FROM reservation_meters WHERE used_until < $1 ORDER BY used_until LIMIT $2 + 0)`

	insertReservation = `INSERT INTO open_reservations (submission_id, newcomer, size_bytes, meter, meter_cost, wide_meter, wide_meter_cost)
VALUES ($1, $2, $3, $4, $5, $6, $7)`
	selectReservation = `SELECT newcomer, size_bytes, meter, meter_cost, wide_meter, wide_meter_cost
FROM open_reservations WHERE submission_id = $1`
	deleteReservation = `DELETE FROM open_reservations WHERE submission_id = $1`

	addReservedBytes = `INSERT INTO reserved_bytes (holder, size_bytes) VALUES ($1, $2)
ON CONFLICT (holder) DO UPDATE SET size_bytes = reserved_bytes.size_bytes + $2 WHERE reserved_bytes.size_bytes <= $3`
	subtractReservedBytes = `UPDATE reserved_bytes SET size_bytes = size_bytes - $2 WHERE holder = $1`
	deleteReservedBytes   = `DELETE FROM reserved_bytes WHERE holder = $1 AND size_bytes = 0`
)
