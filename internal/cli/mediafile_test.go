package cli

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

func TestSniffDetectsContentTypes(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		"\xff\xd8\xff\xe0\x00\x10JFIF":               "image/jpeg",
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR":        "image/png",
		"RIFF\x24\x00\x00\x00WEBPVP8 ":               "image/webp",
		"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00":   "video/mp4",
		"\x00\x00\x00\x14ftypmp42\x00\x00\x00\x00":   "video/mp4",
		"\x00\x00\x00\x14ftypqt  \x00\x00\x02\x00":   "video/quicktime",
		"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00":   "",
		"\x1a\x45\xdf\xa3\x01\x00\x00\x00":           "video/webm",
		"GIF89a\x01\x00\x01\x00":                     "",
		"<svg xmlns=\"http://www.w3.org/2000/svg\">": "",
		"%PDF-1.7": "",
		"":         "",
		"ftyp":     "",
	} {
		if got := sniff(strings.NewReader(head)); got != want {
			t.Errorf("content type of %q: got %q, want %q", head, got, want)
		}
	}
}

func TestFilesOlderThanTheMissionAreRefused(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	mission := sortie.OpenMission{StartsAt: sortie.FormatTime(began)}
	for name, c := range map[string]struct {
		changed time.Time
		options submitOptions
		refused bool
	}{
		"new":                     {changed: began.Add(time.Second)},
		"a clock that lags":       {changed: began.Add(-4 * time.Minute)},
		"old":                     {changed: began.Add(-6 * time.Minute), refused: true},
		"old, with --captured-at": {changed: began.Add(-time.Hour), options: submitOptions{capturedAt: "2026-03-01T13:00:00Z"}},
	} {
		file := &mediaFile{File: os.Stdin, taken: c.changed}
		if err := file.checkAge(mission, c.options); (err != nil) != c.refused {
			t.Errorf("%s: got error %v, want refused %t", name, err, c.refused)
		}
	}
}

// Files that the service does not accept are refused before a request is sent.
func TestUnsupportedFilesAreRefused(t *testing.T) {
	t.Parallel()
	box := func(brands string) string {
		return "\x00\x00\x00\x1cftyp" + brands[:4] + "\x00\x00\x00\x00" + brands[4:]
	}
	for content, want := range map[string]string{
		box("heicmif1heic"): "it is a HEIC picture, which the service does not take; save it as JPEG (iPhone: Settings, Camera, Formats, Most Compatible)",
		box("heix"):         "it is a HEIC picture",
		box("hevc"):         "it is a HEIC picture",
		box("heim"):         "it is a HEIC picture",
		box("heis"):         "it is a HEIC picture",
		box("msf1"):         "it is a HEIC picture",
		box("mif1mif1heic"): "it is a HEIC picture",
		box("mif1avifmiaf"): "it is an AVIF picture, which the service does not take; save it as JPEG",
		box("avif"):         "it is an AVIF picture",
		box("avis"):         "it is an AVIF picture",
	} {
		path := filepath.Join(t.TempDir(), "phone")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, contentType := range []string{"", "image/jpeg", "video/mp4"} {
			if _, err := openMedia(path, contentType); exitCodeOf(err) != ExitUsage || !strings.Contains(err.Error(), "phone: "+want) {
				t.Errorf("open %q as %q: got %v, want %s", content, contentType, err, want)
			}
		}
	}
	large := filepath.Join(t.TempDir(), "large.jpg")
	if err := errors.Join(os.WriteFile(large, []byte("\xff\xd8\xff"), 0o600), os.Truncate(large, 600<<20)); err != nil {
		t.Fatal(err)
	}
	const want = "large.jpg: it has 629.1 MB; at most 536.9 MB (512 MiB) are taken"
	if _, err := openMedia(large, ""); exitCodeOf(err) != ExitUsage || !strings.Contains(err.Error(), want) {
		t.Errorf("open a file of 600 MiB: got %v, want %s", err, want)
	}
	if err := os.Truncate(large, sortie.MaxUploadBytes); err != nil {
		t.Fatal(err)
	}
	media, err := openMedia(large, "")
	if err != nil {
		t.Fatal(err)
	}
	_ = media.Close()
}

// The time in a picture is preferred to the time of its file, which a copy changes.
func TestTheTimeInAPictureIsPreferred(t *testing.T) {
	t.Parallel()
	picture := specimen.Picture(32, 32, 1)
	for name, c := range map[string]struct {
		content []byte
		want    string // empty: the time of the file
	}{
		"with a time":    {specimen.JPEG(picture, specimen.Segment(0xe1, []byte("Exif\x00\x00"), specimen.Exif(binary.BigEndian, 1, nil))), "2024-05-01T10:00:00.000Z"},
		"without a time": {specimen.JPEG(picture), ""},
		"damaged":        {specimen.JPEG(picture)[:40], ""},
	} {
		path := filepath.Join(t.TempDir(), "photo.jpg")
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := openMedia(path, "")
		if err != nil {
			t.Fatalf("open %s: %v", name, err)
		}
		if got := file.declaration(submitOptions{}).CapturedAt; c.want != "" && got != c.want || c.want == "" && time.Since(file.taken) > time.Hour {
			t.Errorf("%s: got time %s (%s), want %q", name, got, file.takenBy, c.want)
		}
		_ = file.Close()
	}
}
