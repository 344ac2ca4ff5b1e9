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

// ReservationBounds limit what undecided submissions may hold. The zero value limits nothing.
type ReservationBounds struct {
	// Newcomer means that the contributor has no final acceptance: see [DB.HasFinal].
	Newcomer bool
	// NewcomerPercent is the share of a mission's slots that undecided submissions of newcomers may
	// hold together, rounded up, of the slots that no other submission holds. 0: all.
	NewcomerPercent int
	// Meter, WideMeter and OwnMeter count reservations that are not accepted.
	Meter, WideMeter, OwnMeter ReservationMeter
	// Network is the holder of NetworkBytes. Empty: its bytes are not counted.
	Network string
	// The largest sums of declared sizes of files that have not arrived: of the contributor, the
	// network, all newcomers and all contributors. 0: no limit.
	ContributorBytes, NetworkBytes, NewcomerBytes, TotalBytes int64
}

// countsNewcomer reports whether the reservation counts against the shares of newcomers.
func (b *ReservationBounds) countsNewcomer() bool { return b.Newcomer && b.NewcomerPercent > 0 }

func (b *ReservationBounds) meters() [3]ReservationMeter {
	return [...]ReservationMeter{b.Meter, b.WideMeter, b.OwnMeter}
}

// ReservationMeter lets its holder make Burst reservations at once, and as many more each hour. A
// reservation whose submission is accepted is refunded. The zero value allows every reservation.
type ReservationMeter struct {
	Holder string
	Burst  int
}

// meterWindow is the time in which an empty meter refills.
const meterWindow = time.Hour

// cost returns what one reservation takes from a meter, in microseconds.
func (m ReservationMeter) cost() int64 {
	if m.Burst <= 0 || m.Holder == "" {
		return 0
	}
	return meterWindow.Microseconds() / int64(m.Burst)
}

// MeterError reports that a meter refused a reservation.
type MeterError struct {
	Meter   ReservationMeter
	RetryAt time.Time
}

func (e *MeterError) Error() string {
	return fmt.Sprintf("%d reservations of %s are not accepted: try again at %s", e.Meter.Burst, e.Meter.Holder, e.RetryAt.UTC().Format(time.RFC3339))
}

// HasFinal reports whether a contributor has a final acceptance.
func (db *DB) HasFinal(ctx context.Context, contributor sortie.Address) (bool, error) {
	return db.exists(ctx, "look for a final acceptance", selectFinal, hexAddress(contributor))
}

// NextReservationEnd returns when the next reservation of a mission without a file ends, unless it
// is prolonged; nil if there is none.
func (db *DB) NextReservationEnd(ctx context.Context, draftID string) (*time.Time, error) {
	return read(ctx, db, func(r reader) (*time.Time, error) {
		var end sql.NullInt64
		err := r.one(selectNextReservationEnd, []any{draftID}, func(row scanner) error { return row.Scan(&end) })
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("read the next end of a reservation: %w", err)
		}
		return optionalTime(end), nil
	})
}

// Prolong moves the end of a reservation whose file is arriving. If the reservation has ended or
// lasts longer, it fails with [ErrConflict] and changes nothing.
func (tx *Tx) Prolong(id string, until time.Time) error {
	changed, err := tx.exec(prolongReservation, id, until.UnixMicro())
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
	idle, err := db.exists(ctx, "look for idle reservation meters", selectIdleMeter, db.clock().UnixMicro())
	if err != nil || idle {
		return idle, err
	}
	return db.exists(ctx, "look for reservations with old meters", selectOldRefund, db.clock().UnixMicro())
}

// DropIdleMeters deletes up to limit meters that have refilled, and removes the names of meters
// from up to limit submissions that are undecided for longer than a meter takes to refill: network
// addresses are not kept longer.
func (tx *Tx) DropIdleMeters(limit int) error {
	for _, statement := range []string{deleteIdleMeters, dropOldRefunds} {
		if _, err := tx.exec(statement, tx.Now.UnixMicro(), limit); err != nil {
			return fmt.Errorf("delete reservation meters: %w", err)
		}
	}
	return nil
}

// openReservation counts a new reservation, and fails the transaction when a bound is exceeded. The
// sums of newcomers and of all are changed last: each is one row for all missions, which is locked
// until the commit.
func (tx *Tx) openReservation(submission NewSubmission) error {
	bounds, size := submission.Bounds, submission.Declaration.SizeBytes
	args := []any{submission.ID, bounds.countsNewcomer(), size, bounds.Network, tx.Now.Add(meterWindow).UnixMicro()}
	for _, meter := range bounds.meters() {
		if err := tx.charge(meter); err != nil {
			return err
		}
		args = append(args, meter.Holder, meter.cost())
	}
	if _, err := tx.exec(insertReservation, args...); err != nil {
		return err
	}
	if err := tx.addBytes(hexAddress(submission.Contributor), size, bounds.ContributorBytes, ErrContributorBytes); err != nil {
		return err
	}
	if bounds.Network != "" {
		if err := tx.addBytes(bounds.Network, size, bounds.NetworkBytes, ErrNetworkBytes); err != nil {
			return err
		}
	}
	if bounds.countsNewcomer() {
		if err := tx.addBytes(allNewcomers, size, bounds.NewcomerBytes, ErrNewcomerBytes); err != nil {
			return err
		}
	}
	return tx.addBytes(allReservations, size, bounds.TotalBytes, ErrReservedBytes)
}

// charge takes one reservation from a meter.
func (tx *Tx) charge(meter ReservationMeter) error {
	cost, now := meter.cost(), tx.Now.UnixMicro()
	if cost == 0 {
		return nil
	}
	slack := cost * int64(meter.Burst-1)
	changed, err := tx.exec(chargeMeter, meter.Holder, now, cost, now+cost, now+slack)
	if err != nil || changed == 1 {
		return err
	}
	var usedUntil int64
	if err := tx.one(selectMeter, []any{meter.Holder}, func(row scanner) error { return row.Scan(&usedUntil) }); err != nil {
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
	changed, err := tx.exec(addReservedBytes, holder, size, limit-size)
	if err == nil && changed == 0 {
		err = tx.session.refuse(refusal)
	}
	return err
}

// reservation is a row of open_reservations: what an undecided submission counts against.
type reservation struct {
	id, wallet string
	newcomer   bool
	size       int64 // of the file that has not arrived; 0: it has
	network    string
	charged    [3]struct {
		meter string
		cost  int64
	}
}

// reservationOf reads what a submission counts against: nil for a decided one.
func (tx *Tx) reservationOf(was Submission) (*reservation, error) {
	r := reservation{id: was.ID, wallet: hexAddress(was.Contributor)}
	err := tx.one(selectReservation, []any{was.ID}, func(row scanner) error {
		c := &r.charged
		return row.Scan(&r.newcomer, &r.size, &r.network, &c[0].meter, &c[0].cost, &c[1].meter, &c[1].cost, &c[2].meter, &c[2].cost)
	})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return &r, err
}

// newcomers returns how much the reservation counts against the share of newcomers.
func (r *reservation) newcomers() int {
	if r == nil || !r.newcomer {
		return 0
	}
	return 1
}

// releaseBytes subtracts a reservation from the sums of declared sizes, because its file arrived or
// never will.
func (tx *Tx) releaseBytes(r *reservation) error {
	if r == nil || r.size == 0 {
		return nil
	}
	holders := []string{r.wallet}
	if r.network != "" {
		holders = append(holders, r.network)
	}
	if r.newcomer {
		holders = append(holders, allNewcomers)
	}
	for _, holder := range append(holders, allReservations) {
		if _, err := tx.exec(subtractReservedBytes, holder, r.size); err != nil {
			return err
		}
		if holder == allReservations || holder == allNewcomers {
			continue // these rows stay
		}
		if _, err := tx.exec(deleteReservedBytes, holder); err != nil {
			return err
		}
	}
	return nil
}

// closeReservation undoes openReservation, except for the count of newcomers. Meters are refunded
// only for an accepted submission: other files would cost their sender nothing.
func (tx *Tx) closeReservation(r *reservation, accepted bool) error {
	if r == nil {
		return nil
	}
	if _, err := tx.exec(deleteReservation, r.id); err != nil {
		return err
	}
	for _, charged := range r.charged {
		if !accepted || charged.cost == 0 {
			continue
		}
		if _, err := tx.exec(refundMeter, charged.meter, charged.cost); err != nil {
			return err
		}
	}
	return tx.releaseBytes(r)
}

// The holders of the sums of all reserved bytes, and of those of newcomers. No wallet or network
// has such a name.
const (
	allReservations = ""
	allNewcomers    = "newcomers"
)

const (
	selectMeter      = `SELECT used_until FROM reservation_meters WHERE holder = $1`
	deleteIdleMeters = `DELETE FROM reservation_meters WHERE holder IN
	(SELECT holder FROM reservation_meters WHERE used_until < $1 ORDER BY used_until LIMIT $2 + 0)`
	dropOldRefunds = `UPDATE open_reservations SET meter = '', meter_cost = 0, wide_meter = '', wide_meter_cost = 0,
	own_meter = '', own_meter_cost = 0, refund_until = NULL
WHERE submission_id IN (SELECT submission_id FROM open_reservations WHERE refund_until < $1 ORDER BY refund_until LIMIT $2 + 0)`
)

var (
	selectFinal = preparedRead(`SELECT 1 FROM submissions WHERE contributor = $1 AND final_at IS NOT NULL
ORDER BY final_at LIMIT 1`)
	selectNextReservationEnd = preparedRead(`SELECT expires_at FROM submissions WHERE draft_id = $1 AND expires_at IS NOT NULL
ORDER BY expires_at LIMIT 1`)

	prolongReservation = preparedWrite(`UPDATE submissions SET reserved_until = $2, version = version + 1
WHERE submission_id = $1 AND status = 'pending' AND uploaded_at IS NULL AND reserved_until < $2`)

	chargeMeter = preparedWrite(`INSERT INTO reservation_meters (holder, used_until) VALUES ($1, $4)
ON CONFLICT (holder) DO UPDATE SET used_until =
	CASE WHEN reservation_meters.used_until > $2 THEN reservation_meters.used_until ELSE $2 END + $3
WHERE reservation_meters.used_until <= $5`)
	refundMeter     = preparedWrite(`UPDATE reservation_meters SET used_until = used_until - $2 WHERE holder = $1`)
	selectIdleMeter = preparedRead(`SELECT 1 FROM reservation_meters WHERE used_until < $1 LIMIT 1`)

	insertReservation = preparedWrite(`INSERT INTO open_reservations (submission_id, newcomer, size_bytes, network, refund_until,
	meter, meter_cost, wide_meter, wide_meter_cost, own_meter, own_meter_cost)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`)
	selectReservation = preparedWrite(`SELECT newcomer, size_bytes, network, meter, meter_cost, wide_meter, wide_meter_cost, own_meter, own_meter_cost
FROM open_reservations WHERE submission_id = $1`)
	noteArrival       = preparedWrite(`UPDATE open_reservations SET size_bytes = 0, network = '' WHERE submission_id = $1`)
	selectOldRefund   = preparedRead(`SELECT 1 FROM open_reservations WHERE refund_until < $1 LIMIT 1`)
	deleteReservation = preparedWrite(`DELETE FROM open_reservations WHERE submission_id = $1`)

	addReservedBytes = preparedWrite(`INSERT INTO reserved_bytes (holder, size_bytes) VALUES ($1, $2)
ON CONFLICT (holder) DO UPDATE SET size_bytes = reserved_bytes.size_bytes + $2 WHERE reserved_bytes.size_bytes <= $3`)
	subtractReservedBytes = preparedWrite(`UPDATE reserved_bytes SET size_bytes = size_bytes - $2 WHERE holder = $1`)
	deleteReservedBytes   = preparedWrite(`DELETE FROM reserved_bytes WHERE holder = $1 AND size_bytes = 0`)
)
