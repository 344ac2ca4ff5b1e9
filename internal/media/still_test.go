package media_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/media"
	"github.com/sortie-labs/sortie/internal/media/specimen"
)

// fakeFFmpeg is a script that stands in for ffmpeg.
func fakeFFmpeg(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("other systems start no ffmpeg")
	}
	path := filepath.Join(t.TempDir(), "ffmpeg")
	syscall.ForkLock.RLock() // a process that is started meanwhile would hold the program open, which then cannot be run
	err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A video of which no picture can be made is in doubt, unless that is our fault.
func TestVideosWithoutAPictureAreInDoubt(t *testing.T) {
	t.Parallel()
	film := writeFile(t, specimen.File("plain.mp4"))
	for name, c := range map[string]struct {
		script  string
		inDoubt bool
	}{
		"says that it cannot decode": {"echo 'Invalid data found when processing input' >&2; exit 1", true},
		"gives nothing":              {"exit 0", true},
		"gives something else":       {"echo text", true},
		"crashes":                    {"kill -SEGV $$", true},
		"is killed":                  {"kill -KILL $$", false},
		"lacks a decoder":            {"echo 'Decoder (codec av1) not found for input stream #0:0' >&2; exit 1", false},
		"lacks its libraries":        {"exit 127", false},
		"gives more than it should":  {"exec /usr/bin/head -c 9000000 /dev/zero", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ingester := newIngester(t, func(c2 *media.Config) { c2.FFmpeg = fakeFFmpeg(t, c.script) })
			result, err := ingester.Ingest(t.Context(), film, "video/mp4")
			if err != nil || result.Thumbnail != "" || (result.Doubt != nil) != c.inDoubt {
				t.Errorf("%v, thumbnail %q, doubt %v", err, result.Thumbnail, result.Doubt)
			}
		})
	}
}

func TestSlowFFmpegIsNotTheVideosFault(t *testing.T) {
	t.Parallel()
	ingester := newIngester(t, func(c *media.Config) { c.FFmpeg, c.Timeout = fakeFFmpeg(t, "exec /bin/sleep 600"), 15*time.Second })
	result, err := ingester.Ingest(t.Context(), writeFile(t, specimen.File("plain.mp4")), "video/mp4")
	if err != nil || result.Doubt != nil {
		t.Errorf("%v, doubt %v", err, result.Doubt)
	}
}

// Where a video shows nothing after a while, its beginning is looked at.
func TestStillsOfTheBeginning(t *testing.T) {
	t.Parallel()
	still := writeFile(t, specimen.JPEG(specimen.Picture(64, 48, 1)))
	script := fmt.Sprintf(`case "$*" in *"-ss 0.000 "*) exec /bin/cat %q;; esac; exit 1`, still)
	ingester := newIngester(t, func(c *media.Config) { c.FFmpeg = fakeFFmpeg(t, script) })
	result, err := ingester.Ingest(t.Context(), writeFile(t, specimen.File("plain.mp4")), "video/mp4")
	if err != nil || result.Doubt != nil || result.Thumbnail == "" {
		t.Errorf("%v, thumbnail %q, doubt %v", err, result.Thumbnail, result.Doubt)
	}
}

func TestFFmpegDoubtsWhatCannotBeDecoded(t *testing.T) {
	t.Parallel()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("ffmpeg is not installed: apt-get install ffmpeg")
	}
	const parameters, filler = 5 + 1 + 2, 12 // where the decoder finds what it must know, and a unit that says nothing
	film := patched(specimen.File("plain.mp4"), "avcC", parameters, []byte{filler})
	ingester := newIngester(t, func(c *media.Config) { c.FFmpeg = ffmpeg })
	result, err := ingester.Ingest(t.Context(), writeFile(t, film), "video/mp4")
	if err != nil || result.Doubt == nil {
		t.Errorf("%v, doubt %v", err, result.Doubt)
	}
}
