package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

func TestFilesAreKnownByTheirFirstBytes(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		"\xff\xd8\xff\xe0\x00\x10JFIF":               "image/jpeg",
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR":        "image/png",
		"RIFF\x24\x00\x00\x00WEBPVP8 ":               "image/webp",
		"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00":   "video/mp4",
		"\x00\x00\x00\x14ftypmp42\x00\x00\x00\x00":   "video/mp4",
		"\x00\x00\x00\x14ftypqt  \x00\x00\x02\x00":   "video/quicktime",
		"\x1a\x45\xdf\xa3\x01\x00\x00\x00":           "video/webm",
		"GIF89a\x01\x00\x01\x00":                     "",
		"<svg xmlns=\"http://www.w3.org/2000/svg\">": "",
		"%PDF-1.7": "",
		"":         "",
		"ftyp":     "",
	} {
		if got := sniff(strings.NewReader(head)); got != want {
			t.Errorf("%q: %q, want %q", head, got, want)
		}
	}
}

func TestOldFilesAreAskedAbout(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	mission := sortie.OpenMission{StartsAt: sortie.FormatTime(began)}
	for name, c := range map[string]struct {
		changed time.Time
		options submitOptions
		stopped bool
	}{
		"new":                 {changed: began.Add(time.Second)},
		"a clock that lags":   {changed: began.Add(-4 * time.Minute)},
		"old":                 {changed: began.Add(-6 * time.Minute), stopped: true},
		"old, said otherwise": {changed: began.Add(-time.Hour), options: submitOptions{capturedAt: "2026-03-01T13:00:00Z"}},
	} {
		file := &mediaFile{File: os.Stdin, changed: c.changed}
		if err := file.checkAge(mission, c.options); (err != nil) != c.stopped {
			t.Errorf("%s: %v", name, err)
		}
	}
}
