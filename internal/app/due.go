package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// maxDue is how much of a kind is done in one go. The rest comes with the next.
const maxDue = 256

// DueByTime does what became due by time alone: reservations expire, acceptances become final,
// missions complete, or lapse when they cannot be published any more. A worker calls it each
// second. What fails does not hold up the rest; it is due again the next time.
func (l *Ledger) DueByTime(ctx context.Context) error {
	var failures []error
	for _, step := range []func(context.Context) error{l.expireReservations, l.finalizeAcceptances, l.completeMissions, l.lapseMissions, l.dropIdleMeters} {
		if err := step(ctx); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// each does something about every submission of a list. Whoever was faster about one has made it
// undone.
func each(list []store.Submission, doing string, do func(store.Submission) error) error {
	var failures []error
	for _, submission := range list {
		if err := do(submission); err != nil && !errors.Is(err, store.ErrConflict) {
			failures = append(failures, fmt.Errorf("%s submission %s: %w", doing, submission.ID, err))
		}
	}
	return errors.Join(failures...)
}

// expireReservations gives back the places whose file did not come in time. One whose last byte
// came just in time may still be on its way to where it stays, so a reservation outlives its link
// by as long as that may take.
func (l *Ledger) expireReservations(ctx context.Context) error {
	list, err := l.store.ReservationsToExpire(ctx, l.now().Add(-takeInTime), maxDue)
	if err != nil {
		return fmt.Errorf("look for reservations that have ended: %w", err)
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

// once runs a transaction about something that was read before: when that has changed, running
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

// finalizeAcceptances gives slots to the acceptances whose hold is over, in the order in which it
// ended. While an incident halts the service nothing becomes final.
func (l *Ledger) finalizeAcceptances(ctx context.Context) error {
	halted, err := l.store.Halted(ctx)
	if err != nil || halted {
		return err
	}
	list, err := l.store.AcceptancesDue(ctx, l.now(), maxDue)
	if err != nil {
		return fmt.Errorf("look for acceptances that become final: %w", err)
	}
	return each(list, "finalize", func(submission store.Submission) error {
		return l.once(ctx, func(tx *writeTx) error { return tx.finalize(submission) })
	})
}
