package ingest

import (
	"io"
	"time"

	"github.com/sortie-labs/sortie/internal/ingest/container"
)

// TakenAt is when a file says that it was taken; zero if it does not say. A clock whose zone it
// does not tell is read as one of this machine's zone: it is for whoever has the file, and not for
// checking it.
func TakenAt(file io.ReaderAt, size int64) time.Time {
	inspected, err := container.Inspect(file, size)
	if err != nil || inspected.CapturedAt.IsZero() {
		return time.Time{}
	}
	at := inspected.CapturedAt
	if inspected.ZoneUnknown {
		at = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.Local)
	}
	return at
}
