package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// takeInTime bounds what happens after the last byte of an upload: the file is put where it stays.
const takeInTime = 2 * time.Minute

// Upload is one upload, which nobody else can work on until it is closed. It is for one goroutine
// at a time.
type Upload struct {
	app        *App
	submission store.Submission
	partial    *blob.Partial // nil when the file was taken in
	prolongAt  time.Time     // before which a prolongation that failed is not tried again
	prolonging *prolongation // under way; nil: none
}

// OpenUpload takes the turn at an upload. The variant is
// [links.VariantUploadPut] or [links.VariantUploadTus].
//
// An upload whose last byte came, and that nobody finished because the service was stopped or could
// not keep the file, is finished first: see [Upload.Finish]. An upload that was taken in before is
// [Upload.Done].
//
// It fails with media_url_invalid, media_url_expired, also when the reservation has ended,
// wrong_state when the submission was withdrawn, validation_failed when it was rejected for another
// file, idempotency_in_progress while somebody else has the turn, and service_unavailable.
func (a *App) OpenUpload(ctx context.Context, id, variant, token string) (*Upload, error) {
	if a.objects == nil {
		return nil, errNoMediaStore()
	}
	if _, err := a.verifyLink(ctx, id, variant, token); err != nil {
		return nil, uploadLinkError(err)
	}
	submission, err := a.store.Submission(ctx, id)
	if err != nil {
		return nil, storeError(err) // the link was ours, so it is there
	}
	if !awaitsUpload(submission) {
		if err := a.uploadDone(ctx, submission); err != nil {
			return nil, err
		}
		return &Upload{app: a, submission: submission}, nil
	}
	partial, err := a.incoming.Open(id)
	if err != nil {
		return nil, uploadError(err)
	}
	upload := &Upload{app: a, submission: submission, partial: partial}
	if err := upload.begin(ctx); err != nil {
		upload.Close()
		return nil, err
	}
	return upload, nil
}

// begin looks again, now that nobody else can work on the upload.
func (u *Upload) begin(ctx context.Context) (err error) {
	if u.submission, err = u.app.store.Submission(ctx, u.submission.ID); err != nil {
		return storeError(err)
	}
	if !awaitsUpload(u.submission) {
		err := u.app.uploadDone(ctx, u.submission)
		if !errors.Is(err, store.ErrUnavailable) {
			u.forget()
		}
		return err
	}
	if !u.app.now().Before(u.submission.ReservedUntil) {
		return errReservationOver()
	}
	if u.Offset() > u.Size() { // nobody can have written that
		return u.Cut(0)
	}
	if u.Offset() == u.Size() {
		_, err = u.Finish(ctx)
	}
	return err
}

func uploadLinkError(err error) error {
	switch sortie.ErrorCode(err) {
	case sortie.CodeMediaURLExpired:
		return errReservationOver()
	case sortie.CodeMediaURLInvalid:
		return sortie.NewError(sortie.CodeMediaURLInvalid, "the link was not signed by this service, or was changed; use it exactly as it came when the file was declared").Because(err)
	default:
		return err
	}
}

func errReservationOver() error {
	return sortie.NewError(sortie.CodeMediaURLExpired, "the time for this upload is over, and its slot is free for others; declare the file again under another idempotency key")
}

// uploadDone is nil if the file came and that is durable. Otherwise it explains why the upload
// window is closed.
func (a *App) uploadDone(ctx context.Context, submission store.Submission) error {
	if err := a.uploadOver(submission); err != nil {
		return err
	}
	if err := a.store.AwaitDurable(ctx); err != nil {
		return storeError(err)
	}
	return nil
}

// uploadOver explains why the upload window is closed. It is nil if the file came.
func (a *App) uploadOver(submission store.Submission) error {
	switch {
	case submission.UploadedAt != nil:
		return nil
	case submission.Status == sortie.SubmissionWithdrawn:
		return sortie.NewError(sortie.CodeWrongState, "the submission was withdrawn, so its file is not waited for; declare the file again under another idempotency key").
			Detail("status", submission.Status)
	case !a.now().Before(submission.ReservedUntil):
		return errReservationOver()
	default: // nothing else ends a reservation before its time
		return errOtherFile(submission)
	}
}

func errOtherFile(submission store.Submission) *sortie.Error {
	return sortie.NewError(sortie.CodeValidationFailed, "the bytes that came are not those of the declared SHA-256, so the submission is rejected; declare the file again under another idempotency key").
		Detail("declaredSha256", hexHash(submission.Declaration.Hash))
}

// uploadError says what a failure of the place where files are kept means to a client.
func uploadError(err error) error {
	switch {
	case errors.Is(err, blob.ErrUploadBusy):
		return sortie.NewError(sortie.CodeIdempotencyInProgress, "another request is writing to this upload; wait for it to end, then ask how far it came").Because(err)
	case errors.Is(err, blob.ErrUnavailable), errors.Is(err, blob.ErrObjectNotFound): // the latter: its directory is gone
		return sortie.NewError(sortie.CodeServiceUnavailable, "the service cannot keep files now; what came is kept, so go on with the upload shortly").Because(err)
	default:
		return err
	}
}

// ID is that of the submission.
func (u *Upload) ID() string { return u.submission.ID }

// Size is the declared size.
func (u *Upload) Size() int64 { return u.submission.Declaration.SizeBytes }

// Offset is how many bytes are here.
func (u *Upload) Offset() int64 {
	if u.Done() {
		return u.Size()
	}
	return u.partial.Size()
}

// Done reports whether the file was taken in.
func (u *Upload) Done() bool { return u.partial == nil }

// Append adds what the body holds, up to the declared size, and gives the offset after it. What
// came stays, whatever happens to the body, and prolongs the reservation. Its own fault is returned
// as it is.
//
// It fails with service_unavailable when the disk is full or broken.
func (u *Upload) Append(ctx context.Context, body io.Reader) (offset int64, err error) {
	if u.Done() {
		return u.Offset(), nil
	}
	defer u.awaitProlonging()
	if _, err = u.partial.Append(ctx, arriving{body, ctx, u}, u.Size()-u.Offset()); err != nil {
		err = uploadError(err)
	}
	return u.Offset(), err
}

// Cut forgets what was uploaded behind an offset.
func (u *Upload) Cut(offset int64) error {
	if u.Done() {
		return nil
	}
	if err := u.partial.Cut(offset); err != nil {
		return uploadError(err)
	}
	return nil
}

// Finish takes the upload in when its last byte is here: the file is kept, and the checks begin. It
// goes on when the client is gone. When it fails with service_unavailable, what came is kept and it
// may be called again.
//
// It fails with validation_failed when bytes are missing, and when the file is not the declared
// one, which rejects the submission; and media_url_expired when the reservation ended in the
// meantime.
func (u *Upload) Finish(ctx context.Context) (sortie.SubmissionDetail, error) {
	if u.Done() {
		return submissionDetail(u.submission)
	}
	if u.Offset() != u.Size() {
		return sortie.SubmissionDetail{}, sortie.NewError(sortie.CodeValidationFailed, "%d of the declared %d bytes came; send the rest", u.Offset(), u.Size()).
			Detail("uploadedBytes", u.Offset()).Detail("sizeBytes", u.Size())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeInTime)
	defer cancel()
	path, hash, err := u.partial.Finish()
	if err != nil {
		return sortie.SubmissionDetail{}, uploadError(err)
	}
	if hash != u.submission.Declaration.Hash {
		return sortie.SubmissionDetail{}, u.refuse(ctx, hash)
	}
	if err := u.app.objects.Put(ctx, hash, path); err != nil {
		return sortie.SubmissionDetail{}, uploadError(err)
	}
	err = u.move(ctx, func(tx *writeTx, submission store.Submission) error {
		if err := tx.MarkUploaded(submission, hash); err != nil {
			return err
		}
		return u.app.queue.Check(tx.Tx, submission.ID)
	})
	if err != nil {
		return sortie.SubmissionDetail{}, err
	}
	return submissionDetail(u.submission)
}

// move changes the submission, unless it no longer waits for a file, and forgets what came.
func (u *Upload) move(ctx context.Context, change func(*writeTx, store.Submission) error) error {
	var after store.Submission
	err := u.app.write(ctx, func(tx *writeTx) error {
		submission, err := tx.Submission(u.submission.ID)
		if err != nil {
			return err
		}
		if !awaitsUpload(submission) {
			return u.app.uploadOver(submission) // it is an error: somebody else cannot have uploaded it
		}
		if err := change(tx, submission); err != nil {
			return err
		}
		after, err = tx.Submission(u.submission.ID)
		return err
	})
	if err != nil {
		return storeError(err)
	}
	u.submission = after
	u.forget()
	return nil
}

// refuse rejects a submission whose file is not the declared one. The bytes are not looked at.
func (u *Upload) refuse(ctx context.Context, found sortie.Hash) error {
	input, err := u.app.inputOf(ctx, u.submission)
	if err != nil {
		return storeError(err)
	}
	input.UploadedAt, input.UploadedHash = u.app.now(), found
	verdict, err := u.app.verifier.Check(ctx, input, nil) // a file that is not looked at is shown to nobody
	if err != nil {
		return fmt.Errorf("check submission %s: %w", u.submission.ID, err)
	}
	err = u.move(ctx, func(tx *writeTx, submission store.Submission) error {
		_, err := tx.moveSubmission(submission, mission.ChecksRejected, moveBy(verdict))
		return err
	})
	if err != nil {
		return err
	}
	return errOtherFile(u.submission).Detail("uploadedSha256", hexHash(found))
}

// DropUpload removes what came of a file that is not waited for any more, so that files nobody
// waits for do not fill the disk. What cannot be removed now, because somebody still writes to it
// or it is in another process's directory, is tidied later.
func (a *App) DropUpload(id string) { a.dropUpload(id) }

func (c *core) dropUpload(id string) {
	if c.incoming == nil {
		return
	}
	if err := c.incoming.Discard(id); err != nil && !errors.Is(err, blob.ErrUploadBusy) {
		c.log.Warn("an upload that nobody waits for cannot be removed", "submissionId", id, "error", err)
	}
}

// Until is when the upload must be whole. It moves while bytes arrive.
func (u *Upload) Until() time.Time { return u.submission.ReservedUntil }

// forget removes what came. What cannot be removed now is tidied later.
func (u *Upload) forget() {
	if err := u.partial.Remove(); err != nil {
		u.app.log.Warn("an upload was taken in and its first copy cannot be removed", "submissionId", u.submission.ID, "error", err)
	}
	u.Close()
}

// Close gives the turn back.
func (u *Upload) Close() {
	if u.partial == nil {
		return
	}
	if err := u.partial.Close(); err != nil {
		u.app.log.Warn("an upload cannot be closed", "submissionId", u.submission.ID, "error", err)
	}
	u.partial = nil
}
