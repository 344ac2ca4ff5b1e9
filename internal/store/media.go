package store

import (
	"context"

	"github.com/sortie-labs/sortie"
)

// Served is what a media link needs to know of a submission.
type Served struct {
	Status        sortie.SubmissionStatus
	DraftID       string
	ServedHash    sortie.Hash // zero: nothing to serve yet
	ServedType    string
	ServedSize    int64
	ThumbnailHash sortie.Hash // zero: none
}

// ServedMedia reads what is served for a submission, or fails with [ErrNotFound].
func (db *DB) ServedMedia(ctx context.Context, submissionID string) (Served, error) {
	return Served{}, errUnwritten
}

// Duplicates finds the earliest other submission with the same file, and with a picture that looks the same.
func (db *DB) Duplicates(ctx context.Context, submission Submission) (exact, near string, err error) {
	return "", "", errUnwritten
}

// UsedObjects tells for each object whether a submission still needs it.
func (db *DB) UsedObjects(ctx context.Context, hashes []sortie.Hash) ([]bool, error) {
	return nil, errUnwritten
}
