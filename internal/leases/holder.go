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

// ErrLost says that another process may hold the lease: work under it must stop.
var ErrLost = errors.New("the lease is lost")

// Store keeps leases. *store.DB implements it.
type Store interface {
	AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error)
	RenewLease(ctx context.Context, lease store.Lease, ttl time.Duration) (store.Lease, error)
	ReleaseLease(ctx context.Context, lease store.Lease) error
}

// Holder runs work that one process at a time may do. It waits for the lease, works while it holds
// it, and waits again after it was lost.
//
// A process that was suspended may continue for a moment after its lease expired. So every write
// must also check the lease in its transaction ([store.Tx.CheckLease]).
type Holder struct {
	Leases Store
	Name   string        // of the lease
	ID     string        // of the process; unique
	TTL    time.Duration // after which others may take the lease of a process that died
	Logger *slog.Logger  // nil: slog.Default()

	now   func() time.Time                     // nil: time.Now
	after func(time.Duration) <-chan time.Time // nil: time.After
}

// Run runs work whenever this process holds the lease. See [Holder.Run].
func Run(ctx context.Context, leases Store, name, holder string, ttl time.Duration, work func(context.Context, store.Lease) error) error {
	return Holder{Leases: leases, Name: name, ID: holder, TTL: ttl}.Run(ctx, work)
}

// Run calls work each time the lease is acquired. When the lease is lost, or could not be renewed
// for two thirds of its time, the context of work ends with [ErrLost] as its cause; work must
// return then. Run returns nil when ctx ends, and the error of work when work returns by itself. In
// both cases it releases the lease.
func (h Holder) Run(ctx context.Context, work func(context.Context, store.Lease) error) error {
	h = h.withDefaults()
	for {
		begun := h.now()
		lease, err := h.Leases.AcquireLease(ctx, h.Name, h.ID, h.TTL)
		if err == nil {
			h.Logger.Info("lease acquired", "lease", h.Name, "epoch", lease.Epoch)
			err = h.hold(ctx, lease, begun, work)
			if !errors.Is(err, ErrLost) {
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

// hold runs work and renews the lease meanwhile, also while work is ending, so that no other
// process starts before. The time counts from before the request to the store, so that the lease
// ends here no later than in the store.
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
			stop(ErrLost)
			<-ended
			h.release(ctx, lease) // fails, unless the store was only unreachable
			return ErrLost
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

// release lets other processes start at once. If it fails, the lease expires.
func (h Holder) release(ctx context.Context, lease store.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.TTL/3)
	defer cancel()
	if err := h.Leases.ReleaseLease(ctx, lease); err != nil && !errors.Is(err, store.ErrConflict) {
		h.Logger.Warn("lease not released: others wait until it expires", "lease", h.Name, "error", err)
	}
}
