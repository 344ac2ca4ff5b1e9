package app

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/sortie-labs/sortie"
)

// Media is a file that a link allows to be read. The caller closes File.
type Media struct {
	Hash        sortie.Hash // SHA-256 of its bytes
	ContentType string
	Size        int64
	ExpiresAt   time.Time // of the link
	File        *os.File  // nil unless it is on this machine; the kernel can send it by itself
	Open        func(ctx context.Context, offset, length int64) (io.ReadCloser, error)
}

// OpenMedia gives what a link of the deliverables leads to.
func (a *App) OpenMedia(ctx context.Context, id, variant, rawQuery string) (Media, error) {
	return Media{}, errNotBuilt
}

// OpenReviewMedia gives what a link of an operator or a verifier leads to.
func (a *App) OpenReviewMedia(ctx context.Context, id, variant, rawQuery string) (Media, error) {
	return Media{}, errNotBuilt
}

// SweepMedia removes the files that no submission needs any more, and tells how many those were.
func (a *App) SweepMedia(ctx context.Context) (removed int, err error) { return 0, errNotBuilt }
