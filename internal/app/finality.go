package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// maxDue is how much of a kind is done in one go. The rest comes with the next.
const maxDue = 256

// DueByTime does what became due by time alone: reservations expire, acceptances become final, missions complete. A worker calls it each
// second. What fails does not hold up the rest; it is due again the next time.
func (a *App) DueByTime(ctx context.Context) error {
	var failures []error
	for _, step := range []func(context.Context) error{a.expireReservations, a.finalizeAcceptances, a.completeMissions, a.dropIdleMeters} {
		if err := step(ctx); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// each does something about every submission of a list. Whoever was faster about one has made it undone.
func each(list []store.Submission, doing string, do func(store.Submission) error) error {
	var failures []error
	for _, submission := range list {
		if err := do(submission); err != nil && !errors.Is(err, store.ErrConflict) {
			failures = append(failures, fmt.Errorf("%s submission %s: %w", doing, submission.ID, err))
		}
	}
	return errors.Join(failures...)
}

// expireReservations gives back the places whose file did not come in time. One whose last byte came just in time may still be on its way
// to where it stays, so a reservation outlives its link by as long as that may take.
func (a *App) expireReservations(ctx context.Context) error {
	list, err := a.store.ReservationsToExpire(ctx, a.now().Add(-takeInTime), maxDue)
	if err != nil {
		return fmt.Errorf("look for reservations that have ended: %w", err)
	}
	return each(list, "expire", func(submission store.Submission) error {
		err := a.once(ctx, func(books *books) error {
			_, err := books.moveSubmission(submission, mission.ReservationExpired, store.SubmissionMove{
				Reason: "The reservation expired: its file was not uploaded in time.", DecidedBy: decidedByChecks,
			})
			return err
		})
		if err == nil {
			a.DropUpload(submission.ID)
		}
		return err
	})
}

// once runs a transaction about something that was read before: when that has changed, running again would not help.
func (a *App) once(ctx context.Context, fn func(*books) error) error {
	return a.write(ctx, func(books *books) error {
		err := fn(books)
		if errors.Is(err, store.ErrConflict) {
			return lostRace{err}
		}
		return err
	})
}

// finalizeAcceptances gives slots to the acceptances whose hold is over, in the order in which it ended. While an incident halts the
// service nothing becomes final.
func (a *App) finalizeAcceptances(ctx context.Context) error {
	halted, err := a.store.Halted(ctx)
	if err != nil || halted {
		return err
	}
	list, err := a.store.AcceptancesDue(ctx, a.now(), maxDue)
	if err != nil {
		return fmt.Errorf("look for acceptances that become final: %w", err)
	}
	return each(list, "finalize", func(submission store.Submission) error {
		return a.once(ctx, func(books *books) error {
			if halted, err := books.tx.Halted(); err != nil || halted {
				return err
			}
			if _, err := books.tx.TakeSlot(submission); err != nil {
				return err
			}
			books.outcomes = append(books.outcomes, OutcomeFinal)
			return books.complete(submission.DraftID)
		})
	})
}

const (
	// signing is how many receipts are signed at once: a signer in another place takes its time for each.
	signing = 8
	// signingTime is what one may take, so that a signer that does not answer does not end all signing.
	signingTime = 30 * time.Second
)

// SignReceipts signs the payment of every slot that was taken, once. The contributor can redeem it without the service. A worker calls it
// each second, beside what must not wait for a slow signer: [App.DueByTime]. Those that cannot be signed are passed by, however many, and
// are due again the next time.
func (a *App) SignReceipts(ctx context.Context) error {
	if a.settle == nil {
		return nil
	}
	var failures []error
	for after := (store.ReceiptCursor{}); ; {
		if halted, err := a.store.Halted(ctx); err != nil || halted {
			return errors.Join(append(failures, err)...)
		}
		list, err := a.store.ReceiptsDue(ctx, after, maxDue)
		if err != nil {
			return errors.Join(append(failures, fmt.Errorf("look for receipts to sign: %w", err))...)
		}
		if failed, err := a.signAll(ctx, list); failed > 0 {
			failures = append(failures, fmt.Errorf("sign receipts: %d of %d failed, for example: %w", failed, len(list), err))
		}
		if len(list) < maxDue || ctx.Err() != nil {
			return errors.Join(failures...)
		}
		after = store.AfterReceipt(list[len(list)-1])
	}
}

// signAll signs receipts side by side. It gives the number of those that could not be signed, and the failure of one.
func (a *App) signAll(ctx context.Context, list []store.Submission) (failed int, failure error) {
	failures := make([]error, len(list))
	var signers errgroup.Group
	signers.SetLimit(signing)
	for i, submission := range list {
		signers.Go(func() error {
			failures[i] = a.signReceipt(ctx, submission)
			return nil
		})
	}
	_ = signers.Wait() // none of them gives an error
	for i, err := range failures {
		if err != nil && !errors.Is(err, store.ErrConflict) { // whoever was faster has signed the same
			failed++
			failure = fmt.Errorf("submission %s: %w", list[i].ID, err)
		}
	}
	return failed, failure
}

// signReceipt signs outside of the transaction: a signer may be slow. Two processes that sign the same one sign the same bytes.
func (a *App) signReceipt(ctx context.Context, submission store.Submission) error {
	draft, err := a.store.DraftByDraftID(ctx, submission.DraftID)
	if err != nil {
		return err
	}
	settlement := sortie.Settlement{
		MissionKey: sortie.MissionKey(draft.MissionID),
		Payments: []sortie.Payment{{
			Slot: *submission.Slot, Recipient: submission.Contributor, SubmissionKey: sortie.SubmissionKey(submission.ID),
		}},
	}
	limited, cancel := context.WithTimeout(ctx, signingTime)
	defer cancel()
	signature, err := a.settle(limited, sortie.Domain{ChainID: draft.ChainID, Factory: draft.Factory}, settlement)
	if err != nil {
		return err
	}
	receipt, err := json.Marshal(sortie.Receipt{Settlement: settlement, Signature: signature})
	if err != nil {
		return err
	}
	return a.once(ctx, func(books *books) error { return books.tx.PutReceipt(submission, receipt) })
}

// completeMissions notes which missions are over by time, or closed, with nothing left open.
func (a *App) completeMissions(ctx context.Context) error {
	list, err := a.store.SlotsToComplete(ctx, a.now(), maxDue)
	if err != nil {
		return fmt.Errorf("look for missions that are complete: %w", err)
	}
	var failures []error
	for _, draftID := range list {
		if err := a.write(ctx, func(books *books) error { return books.complete(draftID) }); err != nil {
			failures = append(failures, fmt.Errorf("complete draft %s: %w", draftID, err))
		}
	}
	return errors.Join(failures...)
}

// complete tells the creator, once, that nothing will change about the mission's submissions any more, if that is so. The chain can take
// back the closing that made it so; then the mission goes on, and its creator is told again when that ends.
func (b *books) complete(draftID string) error {
	completed, err := b.tx.CompleteSlots(draftID)
	if err != nil || !completed {
		return err
	}
	slots, err := b.tx.SlotsOf(draftID)
	if err != nil {
		return err
	}
	return b.tellCreator(slots.Creator, sortie.EventMissionCompleted, submissionFacts{
		DraftID: draftID, MissionID: slots.MissionID, AcceptedSubmissions: &slots.Accepted,
	})
}
