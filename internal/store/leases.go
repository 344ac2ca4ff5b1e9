package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Lease is the right to do work that only one process may do at a time. It expires, so that another
// process continues the work when its holder dies.
//
// A holder that was suspended may not know that it lost the lease. Its writes are therefore fenced
// with [Tx.CheckLease]: the epoch grows with every change of holder, and old epochs are refused.
type Lease struct {
	Name      string
	Holder    string // unique to a run of a process
	Epoch     int64
	ExpiresAt time.Time
}

// AcquireLease takes a lease that is free or expired, with a new epoch, or prolongs one that the
// holder has. It fails with [ErrConflict] while another process holds it.
func (db *DB) AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (Lease, error) {
	if holder == "" {
		return Lease{}, errors.New("acquire lease: a holder needs a name")
	}
	return db.changeLease(ctx, "acquire", Lease{Name: name, Holder: holder}, ttl, func(tx *Tx, lease *Lease) error {
		return tx.one(acquireLease, []any{name, holder, lease.ExpiresAt.UnixMicro(), tx.Now.UnixMicro()},
			func(row scanner) error { return row.Scan(&lease.Epoch) })
	})
}

// RenewLease prolongs a lease, also an expired one that no other process took. Otherwise it fails
// with [ErrConflict].
func (db *DB) RenewLease(ctx context.Context, lease Lease, ttl time.Duration) (Lease, error) {
	return db.changeLease(ctx, "renew", lease, ttl, func(tx *Tx, lease *Lease) error {
		return tx.one(renewLease, []any{lease.Name, lease.Holder, lease.Epoch, lease.ExpiresAt.UnixMicro()},
			func(row scanner) error { return row.Scan(&lease.Epoch) })
	})
}

// ReleaseLease releases a lease, so that the next holder need not wait for it to expire. It fails
// with [ErrConflict] if the lease was lost.
func (db *DB) ReleaseLease(ctx context.Context, lease Lease) error {
	_, err := db.changeLease(ctx, "release", lease, 0, func(tx *Tx, lease *Lease) error {
		return tx.one(releaseLease, []any{lease.Name, lease.Holder, lease.Epoch},
			func(row scanner) error { return row.Scan(&lease.Epoch) })
	})
	return err
}

// changeLease runs a change that finds no row when another process holds the lease.
func (db *DB) changeLease(ctx context.Context, what string, lease Lease, ttl time.Duration, change func(*Tx, *Lease) error) (Lease, error) {
	var changed Lease
	err := db.Tx(ctx, func(tx *Tx) error {
		changed = lease
		changed.ExpiresAt = tx.Now.Add(ttl).Truncate(time.Microsecond)
		return change(tx, &changed)
	})
	if errors.Is(err, ErrNotFound) {
		err = ErrConflict
	}
	if err != nil {
		return Lease{}, fmt.Errorf("%s lease %s: %w", what, lease.Name, err)
	}
	return changed, nil
}

// CheckLease ensures that the writer of this transaction still holds the lease, and that no other
// process takes it before the transaction ends. Otherwise it fails the transaction with
// [ErrConflict]. Call it first: transactions that take locks in different order may have to run
// again.
func (tx *Tx) CheckLease(lease Lease) error {
	changed, err := tx.exec(holdLease, lease.Name, lease.Holder, lease.Epoch)
	if err == nil && changed == 0 {
		err = tx.session.refuse(ErrConflict)
	}
	if err != nil {
		return fmt.Errorf("check lease %s: %w", lease.Name, err)
	}
	return nil
}

const (
	acquireLease = `INSERT INTO leases (name, holder, epoch, expires_at) VALUES ($1, $2, 1, $3)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at,
	epoch = CASE WHEN leases.holder = excluded.holder THEN leases.epoch ELSE leases.epoch + 1 END
WHERE leases.holder = excluded.holder OR leases.expires_at <= $4
RETURNING epoch`
	renewLease = `UPDATE leases SET expires_at = $4 WHERE name = $1 AND holder = $2 AND epoch = $3 RETURNING epoch`

	releaseLease = `UPDATE leases SET holder = '', expires_at = 0 WHERE name = $1 AND holder = $2 AND epoch = $3 RETURNING epoch`
)

var (
	// An update locks the row on both engines: a change of holder waits for the end of
	// this transaction.
	holdLease = preparedWrite(`UPDATE leases SET epoch = epoch WHERE name = $1 AND holder = $2 AND epoch = $3`)
)
