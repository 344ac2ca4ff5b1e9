package container_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

func TestFilmsAreMeasured(t *testing.T) {
	t.Parallel()
	second := time.Second
	for name, want := range map[string]struct {
		duration  time.Duration
		keyframes int
	}{
		"plain.mp4": {second, 2}, "faststart.mp4": {second, 2}, "fragmented.mp4": {second, 2}, "fragmented-dash.mp4": {second, 2},
		"h265.mp4": {second, 1}, "av1.mp4": {second, 1}, "mpeg4.mp4": {second, 2}, "plain.mov": {second, 2}, "phone.mov": {second, 2},
		"plain.webm": {1007 * time.Millisecond, 2}, "live.webm": {1032 * time.Millisecond, 2}, // the sound begins a little earlier
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, _ := mustClean(t, specimen.File(name))
			if file.Duration != want.duration || file.Keyframes != want.keyframes {
				t.Errorf("%v and %d key frames, want %v and %d", file.Duration, file.Keyframes, want.duration, want.keyframes)
			}
		})
	}
}

// Films are cleaned in place: every byte that stays is where it was.
func TestFilmsAreCleanedInPlace(t *testing.T) {
	t.Parallel()
	for _, planted := range specimen.All() {
		if !strings.HasPrefix(planted.Type, "video/") || strings.Contains(planted.Name, "behind it") {
			continue
		}
		_, served := mustClean(t, planted.Data)
		if len(served) != len(planted.Data) {
			t.Errorf("%s: %d bytes became %d", planted.Name, len(planted.Data), len(served))
		}
	}
}

// A player that we did not write sees and hears the same before and after. It is asked when it is
// installed.
func TestPlayersSeeTheSame(t *testing.T) {
	t.Parallel()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("ffmpeg is not installed: apt-get install ffmpeg")
	}
	films := map[string][]byte{}
	for _, name := range []string{"plain.mp4", "faststart.mp4", "fragmented-dash.mp4", "av1.mp4", "mpeg4.mp4", "plain.mov", "plain.webm"} {
		films[name] = specimen.File(name)
	}
	for _, planted := range specimen.All() {
		for _, telling := range []string{"phone", "camera", "subtitles", "in a fragment", "h265", "vorbis", "large", "beside", "decoder's"} {
			if strings.HasPrefix(planted.Type, "video/") && strings.Contains(planted.Name, telling) {
				films[planted.Name] = planted.Data
			}
		}
	}
	for name, film := range films {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, served := mustClean(t, film)
			before, after := played(t, ffmpeg, film), played(t, ffmpeg, served)
			if before != after || !strings.Contains(before, "MD5=") {
				t.Errorf("before %s, after %s", before, after)
			}
		})
	}
}

func played(t *testing.T, ffmpeg string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "film")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(ffmpeg, "-v", "error", "-i", path, "-map", "0:v:0", "-map", "0:a:0", "-f", "md5", "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(output))
}

// The parts of a fragment that describe a track that goes, go with it.
func TestFragmentsOfDroppedTracksGo(t *testing.T) {
	t.Parallel()
	film := specimen.File("fragmented-subtitles.mp4")
	_, served := mustClean(t, film)
	for _, part := range []string{"trak", "trex", "traf"} {
		before, after := bytes.Count(film, []byte(part)), bytes.Count(served, []byte(part))
		if before < 3 || after >= before {
			t.Errorf("%d parts %s of %d are left", after, part, before)
		}
	}
}

// What says how to show the pictures stays, and what follows a message that goes is read as before.
func TestMessagesThatPlayersNeedStay(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]struct{ was, is string }{
		"brightness":                       {"\x06\x89\x18a volume in 24 letters...\x80", "\x06\x89\x18a volume in 24 letters...\x80"},
		"brightness behind a place":        {"\x06\x05\x03abc\x90\x04four\x80", "\x06\x03\x03\xff\xff\xff\x90\x04four\x80"},
		"behind an escape":                 {"\x06\x04\x03a\x00\x00\x03\x01\x01b\x80", "\x06\x03\x03\xff\x00\x00\x03\x01\x01b\x80"},
		"behind an escape between the two": {"\x06\x04\x02a\x00\x00\x03\x01b\x80", "\x06\x03\x02\xff\x00\x00\x03\x01b\x80"},
		"longer than they can be":          {"\x06\x90\x05five.\x80", "\x06\x03\x05\xff\xff\xff\xff\xff\x80"},
		"filler":                           {"\x0cabc", "\x0c\xff\xff\x80"},
		"of no kind":                       {"\x7cabc", "\x0c\xff\xff\x80"},
	} {
		film := specimen.InSample(specimen.File("plain.mp4"), specimen.Unit([]byte(unit.was)))
		_, served := mustClean(t, film)
		want := bytes.Replace(film, specimen.Unit([]byte(unit.was)), specimen.Unit([]byte(unit.is)), 1)
		if at := bytes.Index(film, specimen.Unit([]byte(unit.was))); !bytes.Equal(served[at:at+4+len(unit.is)], want[at:at+4+len(unit.is)]) {
			t.Errorf("%s: %q is served, want %q", name, served[at+4:at+4+len(unit.is)], unit.is)
		}
	}
}

// Dolby's description of each frame of a phone's film stays; the same kind of unit with anything
// else in it does not.
func TestDolbyVisionStays(t *testing.T) {
	t.Parallel()
	unit := specimen.Unit([]byte("\x7c\x01\x19described"))
	_, served := mustClean(t, specimen.InSample(specimen.File("h265.mp4"), unit))
	if !bytes.Contains(served, unit) {
		t.Error("it is gone")
	}
}

// Decoders of old films make up for the faults of the encoders that they know.
func TestEncodersMarksStay(t *testing.T) {
	t.Parallel()
	mark := []byte("\x00\x00\x01\xb2XviD0069")
	_, served := mustClean(t, specimen.InSample(specimen.File("mpeg4.mp4"), mark))
	if !bytes.Contains(served, mark) {
		t.Error("it is gone")
	}
}
