package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// maxDue is the number of items of each kind that one call handles.
const maxDue = 256

// DueByTime expires reservations, makes acceptances final, completes missions and rejects those
// that can no longer be published. A worker calls it each second. A failure does not hold up the
// rest, and is tried again with the next call.
func (l *Ledger) DueByTime(ctx context.Context) error {
	var failures []error
	for _, step := range []func(context.Context) error{l.expireReservations, l.finalizeAcceptances, l.completeMissions, l.lapseMissions, l.dropIdleMeters} {
		if err := step(ctx); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// each calls do for every submission of a list. A concurrent update wins; the conflict is ignored.
func each(list []store.Submission, doing string, do func(store.Submission) error) error {
	var failures []error
	for _, submission := range list {
		if err := do(submission); err != nil && !errors.Is(err, store.ErrConflict) {
			failures = append(failures, fmt.Errorf("%s submission %s: %w", doing, submission.ID, err))
		}
	}
	return errors.Join(failures...)
}

// expireReservations frees the slots whose file did not arrive in time. A file whose last byte
// arrived in time may still be being stored, so a reservation lasts longer than its upload link by
// that time.
func (l *Ledger) expireReservations(ctx context.Context) error {
	list, err := l.store.ReservationsToExpire(ctx, l.now().Add(-takeInTime), maxDue)
	if err != nil {
		return fmt.Errorf("find expired reservations: %w", err)
	}
	return each(list, "expire", func(submission store.Submission) error {
		err := l.once(ctx, func(tx *writeTx) error {
			_, err := tx.moveSubmission(submission, mission.ReservationExpired, store.SubmissionMove{
				Reason: "The reservation expired: its file was not uploaded in time.", DecidedBy: decidedByChecks,
			})
			return err
		})
		if err == nil {
			l.dropUpload(submission.ID)
		}
		return err
	})
}

// once runs a transaction about something that was read before it. A conflict is returned: running
// again would not help.
func (l *Ledger) once(ctx context.Context, fn func(*writeTx) error) error {
	return l.write(ctx, func(tx *writeTx) error {
		err := fn(tx)
		if errors.Is(err, store.ErrConflict) {
			return lostRace{err}
		}
		return err
	})
}

// finalizeAcceptances gives slots to the acceptances whose hold is over, in the order in which the
// holds ended. Nothing becomes final while an incident halts the service.
func (l *Ledger) finalizeAcceptances(ctx context.Context) error {
	halted, err := l.store.Halted(ctx)
	if err != nil || halted {
		return err
	}
	list, err := l.store.AcceptancesDue(ctx, l.now(), maxDue)
	if err != nil {
		return fmt.Errorf("find acceptances whose hold is over: %w", err)
	}
	return each(list, "finalize", func(submission store.Submission) error {
		return l.once(ctx, func(tx *writeTx) error { return tx.finalize(submission) })
	})
}
