package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/links"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// Declare reserves a slot of a mission for a file that the contributor is about to upload, and says
// where to. Links begin with base. Under a key that the contributor has used before it answers with
// that submission, provided that it was declared the same; created tells which.
//
// It fails with the codes of [mission.NormalizeDeclaration], not_found for a mission that is not
// published, mission_full, mission_closed, contributor_limit, idempotency_conflict, rate_limited
// for a network or wallet with too many reservations without a file, and service_unavailable where
// the service takes no submissions, or no more for now.
func (a *App) Declare(ctx context.Context, base string, contributor sortie.Address, network netip.Prefix, missionID, key string, body []byte) (answer sortie.SubmissionDeclared, created bool, err error) {
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
	return a.declared(base, submission), created, nil
}

// declaredDifferently names the fields in which a submission was declared differently.
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
	return sortie.NewError(sortie.CodeServiceUnavailable, "this service takes no submissions: its operator must start it with --media")
}

// publishedSlots finds a mission that was published, whether it is still open or not.
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

// reserve stores a submission under an id that nobody has. When the contributor has one under the
// key, it gives that one.
func (a *App) reserve(ctx context.Context, fresh store.NewSubmission) (submission store.Submission, created bool, err error) {
	err = a.store.Tx(ctx, func(tx *store.Tx) (err error) {
		var entropy mission.Entropy
		_, _ = rand.Read(entropy[:]) // never fails
		fresh.ID = mission.NewSubmissionID(entropy, tx.Now)
		fresh.ReservedUntil = tx.Now.Add(ReservationTime).Truncate(time.Second)
		submission, created, err = tx.Declare(fresh)
		return err
	})
	return submission, created && err == nil, err // it may have been created, and its commit have failed
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

// declared says where to upload the file, as long as it is waited for.
func (a *App) declared(base string, submission store.Submission) sortie.SubmissionDeclared {
	answer := sortie.SubmissionDeclared{
		OK: true, SubmissionID: submission.ID, Status: submission.Status, SlotReservedUntil: sortie.FormatTime(submission.ReservedUntil),
	}
	if awaitsUpload(submission) && a.now().Before(submission.ReservedUntil) {
		exp := longestReservation(submission).Unix() // the row says when it is over before
		address := base + "/api/uploads/" + submission.ID
		answer.Upload = &sortie.UploadLinks{
			PutURL:    address + "?" + a.signLink(submission.ID, links.VariantUploadPut, exp),
			TusURL:    address + "/tus?" + a.signLink(submission.ID, links.VariantUploadTus, exp),
			ExpiresAt: answer.SlotReservedUntil,
		}
	}
	return answer
}

func awaitsUpload(submission store.Submission) bool {
	return submission.Status == sortie.SubmissionPending && submission.UploadedAt == nil
}
