package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
	"github.com/sortie-labs/sortie/internal/verify"
)

const (
	// checkPatience is how long the checks of a submission may fail before an operator decides.
	checkPatience = time.Hour
	// failureTime is the timeout for clean-up after a failed check.
	failureTime = 10 * time.Second
)

// decidedByChecks is the DecidedBy of submissions that the checks decided.
const decidedByChecks = "checks"

// CheckSubmission is the check job: it reads an uploaded file and decides about the submission. A
// second call continues where the first stopped, and does nothing for a submission that was
// decided.
//
// A failed call may succeed later. After an hour of failures an operator decides. While the file
// itself was not read, CheckSubmission fails even then, and is to be called again: an operator
// cannot decide about a file that was not read.
func (a *App) CheckSubmission(ctx context.Context, id string) error {
	err := a.checkSubmission(ctx, id)
	for try := 1; errors.Is(err, store.ErrConflict) && try < maxTries; try++ {
		// Another transaction changed the submission. It may not be committed yet, so that a plain
		// read does not see it; a transaction that begins now ends after it.
		if err = a.store.Tx(ctx, func(*store.Tx) error { return nil }); err == nil {
			err = a.checkSubmission(ctx, id)
		}
	}
	if err != nil {
		return fmt.Errorf("check submission %s: %w", id, err)
	}
	return nil
}

func (a *App) checkSubmission(ctx context.Context, id string) error {
	submission, err := a.store.Submission(ctx, id)
	if err != nil {
		return err
	}
	if submission.UploadedAt == nil || !mission.HoldsReservation(submission.Status) {
		return nil
	}
	if !ingested(submission) {
		err = a.ingest(ctx, submission)
		if err == nil {
			submission, err = a.store.Submission(ctx, id)
		}
	}
	if err == nil && submission.Status == sortie.SubmissionPending {
		err = a.judge(ctx, submission)
	}
	if err == nil || errors.Is(err, store.ErrConflict) || errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	return a.checkFailed(ctx, submission, err)
}

// checkFailed records that a check failed. It returns the failure, unless another try cannot help.
func (a *App) checkFailed(ctx context.Context, submission store.Submission, failure error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failureTime)
	defer cancel()
	if submission.FailingSince == nil { // time without a try does not count
		return errors.Join(failure, a.store.Tx(ctx, func(tx *store.Tx) error { return tx.NoteFailure(submission) }))
	}
	if a.now().Before(submission.FailingSince.Add(checkPatience)) {
		return failure
	}
	if submission.Status == sortie.SubmissionPending {
		a.log.Error("the checks of a submission failed for an hour; an operator must decide", "submissionId", submission.ID, "error", failure)
		if err := a.escalate(ctx, submission); err != nil {
			return errors.Join(failure, err)
		}
	}
	if ingested(submission) || a.fileLost(ctx, failure) {
		return nil
	}
	return failure
}

func ingested(submission store.Submission) bool {
	return submission.Media != nil || submission.Problem != nil
}

// fileLost reports whether a file is missing or damaged although the media store works.
func (a *App) fileLost(ctx context.Context, failure error) bool {
	return errors.Is(failure, blob.ErrObjectCorrupt) || errors.Is(failure, blob.ErrObjectNotFound) && a.objects.Probe(ctx) == nil
}

// ingest reads the file, stores the bytes that will be served, and records what was found in it or
// why it is refused.
func (a *App) ingest(ctx context.Context, submission store.Submission) error {
	if a.objects == nil || a.ingester == nil {
		return errors.New("this process has no media store configured")
	}
	path, done, err := a.objects.Fetch(ctx, submission.UploadedHash)
	if err != nil {
		return err
	}
	defer done()
	result, err := a.ingester.Ingest(ctx, path, submission.Declaration.ContentType)
	var refused *ingest.Problem
	if errors.As(err, &refused) {
		// A refusal must be about the uploaded bytes.
		if err := sameBytes(path, submission.UploadedHash); err != nil {
			return err
		}
		if errors.Is(err, ingest.ErrReaderFailed) {
			a.log.Error("a file was refused because the code that reads it failed", "submissionId", submission.ID, "error", err)
		}
		return a.recordMedia(ctx, submission, nil, refused)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err := result.Remove(); err != nil {
			a.log.Warn("temporary files of a check cannot be removed", "submissionId", submission.ID, "error", err)
		}
	}()
	if result.UploadedHash != submission.UploadedHash {
		return fmt.Errorf("read %s: %w", submission.UploadedHash, blob.ErrObjectCorrupt)
	}
	if err := a.objects.Put(ctx, result.ServedHash, result.Served); err != nil {
		return err
	}
	if result.Thumbnail != "" {
		if err := a.objects.Put(ctx, result.ThumbnailHash, result.Thumbnail); err != nil {
			return err
		}
	}
	return a.recordMedia(ctx, submission, mediaOf(result), result.Doubt)
}

// sameBytes returns [blob.ErrObjectCorrupt] when a file does not have the hash: the disk may have
// changed it.
func sameBytes(path string, hash sortie.Hash) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if sortie.Hash(sum.Sum(nil)) != hash {
		return fmt.Errorf("read %s: %w", hash, blob.ErrObjectCorrupt)
	}
	return nil
}

// recordMedia records what was found in a file and its problem. A file with a problem may still be
// served.
func (a *App) recordMedia(ctx context.Context, submission store.Submission, found *store.SubmissionMedia, wrong *ingest.Problem) error {
	var problem *store.MediaProblem
	if wrong != nil {
		problem = &store.MediaProblem{Code: string(wrong.Code), Message: wrong.Message}
	}
	return a.store.Tx(ctx, func(tx *store.Tx) error { return tx.RecordMedia(submission, found, problem) })
}

func mediaOf(result ingest.Result) *store.SubmissionMedia {
	found := &store.SubmissionMedia{
		Kind: result.MediaType, ServedHash: result.ServedHash, ServedType: result.Type, ServedSize: result.ServedSize,
		Width: result.Width, Height: result.Height, Duration: result.Duration, Keyframes: result.Keyframes,
		CapturedAt: result.CapturedAt, ZoneUnknown: result.ZoneUnknown,
	}
	if result.Thumbnail != "" {
		found.ThumbnailHash = result.ThumbnailHash
	}
	if result.HasPerceptual {
		found.Perceptual = &result.Perceptual
	}
	if result.Place != nil {
		if place, ok := mission.MicroDegreesOf(result.Place.Lat, result.Place.Lng); ok {
			found.Place = &place
		}
	}
	return found
}

// judge decides by the checks.
func (a *App) judge(ctx context.Context, submission store.Submission) error {
	input, err := a.inputOf(ctx, submission)
	if err != nil {
		return err
	}
	verdict, err := a.verifier.Check(ctx, input, func() (mediaURL, thumbnailURL string) {
		return a.reviewLinks(a.buildLink, submission, a.now().Add(MaxLinkTTL))
	})
	if err != nil {
		return err
	}
	return a.decideByChecks(ctx, submission, verdict)
}

// escalate flags a submission that cannot be checked, so that an operator decides.
func (a *App) escalate(ctx context.Context, submission store.Submission) error {
	verdict := verify.Verdict{
		Status: sortie.SubmissionFlagged, Reason: "The file could not be read: an operator must decide.", Policy: a.verifier.Policy(),
	}
	if ingested(submission) {
		input, err := a.inputOf(ctx, submission)
		if err != nil {
			return err
		}
		if verdict, err = a.verifier.WithoutAnswer(input); err != nil {
			return err
		}
	}
	return a.decideByChecks(ctx, submission, verdict)
}

// decideByChecks moves a submission by a verdict. Submissions to a mission whose money left the
// contract are not accepted: they would not be paid.
func (a *App) decideByChecks(ctx context.Context, submission store.Submission, verdict verify.Verdict) error {
	for try := 1; ; try++ {
		err := a.write(ctx, func(tx *writeTx) error { return tx.decideByChecks(submission, verdict) })
		if !errors.Is(err, store.ErrMissionClosed) || try == maxTries {
			return err
		}
		// The mission was closed while the transaction ran; the next try sees that.
	}
}

func (tx *writeTx) decideByChecks(submission store.Submission, verdict verify.Verdict) error {
	events := map[sortie.SubmissionStatus]mission.SubmissionEvent{
		sortie.SubmissionAccepted: mission.ChecksAccepted,
		sortie.SubmissionFlagged:  mission.ChecksFlagged,
		sortie.SubmissionRejected: mission.ChecksRejected,
	}
	slots, err := tx.SlotsOf(submission.DraftID)
	if err != nil {
		return err
	}
	if slots.ClosedAt != nil && verdict.Status != sortie.SubmissionRejected {
		verdict.Status, verdict.Reason = sortie.SubmissionRejected, "The mission was closed before the submission was decided about."
	}
	_, err = tx.moveSubmission(submission, events[verdict.Status], moveBy(verdict))
	if errors.Is(err, store.ErrConflict) {
		return lostRace{err} // the submission changed since the checks
	}
	return err
}

func moveBy(verdict verify.Verdict) store.SubmissionMove {
	move := store.SubmissionMove{
		Reason: verdict.Reason, Checks: verdict.Checks, Policy: verdict.Policy, DecidedBy: decidedByChecks, DuplicateOf: verdict.DuplicateOf,
	}
	if len(verdict.Checks) > 0 {
		move.Score = &verdict.Score
	}
	return move
}

// inputOf is the input of the checks of a submission.
func (a *App) inputOf(ctx context.Context, submission store.Submission) (verify.Input, error) {
	slots, err := a.store.SlotsByMission(ctx, submission.Mission.MissionID)
	if err != nil {
		return verify.Input{}, err
	}
	normalized, err := mission.Restore(slots.Mission)
	if err != nil {
		return verify.Input{}, fmt.Errorf("restore mission %s: %w", submission.Mission.MissionID, err)
	}
	input := verify.Input{
		SubmissionID: submission.ID, MissionID: submission.Mission.MissionID, Mission: normalized, OpensAt: slots.OpensAt, EndsAt: slots.EndsAt,
		Location: submission.Declaration.Location, CapturedAt: submission.Declaration.CapturedAt, DeclaredHash: submission.Declaration.Hash,
		UploadedHash: submission.UploadedHash, ClockInDoubt: a.clock.state().InDoubt,
	}
	if submission.UploadedAt != nil {
		input.UploadedAt = *submission.UploadedAt
	}
	if problem := submission.Problem; problem != nil {
		input.Problem = &verify.Problem{Code: problem.Code, Message: problem.Message}
	}
	if found := submission.Media; found != nil {
		input.Media = &verify.Media{
			Kind: found.Kind, Width: found.Width, Height: found.Height, Duration: found.Duration, CapturedAt: found.CapturedAt, ZoneUnknown: found.ZoneUnknown,
		}
		input.Media.Place = found.Place
		input.ExactDuplicate, input.NearDuplicate, err = a.store.Duplicates(ctx, submission)
	}
	return input, err
}
