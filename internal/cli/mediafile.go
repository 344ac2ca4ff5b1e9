package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/ingest"
)

// pictureBrands are the brands of still pictures in the container format of MP4. The service
// accepts none of them.
var pictureBrands = map[string]string{
	"heic": "HEIC", "heix": "HEIC", "heim": "HEIC", "heis": "HEIC", "hevc": "HEIC", "hevx": "HEIC", "mif1": "HEIC", "msf1": "HEIC",
	"avif": "AVIF", "avis": "AVIF",
}

// checkPicture refuses HEIC and AVIF pictures, and suggests JPEG.
func checkPicture(file io.ReaderAt, path string) error {
	head := make([]byte, 64)
	n, _ := file.ReadAt(head, 0)
	head = head[:n]
	if brandOf(head) == "" {
		return nil
	}
	kind := pictureBrands[brandOf(head)]
	if kind == "HEIC" && bytes.Contains(head[12:], []byte("avif")) { // AVIF may have a general major brand
		kind = "AVIF"
	}
	switch kind {
	case "HEIC":
		return UsageError("FILE %s: it is a HEIC picture, which the service does not take; save it as JPEG (iPhone: Settings, Camera, Formats, Most Compatible)", path)
	case "AVIF":
		return UsageError("FILE %s: it is an AVIF picture, which the service does not take; save it as JPEG", path)
	}
	return nil
}

// brandOf returns the major brand of a file in the ISO base media format; empty for other formats.
func brandOf(head []byte) string {
	if len(head) < 12 || !bytes.Equal(head[4:8], []byte("ftyp")) {
		return ""
	}
	return string(head[8:12])
}

// sniff returns the content type of a file from its first bytes, or "" if the service does not
// accept it. The service checks it again.
func sniff(file io.ReaderAt) string {
	head := make([]byte, 512)
	n, _ := file.ReadAt(head, 0)
	head = head[:n]
	contentType := http.DetectContentType(head)
	switch brand := brandOf(head); {
	case brand == "qt  ":
		contentType = sortie.ContentTypeQuickTime
	case brand != "" && pictureBrands[brand] == "":
		contentType = sortie.ContentTypeMP4
	}
	if sortie.FileExtension(contentType) == "" {
		return ""
	}
	return contentType
}

// mediaFile is the file to submit.
type mediaFile struct {
	*os.File
	size        int64
	taken       time.Time // the best known time
	takenBy     string    // the source of the time
	contentType string
	sum         [sha256.Size]byte
}

func openMedia(path, contentType string) (*mediaFile, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, UsageError("FILE %s: no such file; give the path of your photo or video", path)
	}
	if err != nil {
		return nil, UsageError("FILE: %w", err)
	}
	opened := &mediaFile{File: file}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = UsageError("FILE: %w", err)
	case info.IsDir():
		err = UsageError("FILE %s: it is a directory", path)
	case !info.Mode().IsRegular():
		err = UsageError("FILE %s: it is not a regular file", path)
	case info.Size() == 0:
		err = UsageError("FILE %s: it is empty", path)
	case info.Size() > sortie.MaxUploadBytes:
		err = UsageError("FILE %s: it has %s; at most %s (512 MiB) are taken", path, formatBytes(info.Size()), formatBytes(sortie.MaxUploadBytes))
	default:
		opened.size, opened.taken, opened.takenBy = info.Size(), info.ModTime(), "the modification time of the file"
		opened.contentType = cmp.Or(contentType, sniff(file))
		opened.readTime()
		err = checkPicture(file, path)
	}
	if err == nil && opened.contentType == "" {
		err = UsageError("FILE %s: it is not a JPEG, PNG, WebP, MP4, MOV or WebM file; if it is one, give --content-type", path)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return opened, nil
}

// readTime prefers the time in the metadata of a picture: the modification time is often that of
// the last copy. It does not read videos, because it would have to read the whole file.
func (f *mediaFile) readTime() {
	if !strings.HasPrefix(f.contentType, "image/") {
		return
	}
	if at := ingest.TakenAt(f, f.size); !at.IsZero() {
		f.taken, f.takenBy = at, "the time in the picture"
	}
}

// hash computes the SHA-256 of the file.
func (f *mediaFile) hash(ctx context.Context, cmd *cobra.Command) error {
	var done atomic.Int64
	bar := startProgress(cmd, func() progressState {
		read := done.Load()
		return progressState{doing: "Reading", done: float64(read) / float64(f.size), text: formatBytes(read), bytes: read}
	})
	defer bar.stop()
	sum := sha256.New()
	source := io.NewSectionReader(f, 0, f.size)
	for ctx.Err() == nil {
		n, err := io.CopyN(sum, source, 4<<20)
		done.Add(n)
		if errors.Is(err, io.EOF) {
			f.sum = [sha256.Size]byte(sum.Sum(nil))
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", f.Name(), err)
		}
	}
	return ctx.Err()
}

func (f *mediaFile) declaration(options submitOptions) sortie.Declaration {
	return sortie.Declaration{
		Location:   sortie.Location{Lat: json.Number(options.lat), Lng: json.Number(options.lng), AccuracyMeters: json.Number(options.accuracy)},
		CapturedAt: cmp.Or(options.capturedAt, sortie.FormatTime(f.taken)), ContentType: f.contentType, SizeBytes: f.size,
		SHA256: hex.EncodeToString(f.sum[:]),
	}
}

// checkAge refuses a file that is older than the mission, before it reserves a slot.
func (f *mediaFile) checkAge(mission sortie.OpenMission, options submitOptions) error {
	starts, err := time.Parse(time.RFC3339, mission.StartsAt)
	if options.capturedAt != "" || err != nil || !f.taken.Before(starts.Add(-clockSlack)) {
		return nil
	}
	return UsageError("FILE %s: it was taken at %s (%s), before the mission began at %s; if that is wrong, give --captured-at",
		f.Name(), sortie.FormatTime(f.taken), f.takenBy, mission.StartsAt)
}

const clockSlack = 5 * time.Minute // the tolerance of the service
