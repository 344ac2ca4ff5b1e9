package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/links"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// Submissions returns a page of a contributor's submissions, newest first.
//
// It fails with invalid_cursor for a cursor of another list or wallet.
func (a *App) Submissions(ctx context.Context, contributor sortie.Address, page Page) (sortie.SubmissionPage, error) {
	list := "submissions\n" + contributor.String()
	before, err := a.cursors.open(list, page.Cursor)
	if err != nil {
		return sortie.SubmissionPage{}, err
	}
	limit := page.limit()
	stored, err := a.store.SubmissionsOf(ctx, contributor, before, limit+1) // one more shows whether there is another page
	if err != nil {
		return sortie.SubmissionPage{}, storeError(err)
	}
	answer := sortie.SubmissionPage{OK: true, Submissions: []sortie.Submission{}}
	stored, answer.Summary = a.submissionSummary(list, stored, limit)
	for _, submission := range stored {
		shown, err := wireSubmission(submission)
		if err != nil {
			return sortie.SubmissionPage{}, err
		}
		answer.Submissions = append(answer.Submissions, shown)
	}
	return answer, nil
}

// submissionSummary removes the row that was read only to see whether there is another page, and
// describes the rest.
func (c *core) submissionSummary(list string, stored []store.Submission, limit int) ([]store.Submission, sortie.SubmissionSummary) {
	summary := sortie.SubmissionSummary{GeneratedAt: sortie.FormatTime(c.now())}
	if len(stored) > limit {
		stored = stored[:limit]
		cursor := c.cursors.seal(list, stored[limit-1].Seq)
		summary.NextCursor = &cursor
	}
	summary.ReturnedSubmissions = len(stored)
	return stored, summary
}

// Submission returns one submission of the contributor.
//
// It fails with not_found, also for a submission of another wallet.
func (a *App) Submission(ctx context.Context, contributor sortie.Address, id string) (sortie.SubmissionDetail, error) {
	if !mission.ValidSubmissionID(id) {
		return sortie.SubmissionDetail{}, errNoOwnSubmission()
	}
	submission, err := a.store.Submission(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && submission.Contributor != contributor {
		return sortie.SubmissionDetail{}, errNoOwnSubmission()
	}
	if err != nil {
		return sortie.SubmissionDetail{}, storeError(err)
	}
	detail, err := submissionDetail(submission)
	if err != nil || detail.Submission.Payout.Reason != "" {
		return detail, err
	}
	detail.Submission.Payout.Reason, err = a.payoutWait(ctx, submission)
	return detail, err
}

func errNoOwnSubmission() error {
	return sortie.NewError(sortie.CodeNotFound, "no submission with this id belongs to the wallet that signed the request; check both")
}

// Withdraw withdraws a submission before it is accepted, which frees its slot. Withdrawing again
// changes nothing.
//
// It fails with not_found, and wrong_state for a submission that was decided.
func (a *App) Withdraw(ctx context.Context, contributor sortie.Address, id string) (sortie.SubmissionDetail, error) {
	if !mission.ValidSubmissionID(id) {
		return sortie.SubmissionDetail{}, errNoOwnSubmission()
	}
	var withdrawn store.Submission
	err := a.write(ctx, func(tx *writeTx) error {
		submission, err := tx.Submission(id)
		if err == nil && submission.Contributor != contributor {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		if withdrawn = submission; submission.Status == sortie.SubmissionWithdrawn {
			return nil
		}
		withdrawn, err = tx.moveSubmission(submission, mission.ContributorWithdrew, store.SubmissionMove{Reason: "Its contributor withdrew it."})
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return sortie.SubmissionDetail{}, errNoOwnSubmission()
	}
	if err != nil {
		return sortie.SubmissionDetail{}, storeError(err)
	}
	return submissionDetail(withdrawn)
}

// moveSubmission applies an event to a submission. The move is a transition of package mission, an
// acceptance gets its hold and its deliverable, and an acceptance or revocation adds an event for
// the creator.
//
// It fails with wrong_state where the event is not allowed, [store.ErrConflict] when the submission
// has changed, and mission_closed, because of [store.ErrMissionClosed], for an acceptance to a
// closed mission. The transaction must fail then.
func (tx *writeTx) moveSubmission(was store.Submission, event mission.SubmissionEvent, move store.SubmissionMove) (store.Submission, error) {
	next, err := mission.NextSubmission(was.State(), event)
	if err != nil {
		return store.Submission{}, err
	}
	move.To = next
	if mission.HoldsSlot(next) {
		until := tx.Now.Add(tx.core.hold)
		move.HoldUntil = &until
		if move.Fragment, err = newFragment(was, move, tx.Now); err != nil {
			return store.Submission{}, err
		}
	}
	moved, err := tx.MoveSubmission(was, move)
	if errors.Is(err, store.ErrMissionClosed) {
		err = sortie.NewError(sortie.CodeMissionClosed, "the money of this mission has left the contract, so the contributor would not be paid; reject the submission").Because(err)
	}
	if err != nil {
		return store.Submission{}, err
	}
	tx.outcomes = append(tx.outcomes, outcomeOf(event, next))
	switch before, after := mission.HoldsSlot(was.Status), mission.HoldsSlot(next); {
	case after && !before:
		err = tx.addEvent(was, sortie.EventSubmissionAccepted, submissionFacts{SubmissionID: was.ID})
	case before && !after:
		err = tx.addEvent(was, sortie.EventSubmissionRevoked, submissionFacts{SubmissionID: was.ID, Reason: move.Reason})
	}
	return moved, err
}

// submissionFacts is the data of an event about a submission.
type submissionFacts struct {
	DraftID      string `json:"draftId"`
	MissionID    string `json:"missionId"`
	SubmissionID string `json:"submissionId,omitempty"`
	Reason       string `json:"reason,omitempty"`
}

// addEvent adds an event for the creator of a submission's mission.
func (tx *writeTx) addEvent(about store.Submission, event sortie.EventType, facts submissionFacts) error {
	facts.DraftID, facts.MissionID = about.DraftID, about.Mission.MissionID
	return tx.addWalletEvent(about.Mission.Creator, about.DraftID, event, facts)
}

// addWalletEvent adds an event about a draft for a wallet.
func (tx *writeTx) addWalletEvent(wallet sortie.Address, draftID string, event sortie.EventType, facts any) error {
	data, err := json.Marshal(facts)
	if err != nil {
		return fmt.Errorf("encode event %s of draft %s: %w", event, draftID, err)
	}
	tx.events = append(tx.events, store.DraftEvent{
		Wallet: wallet, DraftID: draftID, NewEvent: store.NewEvent{Type: string(event), Data: data},
	})
	return nil
}

func submissionDetail(submission store.Submission) (sortie.SubmissionDetail, error) {
	shown, err := wireSubmission(submission)
	if err != nil {
		return sortie.SubmissionDetail{}, err
	}
	return sortie.SubmissionDetail{OK: true, Submission: shown}, nil
}

// wireSubmission is a submission as its contributor sees it.
func wireSubmission(submission store.Submission) (sortie.Submission, error) {
	shown := sortie.Submission{
		SubmissionID: submission.ID, MissionID: submission.Mission.MissionID, Status: submission.Status, Reason: submission.Reason,
		Score: submission.Score, Checks: submission.Checks, CreatedAt: spaced(submission.CreatedAt),
		Payout: sortie.Payout{
			Status: sortie.PayoutNone, Token: submission.Mission.Token, AmountBaseUnits: submission.Mission.Reward.String(),
		},
	}
	if shown.Checks == nil {
		shown.Checks = []sortie.SubmissionCheck{}
	}
	if submission.VerifiedAt != nil {
		at := spaced(*submission.VerifiedAt)
		shown.VerifiedAt = &at
	}
	if awaitsUpload(submission) {
		until := sortie.FormatTime(submission.ReservedUntil)
		shown.SlotReservedUntil = &until
	}
	if payout := submission.Payout; payout != nil {
		shown.Payout.Status = payout.Status
		if payout.Transaction != (sortie.Hash{}) {
			shown.Payout.TransactionHash = &payout.Transaction
		}
		shown.Payout.Reason = payoutReason(submission, *payout)
	}
	if len(submission.Receipt) > 0 {
		var err error
		if shown.Receipt, err = wireReceipt(submission); err != nil {
			return sortie.Submission{}, err
		}
	}
	return shown, nil
}

// payoutReason is what a contributor can do about a payout that is not paid automatically.
func payoutReason(submission store.Submission, payout store.SubmissionPayout) string {
	switch {
	case payout.Status == sortie.PayoutDeferred:
		return fmt.Sprintf("the token refused the transfer to %s, so the contract holds it as a deferred credit. %s", submission.Contributor,
			claimAdvice("TOKEN", submission.Contributor.String(), submission.Mission.Domain.Factory))
	case payout.Problem == problemMoneyLeft:
		return payout.Problem + ", so the receipt can no longer be redeemed; the operator was told"
	case payout.Status == sortie.PayoutFailed:
		return payout.Problem + "; the operator was told. With the receipt you can redeem the payment yourself: sortie redeem"
	default:
		return ""
	}
}

// Declare reserves a slot of a mission for a file that the contributor is about to upload, and
// returns the upload links. Under an idempotency key that the contributor has used it returns the
// existing submission, if it was declared the same; created reports which.
//
// It fails with the codes of [mission.NormalizeDeclaration], not_found for a mission that is not
// published, mission_full, mission_closed, contributor_limit, idempotency_conflict, rate_limited
// for a network or wallet with too many reservations without a file, and service_unavailable where
// the service takes no submissions, or no more for now.
func (a *App) Declare(ctx context.Context, build LinkBuilder, contributor sortie.Address, network netip.Prefix, missionID, key string, body []byte) (answer sortie.SubmissionDeclared, created bool, err error) {
	if a.objects == nil {
		return sortie.SubmissionDeclared{}, false, errNoMediaStore()
	}
	declaration, err := mission.NormalizeDeclaration(body)
	if err != nil {
		return sortie.SubmissionDeclared{}, false, err
	}
	slots, err := a.publishedSlots(ctx, missionID)
	if err != nil {
		return sortie.SubmissionDeclared{}, false, err
	}
	if err := declaration.Fits(slots.MediaType); err != nil {
		return sortie.SubmissionDeclared{}, false, err
	}
	bounds, err := a.reservationBounds(ctx, contributor, network)
	if err != nil {
		return sortie.SubmissionDeclared{}, false, err
	}
	submission, created, err := a.reserve(ctx, store.NewSubmission{
		DraftID: slots.DraftID, Contributor: contributor, Key: key, Fingerprint: declaration.Fingerprint(missionID), Declaration: declaration,
		Bounds: bounds,
	})
	if err != nil {
		return sortie.SubmissionDeclared{}, false, a.declareError(ctx, err, slots)
	}
	if submission.Fingerprint != declaration.Fingerprint(missionID) {
		return sortie.SubmissionDeclared{}, false, sortie.NewError(sortie.CodeIdempotencyConflict,
			"this idempotency key belongs to submission %s, which was declared differently; use another key for another file", submission.ID).
			Detail("submissionId", submission.ID).Detail("fields", declaredDifferently(submission, missionID, declaration))
	}
	return a.declared(build, submission), created, nil
}

// declaredDifferently lists the fields in which two declarations differ.
func declaredDifferently(stored store.Submission, missionID string, declaration mission.Declaration) (fields []string) {
	was := stored.Declaration
	for _, field := range []struct {
		name string
		same bool
	}{
		{"missionId", stored.Mission.MissionID == missionID},
		{"location.lat", was.Location.Lat == declaration.Location.Lat},
		{"location.lng", was.Location.Lng == declaration.Location.Lng},
		{"location.accuracyMeters", was.Location.AccuracyMeters == declaration.Location.AccuracyMeters},
		{"capturedAt", was.CapturedAt.Equal(declaration.CapturedAt)},
		{"contentType", was.ContentType == declaration.ContentType},
		{"sizeBytes", was.SizeBytes == declaration.SizeBytes},
		{"sha256", was.Hash == declaration.Hash},
	} {
		if !field.same {
			fields = append(fields, field.name)
		}
	}
	return fields
}

func errNoMediaStore() error {
	return sortie.NewError(sortie.CodeServiceUnavailable, "this service takes no submissions: its operator has configured no media store")
}

// publishedSlots reads a published mission, open or not.
func (a *App) publishedSlots(ctx context.Context, missionID string) (store.OpenSlots, error) {
	err := store.ErrNotFound
	var slots store.OpenSlots
	if mission.ValidMissionID(missionID) {
		slots, err = a.store.SlotsByMission(ctx, missionID)
	}
	if errors.Is(err, store.ErrNotFound) {
		return store.OpenSlots{}, sortie.NewError(sortie.CodeNotFound, "no published mission has this id; the feed lists those that take submissions")
	}
	if err != nil {
		return store.OpenSlots{}, storeError(err)
	}
	return slots, nil
}

// reserve stores a submission under an unused id. When the contributor has a submission under the
// key, it returns that submission.
func (a *App) reserve(ctx context.Context, fresh store.NewSubmission) (submission store.Submission, created bool, err error) {
	err = a.store.Tx(ctx, func(tx *store.Tx) (err error) {
		var entropy mission.Entropy
		_, _ = rand.Read(entropy[:]) // never fails
		fresh.ID = mission.NewSubmissionID(entropy, tx.Now)
		fresh.ReservedUntil = tx.Now.Add(ReservationTime).Truncate(time.Second)
		submission, created, err = tx.Declare(fresh)
		return err
	})
	return submission, created && err == nil, err // the commit may have failed
}

func (a *App) declareError(ctx context.Context, err error, slots store.OpenSlots) error {
	switch {
	case errors.Is(err, store.ErrMissionFull), errors.Is(err, store.ErrNewcomersFull):
		return a.errMissionFull(ctx, slots, err)
	case errors.Is(err, store.ErrMissionClosed):
		return sortie.NewError(sortie.CodeMissionClosed, "this mission takes submissions from %s until %s, unless it is closed before; choose another mission",
			sortie.FormatTime(slots.OpensAt), sortie.FormatTime(slots.EndsAt)).
			Detail("startsAt", sortie.FormatTime(slots.OpensAt)).Detail("endsAt", sortie.FormatTime(slots.EndsAt)).Because(err)
	case errors.Is(err, store.ErrContributorLimit):
		has := "a submission"
		if slots.PerContributor != 1 {
			has = fmt.Sprintf("%d submissions", slots.PerContributor)
		}
		return sortie.NewError(sortie.CodeContributorLimit, "this wallet has %s to the mission, which is the most it takes of one contributor; choose another mission", has).
			Detail("maxSubmissionsPerContributor", slots.PerContributor).Because(err)
	default:
		return a.boundError(err)
	}
}

// declared returns the upload links while the file is expected.
func (a *App) declared(build LinkBuilder, submission store.Submission) sortie.SubmissionDeclared {
	answer := sortie.SubmissionDeclared{
		OK: true, SubmissionID: submission.ID, Status: submission.Status, SlotReservedUntil: sortie.FormatTime(submission.ReservedUntil),
	}
	if awaitsUpload(submission) && a.now().Before(submission.ReservedUntil) {
		exp := longestReservation(submission).Unix() // the row has the actual end
		answer.Upload = &sortie.UploadLinks{
			PutURL:    a.link(build, submission.ID, links.VariantUploadPut, exp),
			TusURL:    a.link(build, submission.ID, links.VariantUploadTus, exp),
			ExpiresAt: answer.SlotReservedUntil,
		}
	}
	return answer
}

func awaitsUpload(submission store.Submission) bool {
	return submission.Status == sortie.SubmissionPending && submission.UploadedAt == nil
}
