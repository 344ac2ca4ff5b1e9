package app

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
	"github.com/sortie-labs/sortie/internal/links"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// Media is a file that a link gives access to.
type Media struct {
	Hash        sortie.Hash // SHA-256 of its bytes
	ContentType string      // one of the six media types
	Size        int64
	ExpiresAt   time.Time // of the link
	File        *os.File  // nil unless the file is on this machine; the caller must close it

	objects *blob.Objects
}

// Open reads the file from offset on, length bytes or, if length is negative, to its end.
func (m Media) Open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	body, _, err := m.objects.Open(ctx, m.Hash, offset, length)
	if err != nil {
		return nil, mediaError(err)
	}
	return body, nil
}

// Close closes the file, if there is one.
func (m Media) Close() error {
	if m.File == nil {
		return nil
	}
	return m.File.Close()
}

// OpenMedia opens the media of a link of the deliverables. The variant is original or thumbnail.
//
// It fails with media_url_invalid, media_url_expired, not_found when the submission is no longer
// accepted, and service_unavailable.
func (a *App) OpenMedia(ctx context.Context, id, variant, token string) (Media, error) {
	if variant != links.VariantOriginal && variant != links.VariantThumbnail {
		return Media{}, errNoMedia()
	}
	return a.openMedia(ctx, id, variant, variant, token, mission.HoldsSlot)
}

// openMedia opens a variant of a submission's media for a client with a valid link.
func (c *core) openMedia(ctx context.Context, id, variant, signed, token string, visible func(sortie.SubmissionStatus) bool) (Media, error) {
	if c.objects == nil {
		return Media{}, errNoMediaStore()
	}
	expiresAt, err := c.verifyLink(ctx, id, signed, token)
	if err != nil {
		return Media{}, err
	}
	served, err := c.store.ServedMedia(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !visible(served.Status) {
		return Media{}, errNoMedia()
	}
	if err != nil {
		return Media{}, storeError(err)
	}
	opened := Media{Hash: served.ServedHash, ContentType: served.ServedType, Size: served.ServedSize, ExpiresAt: expiresAt, objects: c.objects}
	if variant == links.VariantThumbnail {
		opened.Hash, opened.ContentType, opened.Size = served.ThumbnailHash, thumbnailType, unknownSize
	}
	if opened.Hash == (sortie.Hash{}) {
		return Media{}, errNoMedia()
	}
	if err := c.find(ctx, &opened); err != nil {
		c.log.Error("media of a valid link cannot be served", "submissionId", id, "variant", variant, "hash", opened.Hash, "error", err)
		return Media{}, mediaError(err)
	}
	return opened, nil
}

const (
	thumbnailType = sortie.ContentTypeJPEG
	unknownSize   = -1
)

// find opens the file, if it is on this machine, and verifies its bytes: a truncated or changed
// file must not be served. Other stores verify objects themselves.
func (c *core) find(ctx context.Context, m *Media) error {
	file, err := c.objects.File(m.Hash)
	if errors.Is(err, blob.ErrNotLocal) {
		if m.Size == unknownSize {
			object, err := c.objects.Stat(ctx, m.Hash)
			m.Size = object.Size
			return err
		}
		return nil
	}
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && m.Size != unknownSize && m.Size != info.Size() {
		err = blob.ErrObjectCorrupt
	}
	if err == nil {
		err = c.verified.verify(ctx, c.objects, m.Hash, info, c.now())
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	m.File, m.Size = file, info.Size()
	return nil
}

func errNoMedia() error {
	return sortie.NewError(sortie.CodeNotFound, "there is no media under this link; fetch the deliverables again")
}

// mediaError turns an error of the media store into an error for a client.
func mediaError(err error) error {
	switch {
	case errors.Is(err, blob.ErrUnavailable):
		return sortie.NewError(sortie.CodeServiceUnavailable, "the media store cannot be used now; try again shortly").Because(err)
	case errors.Is(err, blob.ErrObjectNotFound), errors.Is(err, blob.ErrObjectCorrupt):
		return sortie.NewError(sortie.CodeNotFound, "the service has lost this file; tell its operator").Because(err)
	default:
		return err
	}
}

// sweepAge is how old an unused object must be to be removed: objects are stored before a row
// refers to them.
const sweepAge = time.Hour

// SweepMedia removes the files that no submission needs, and returns their number: files of
// rejected and withdrawn submissions, and uploads whose served copy exists.
func (a *App) SweepMedia(ctx context.Context) (removed int, err error) {
	if a.objects == nil {
		return 0, nil
	}
	return a.objects.Sweep(ctx, a.now().Add(-sweepAge), a.store.UsedObjects)
}
