package ingest

import (
	"io"
	"time"

	"github.com/sortie-labs/sortie/internal/ingest/container"
)

// TakenAt returns the capture time that a file states, or zero. A time in an unknown zone is read
// in the zone of this machine: it is for the owner of the file, not for checks.
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
