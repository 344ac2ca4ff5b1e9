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

func TestVideoDurationsAndKeyframes(t *testing.T) {
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

// Videos are cleaned in place: the length and all offsets stay the same.
func TestVideosAreCleanedInPlace(t *testing.T) {
	t.Parallel()
	for _, planted := range specimen.All() {
		if !strings.HasPrefix(planted.Type, "video/") || strings.Contains(planted.Name, "after it") {
			continue
		}
		_, served := mustClean(t, planted.Data)
		if len(served) != len(planted.Data) {
			t.Errorf("%s: %d bytes became %d", planted.Name, len(planted.Data), len(served))
		}
	}
}

// ffmpeg, if installed, must decode the same pictures and sound before and after.
func TestFFmpegDecodesTheSameAfterCleaning(t *testing.T) {
	t.Parallel()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("ffmpeg is not installed: apt-get install ffmpeg")
	}
	videos := map[string][]byte{}
	for _, name := range []string{"plain.mp4", "faststart.mp4", "fragmented-dash.mp4", "av1.mp4", "mpeg4.mp4", "plain.mov", "plain.webm"} {
		videos[name] = specimen.File(name)
	}
	for _, planted := range specimen.All() {
		for _, part := range []string{"phone", "camera", "subtitles", "in a fragment", "h265", "vorbis", "large", "inside samples", "decoder's"} {
			if strings.HasPrefix(planted.Type, "video/") && strings.Contains(planted.Name, part) {
				videos[planted.Name] = planted.Data
			}
		}
	}
	for name, video := range videos {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, served := mustClean(t, video)
			before, after := decodedMD5(t, ffmpeg, video), decodedMD5(t, ffmpeg, served)
			if before != after || !strings.Contains(before, "MD5=") {
				t.Errorf("ffmpeg decoded %s from the served file, want %s", after, before)
			}
		})
	}
}

func decodedMD5(t *testing.T, ffmpeg string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "video")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(ffmpeg, "-v", "error", "-i", path, "-map", "0:v:0", "-map", "0:a:0", "-f", "md5", "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(output))
}

// The boxes of a dropped track are dropped from every fragment.
func TestFragmentsOfDroppedTracksAreDropped(t *testing.T) {
	t.Parallel()
	video := specimen.File("fragmented-subtitles.mp4")
	_, served := mustClean(t, video)
	for _, part := range []string{"trak", "trex", "traf"} {
		before, after := bytes.Count(video, []byte(part)), bytes.Count(served, []byte(part))
		if before < 3 || after >= before {
			t.Errorf("%d boxes %s are served, want fewer than %d and at least 3 before", after, part, before)
		}
	}
}

// Messages that define how to show pictures are kept, also after a dropped message.
func TestMessagesForDisplayAreKept(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]struct{ was, is string }{
		"brightness":                      {"\x06\x89\x18a volume in 24 letters...\x80", "\x06\x89\x18a volume in 24 letters...\x80"},
		"brightness after a location":     {"\x06\x05\x03abc\x90\x04four\x80", "\x06\x03\x03\xff\xff\xff\x90\x04four\x80"},
		"after an escape":                 {"\x06\x04\x03a\x00\x00\x03\x01\x01b\x80", "\x06\x03\x03\xff\x00\x00\x03\x01\x01b\x80"},
		"after an escape between the two": {"\x06\x04\x02a\x00\x00\x03\x01b\x80", "\x06\x03\x02\xff\x00\x00\x03\x01b\x80"},
		"longer than the maximum":         {"\x06\x90\x05five.\x80", "\x06\x03\x05\xff\xff\xff\xff\xff\x80"},
		"filler":                          {"\x0cabc", "\x0c\xff\xff\x80"},
		"of unknown kind":                 {"\x7cabc", "\x0c\xff\xff\x80"},
	} {
		video := specimen.InSample(specimen.File("plain.mp4"), specimen.Unit([]byte(unit.was)))
		_, served := mustClean(t, video)
		want := bytes.Replace(video, specimen.Unit([]byte(unit.was)), specimen.Unit([]byte(unit.is)), 1)
		if at := bytes.Index(video, specimen.Unit([]byte(unit.was))); !bytes.Equal(served[at:at+4+len(unit.is)], want[at:at+4+len(unit.is)]) {
			t.Errorf("%s: served %q, want %q", name, served[at+4:at+4+len(unit.is)], unit.is)
		}
	}
}

// Dolby metadata of phones is kept; a unit of the same kind with other data is not.
func TestDolbyMetadataIsKept(t *testing.T) {
	t.Parallel()
	unit := specimen.Unit([]byte("\x7c\x01\x19described"))
	_, served := mustClean(t, specimen.InSample(specimen.File("h265.mp4"), unit))
	if !bytes.Contains(served, unit) {
		t.Error("the Dolby unit is not served")
	}
}

// Decoders work around the bugs of encoders that they recognize by these marks.
func TestEncoderMarksAreKept(t *testing.T) {
	t.Parallel()
	mark := []byte("\x00\x00\x01\xb2XviD0069")
	_, served := mustClean(t, specimen.InSample(specimen.File("mpeg4.mp4"), mark))
	if !bytes.Contains(served, mark) {
		t.Error("the encoder's mark is not served")
	}
}
