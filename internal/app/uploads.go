package app

import (
	"context"
	"io"

	"github.com/sortie-labs/sortie"
)

// The ways in which a file can be uploaded, each with a link of its own.
const (
	UploadPut = "put"
	UploadTus = "tus"
)

// Upload is one upload, which nobody else can work on until it is closed.
type Upload struct{}

// OpenUpload takes the turn at an upload. The variant is [UploadPut] or [UploadTus]; the raw query is that of the link.
func (a *App) OpenUpload(ctx context.Context, id, variant, rawQuery string) (*Upload, error) {
	return nil, errNotBuilt
}

// ID is the submission's.
func (u *Upload) ID() string { return "" }

// Size is the declared size.
func (u *Upload) Size() int64 { return 0 }

// Offset is how many bytes are there.
func (u *Upload) Offset() int64 { return 0 }

// Done reports whether nothing is waited for any more.
func (u *Upload) Done() bool { return false }

// Append adds what the body holds to the upload, and gives the offset after it.
func (u *Upload) Append(ctx context.Context, body io.Reader) (offset int64, err error) {
	return 0, errNotBuilt
}

// Restart forgets what was uploaded.
func (u *Upload) Restart() error { return errNotBuilt }

// Finish takes the upload in when its last byte is there.
func (u *Upload) Finish(ctx context.Context) (sortie.SubmissionDetail, error) {
	return sortie.SubmissionDetail{}, errNotBuilt
}

// Close gives the turn back.
func (u *Upload) Close() {}
