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

// takeInTime is the timeout for storing a file after its last byte arrived.
const takeInTime = 2 * time.Minute

// Upload is an upload that is locked for its caller until Close. It is for one goroutine at a time.
type Upload struct {
	app        *App
	submission store.Submission
	partial    *blob.Partial // nil when the file is stored
	prolongAt  time.Time     // when a failed prolongation is tried again
	prolonging *prolongation // running; nil: none
}

// OpenUpload locks an upload. The variant is [links.VariantUploadPut] or [links.VariantUploadTus].
//
// An upload whose last byte arrived, and that was not finished because the service was stopped or
// could not store the file, is finished first: see [Upload.Finish]. An upload that was finished
// before is [Upload.Done].
//
// It fails with media_url_invalid, media_url_expired, also when the reservation has ended,
// wrong_state when the submission was withdrawn, validation_failed when it was rejected for another
// file, idempotency_in_progress while another request holds the lock, and service_unavailable.
func (a *App) OpenUpload(ctx context.Context, id, variant, token string) (*Upload, error) {
	if a.objects == nil {
		return nil, errNoMediaStore()
	}
	if _, err := a.verifyLink(ctx, id, variant, token); err != nil {
		return nil, uploadLinkError(err)
	}
	submission, err := a.store.Submission(ctx, id)
	if err != nil {
		return nil, storeError(err) // the link was valid, so the submission exists
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

// begin reads the submission again, now that the upload is locked.
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
	if u.Offset() > u.Size() { // the file is damaged
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
		return sortie.NewError(sortie.CodeMediaURLInvalid, "the link was not signed by this service, or was changed; use it exactly as in the answer to the declaration").Because(err)
	default:
		return err
	}
}

func errReservationOver() error {
	return sortie.NewError(sortie.CodeMediaURLExpired, "the time for this upload is over, and its slot is free for others; declare the file again under another idempotency key")
}

// uploadDone returns nil if the file arrived and that is durable. Otherwise it explains why the
// upload window is closed.
func (a *App) uploadDone(ctx context.Context, submission store.Submission) error {
	if err := a.uploadOver(submission); err != nil {
		return err
	}
	if err := a.store.AwaitDurable(ctx); err != nil {
		return storeError(err)
	}
	return nil
}

// uploadOver explains why the upload window is closed. It returns nil if the file arrived.
func (a *App) uploadOver(submission store.Submission) error {
	switch {
	case submission.UploadedAt != nil:
		return nil
	case submission.Status == sortie.SubmissionWithdrawn:
		return sortie.NewError(sortie.CodeWrongState, "the submission was withdrawn, so its file is not waited for; declare the file again under another idempotency key").
			Detail("status", submission.Status)
	case !a.now().Before(submission.ReservedUntil):
		return errReservationOver()
	default: // the reservation expired
		return errOtherFile(submission)
	}
}

func errOtherFile(submission store.Submission) *sortie.Error {
	return sortie.NewError(sortie.CodeValidationFailed, "the received bytes do not have the declared SHA-256, so the submission is rejected; declare the file again under another idempotency key").
		Detail("declaredSha256", hexHash(submission.Declaration.Hash))
}

// uploadError turns an error of the upload directory or the media store into an error for a client.
func uploadError(err error) error {
	switch {
	case errors.Is(err, blob.ErrUploadBusy):
		return sortie.NewError(sortie.CodeIdempotencyInProgress, "another request is writing to this upload; wait for it to end, then ask for the offset").Because(err)
	case errors.Is(err, blob.ErrUnavailable), errors.Is(err, blob.ErrObjectNotFound): // the latter: the upload directory was removed
		return sortie.NewError(sortie.CodeServiceUnavailable, "the service cannot store files now; the received bytes are kept, so continue the upload shortly").Because(err)
	default:
		return err
	}
}

// ID is the submission's id.
func (u *Upload) ID() string { return u.submission.ID }

// Size is the declared size.
func (u *Upload) Size() int64 { return u.submission.Declaration.SizeBytes }

// Offset is how many bytes have arrived.
func (u *Upload) Offset() int64 {
	if u.Done() {
		return u.Size()
	}
	return u.partial.Size()
}

// Done reports whether the file is stored.
func (u *Upload) Done() bool { return u.partial == nil }

// Append adds the body to the upload, up to the declared size, and returns the offset after it.
// Bytes that arrived are kept, even if reading the body fails, and prolong the reservation. An
// error of the body is returned as it is.
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

// Cut removes the bytes after an offset.
func (u *Upload) Cut(offset int64) error {
	if u.Done() {
		return nil
	}
	if err := u.partial.Cut(offset); err != nil {
		return uploadError(err)
	}
	return nil
}

// Finish stores a file whose last byte arrived and queues its checks. It continues when the client
// disconnects. When it fails with service_unavailable, the bytes are kept and it may be called
// again.
//
// It fails with validation_failed when bytes are missing, and when the file is not the declared
// one, which rejects the submission; and media_url_expired when the reservation has ended.
func (u *Upload) Finish(ctx context.Context) (sortie.SubmissionDetail, error) {
	if u.Done() {
		return submissionDetail(u.submission)
	}
	if u.Offset() != u.Size() {
		return sortie.SubmissionDetail{}, sortie.NewError(sortie.CodeValidationFailed, "received %d of the declared %d bytes; send the rest", u.Offset(), u.Size()).
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

// move changes the submission, unless it no longer waits for a file, and removes the upload.
func (u *Upload) move(ctx context.Context, change func(*writeTx, store.Submission) error) error {
	var after store.Submission
	err := u.app.write(ctx, func(tx *writeTx) error {
		submission, err := tx.Submission(u.submission.ID)
		if err != nil {
			return err
		}
		if !awaitsUpload(submission) {
			return u.app.uploadOver(submission) // an error: this upload is locked, so no other request stored a file
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

// refuse rejects a submission whose file is not the declared one. The bytes are not read.
func (u *Upload) refuse(ctx context.Context, found sortie.Hash) error {
	input, err := u.app.inputOf(ctx, u.submission)
	if err != nil {
		return storeError(err)
	}
	input.UploadedAt, input.UploadedHash = u.app.now(), found
	verdict, err := u.app.verifier.Check(ctx, input, nil) // the file is not read, so the verifier is not asked
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

// DropUpload removes the bytes of an upload that is no longer expected. An upload that is locked,
// or in the directory of another process, is removed later.
func (a *App) DropUpload(id string) { a.dropUpload(id) }

func (c *core) dropUpload(id string) {
	if c.incoming == nil {
		return
	}
	if err := c.incoming.Discard(id); err != nil && !errors.Is(err, blob.ErrUploadBusy) {
		c.log.Warn("an upload that is no longer expected cannot be removed", "submissionId", id, "error", err)
	}
}

// Until is the end of the reservation. It moves while bytes arrive.
func (u *Upload) Until() time.Time { return u.submission.ReservedUntil }

// forget removes the upload. If that fails now, it is removed later.
func (u *Upload) forget() {
	if err := u.partial.Remove(); err != nil {
		u.app.log.Warn("an upload was stored and its first copy cannot be removed", "submissionId", u.submission.ID, "error", err)
	}
	u.Close()
}

// Close unlocks the upload.
func (u *Upload) Close() {
	if u.partial == nil {
		return
	}
	if err := u.partial.Close(); err != nil {
		u.app.log.Warn("an upload cannot be closed", "submissionId", u.submission.ID, "error", err)
	}
	u.partial = nil
}
