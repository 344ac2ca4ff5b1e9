package ingest_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

// fakeFFmpeg is this program under a name that selects what it does instead of ffmpeg.
func fakeFFmpeg(t *testing.T, does string) string {
	t.Helper()
	switch {
	case runtime.GOOS != "linux":
		t.Skip("other systems start no ffmpeg")
	case raceDetector:
		t.Skip("a program with the race detector needs more memory than ffmpeg has")
	case fakes[does] == nil:
		t.Fatalf("no fake ffmpeg %q", does)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), fakePrefix+does)
	if err := os.Link(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// fakeMemory is the memory of a fake ffmpeg: a Go program reserves more addresses than ffmpeg.
const fakeMemory = 4 << 30

func init() {
	complain := func(output string, code int) func() {
		return func() { fmt.Fprintln(os.Stderr, output); os.Exit(code) }
	}
	maps.Copy(fakes, map[string]func(){
		"cannot-decode":        complain("Invalid data found when processing input", 1),
		"shows-nothing":        func() {},
		"shows-something-else": func() { fmt.Println("text") },
		"crashes":              func() { debug.SetTraceback("crash"); panic("crashes") },
		"is-killed":            func() { _ = killSelf() },
		"lacks-a-decoder":      complain("Decoder (codec av1) not found for input stream #0:0", 1),
		"lacks-its-libraries":  complain("", 127),
		"shows-too-much":       func() { _, _ = os.Stdout.Write(make([]byte, 9_000_000)) },
		"sleeps":               func() { time.Sleep(time.Hour) },
		"shows-the-beginning": func() {
			if at := slices.Index(os.Args, "-ss"); os.Args[at+1] != "0.000" {
				os.Exit(1)
			}
			_, _ = os.Stdout.Write(specimen.JPEG(specimen.Picture(64, 48, 1)))
		},
	})
}

// Doubt is set for a video without a picture, unless the service is the cause.
func TestDoubtAboutVideosWithoutPicture(t *testing.T) {
	t.Parallel()
	video := writeFile(t, specimen.File("plain.mp4"))
	for does, inDoubt := range map[string]bool{
		"cannot-decode":        true,
		"shows-nothing":        true,
		"shows-something-else": true,
		"crashes":              true,
		"is-killed":            false,
		"lacks-a-decoder":      false,
		"lacks-its-libraries":  false,
		"shows-too-much":       false,
	} {
		t.Run(does, func(t *testing.T) {
			t.Parallel()
			ingester := newIngester(t, func(c *ingest.Config) { c.FFmpeg = fakeFFmpeg(t, does) })
			ingester.SetStillMemory(fakeMemory)
			result, err := ingester.Ingest(t.Context(), video, "video/mp4")
			if err != nil || result.Thumbnail != "" || (result.Doubt != nil) != inDoubt {
				t.Errorf("got %v, thumbnail %q, doubt %v, want none, none, doubt: %t", err, result.Thumbnail, result.Doubt, inDoubt)
			}
		})
	}
}

func TestSlowFFmpegIsNoDoubt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: needs ffmpeg")
	}
	ingester := newIngester(t, func(c *ingest.Config) { c.FFmpeg, c.Timeout = fakeFFmpeg(t, "sleeps"), 15*time.Second })
	ingester.SetStillMemory(fakeMemory)
	result, err := ingester.Ingest(t.Context(), writeFile(t, specimen.File("plain.mp4")), "video/mp4")
	if err != nil || result.Doubt != nil {
		t.Errorf("got %v, doubt %v, want neither", err, result.Doubt)
	}
}

// If there is no picture after the first second, the still is taken from the beginning.
func TestStillFromTheBeginning(t *testing.T) {
	t.Parallel()
	ingester := newIngester(t, func(c *ingest.Config) { c.FFmpeg = fakeFFmpeg(t, "shows-the-beginning") })
	ingester.SetStillMemory(fakeMemory)
	result, err := ingester.Ingest(t.Context(), writeFile(t, specimen.File("plain.mp4")), "video/mp4")
	if err != nil || result.Doubt != nil || result.Thumbnail == "" {
		t.Errorf("got %v, thumbnail %q, doubt %v, want a thumbnail", err, result.Thumbnail, result.Doubt)
	}
}

func TestDoubtAboutVideosThatFFmpegCannotDecode(t *testing.T) {
	t.Parallel()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("ffmpeg is not installed: apt-get install ffmpeg")
	}
	const parameters, filler = 5 + 1 + 2, 12 // offset of the parameter sets, and a unit without meaning
	video := patched(specimen.File("plain.mp4"), "avcC", parameters, []byte{filler})
	ingester := newIngester(t, func(c *ingest.Config) { c.FFmpeg = ffmpeg })
	result, err := ingester.Ingest(t.Context(), writeFile(t, video), "video/mp4")
	if err != nil || result.Doubt == nil {
		t.Errorf("ingest a video that cannot be decoded: got error %v, doubt %v, want no error and a doubt", err, result.Doubt)
	}
}
