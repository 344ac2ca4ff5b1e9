// Package leases runs work that one process at a time may do.
package leases

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sortie-labs/sortie/internal/store"
)

// ErrLeaseLost says that somebody else may hold the lease now: whoever worked under it must stop.
var ErrLeaseLost = errors.New("the lease is lost")

// LeaseStore is where leases are kept. A *store.DB is one.
type LeaseStore interface {
	AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error)
	RenewLease(ctx context.Context, lease store.Lease, ttl time.Duration) (store.Lease, error)
	ReleaseLease(ctx context.Context, lease store.Lease) error
}

// Holder does work that one process at a time may do. It waits for the lease, works while it holds
// it, and waits again when it was lost.
//
// A holder that was stopped for long, by the machine or a debugger, may go on working for a moment
// after its lease went to another. That is why everything it writes must also check the lease in
// the same transaction ([store.Tx.CheckLease]).
type Holder struct {
	Leases LeaseStore
	Name   string        // of the lease: what is done
	ID     string        // of the process, unlike any other's
	TTL    time.Duration // after which others may take over from a holder that has died
	Logger *slog.Logger  // nil: slog.Default()

	now   func() time.Time                     // nil: time.Now
	after func(time.Duration) <-chan time.Time // nil: time.After
}

// WhileLeased runs work whenever this process holds the lease. See [Holder.Run].
func WhileLeased(ctx context.Context, leases LeaseStore, name, holder string, ttl time.Duration, work func(context.Context, store.Lease) error) error {
	return Holder{Leases: leases, Name: name, ID: holder, TTL: ttl}.Run(ctx, work)
}

// Run calls work each time the lease is acquired. The context of work ends, with [ErrLeaseLost] as
// its cause, as soon as the lease is lost or could not be renewed for two thirds of its time; work
// must return then. Run ends with nil when ctx ends, and with the error of work when it returned by
// itself; either way the lease is given back, so that others need not wait for it to expire.
func (h Holder) Run(ctx context.Context, work func(context.Context, store.Lease) error) error {
	h = h.withDefaults()
	for {
		begun := h.now()
		lease, err := h.Leases.AcquireLease(ctx, h.Name, h.ID, h.TTL)
		if err == nil {
			h.Logger.Info("lease acquired", "lease", h.Name, "epoch", lease.Epoch)
			err = h.hold(ctx, lease, begun, work)
			if !errors.Is(err, ErrLeaseLost) {
				return err
			}
			h.Logger.Warn("lease lost", "lease", h.Name, "epoch", lease.Epoch)
		} else if !errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
			h.Logger.Warn("lease not acquired", "lease", h.Name, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-h.after(h.TTL / 3):
		}
	}
}

func (h Holder) withDefaults() Holder {
	if h.Logger == nil {
		h.Logger = slog.Default()
	}
	if h.now == nil {
		h.now = time.Now
	}
	if h.after == nil {
		h.after = time.After
	}
	return h
}

// hold runs work and renews the lease beside it, also while work is ending: until it has ended
// nobody else may start. Time counts from before the store was asked, so that here the lease ends
// no later than in the store.
func (h Holder) hold(ctx context.Context, lease store.Lease, renewed time.Time, work func(context.Context, store.Lease) error) error {
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan error, 1)
	go func() { ended <- work(working, lease) }()
	for {
		select {
		case err := <-ended:
			h.release(ctx, lease)
			if ctx.Err() != nil {
				return nil
			}
			return err
		case <-h.after(h.TTL / 3):
		}
		asked := h.now()
		next, err := h.renew(ctx, lease)
		switch {
		case err == nil:
			lease, renewed = next, asked
		case errors.Is(err, store.ErrConflict), h.now().Sub(renewed) >= 2*h.TTL/3:
			stop(ErrLeaseLost)
			<-ended
			h.release(ctx, lease) // in vain, unless the store was only out of reach
			return ErrLeaseLost
		}
	}
}

func (h Holder) renew(ctx context.Context, lease store.Lease) (store.Lease, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.TTL/3)
	defer cancel()
	next, err := h.Leases.RenewLease(ctx, lease, h.TTL)
	if err != nil {
		return lease, fmt.Errorf("renew lease %s: %w", h.Name, err)
	}
	return next, nil
}

// release spares others the wait. Where it fails, the lease expires.
func (h Holder) release(ctx context.Context, lease store.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.TTL/3)
	defer cancel()
	if err := h.Leases.ReleaseLease(ctx, lease); err != nil && !errors.Is(err, store.ErrConflict) {
		h.Logger.Warn("lease not released: others wait until it expires", "lease", h.Name, "error", err)
	}
}
