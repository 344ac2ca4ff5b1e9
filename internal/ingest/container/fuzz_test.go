package container_test

import (
	"bytes"
	"errors"
	"math"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie/internal/ingest/container"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

// checkHostile checks what must hold for any bytes: they are refused with a reason or cleaned, in
// memory proportional to their length, and the cleaned file is clean.
func checkHostile(t *testing.T, data []byte) {
	t.Helper()
	before := allocated()
	file, served, err := clean(data)
	const each, fixed = 80, 2 << 20 // windows and buffers, for the smallest file too
	if spent := allocated() - before; spent > uint64(each*len(data)+fixed) {
		t.Fatalf("reading %d bytes allocated %d, want at most %d", len(data), spent, each*len(data)+fixed)
	}
	if err != nil {
		var problem *container.Problem
		if !errors.As(err, &problem) || problem.Message == "" {
			t.Fatalf("got error %v, want a *Problem with a message", err)
		}
		return
	}
	if file.Width <= 0 || file.Height <= 0 || file.Width*file.Height > 50_000_000 || file.Duration < 0 || file.Keyframes < 0 {
		t.Fatalf("accepted with %dx%d, %v, %d key frames", file.Width, file.Height, file.Duration, file.Keyframes)
	}
	if place := file.Place; place != nil && (math.Abs(place.Lat) > 90 || math.Abs(place.Lng) > 180) {
		t.Fatalf("place %v is not on the earth", *place)
	}
	again, servedAgain, err := clean(served)
	if err != nil {
		t.Fatalf("the served file is refused: %v", err)
	}
	if !bytes.Equal(served, servedAgain) {
		t.Fatal("cleaning the served file again changes its bytes")
	}
	if again.Place != nil {
		t.Fatal("the served file has a place")
	}
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// fuzzFormat fuzzes files, seeded with the planted ones of a format.
func fuzzFormat(f *testing.F, prefix string) {
	for _, planted := range specimen.All() {
		if strings.HasPrefix(planted.Type, prefix) {
			f.Add(planted.Data)
		}
	}
	f.Fuzz(checkHostile)
}

func FuzzJPEG(f *testing.F) { fuzzFormat(f, "image/jpeg") }
func FuzzPNG(f *testing.F)  { fuzzFormat(f, "image/png") }
func FuzzWebP(f *testing.F) { fuzzFormat(f, "image/webp") }
func FuzzWebM(f *testing.F) { fuzzFormat(f, "video/webm") }

func FuzzMovie(f *testing.F) {
	for _, name := range []string{"plain.mp4", "faststart.mp4", "fragmented.mp4", "fragmented-dash.mp4", "h265.mp4", "av1.mp4", "mpeg4.mp4", "plain.mov"} {
		f.Add(specimen.File(name))
	}
	fuzzFormat(f, "video/")
}

// FuzzExif fuzzes the EXIF block and the XMP packet of a valid picture.
func FuzzExif(f *testing.F) {
	for _, planted := range specimen.All() {
		if at := bytes.Index(planted.Data, []byte("Exif\x00\x00")); at >= 0 && planted.Type == "image/jpeg" {
			f.Add(planted.Data[at+6:min(len(planted.Data), at+600)], specimen.XMP())
		}
	}
	picture := specimen.Picture(8, 8, 3)
	f.Fuzz(func(t *testing.T, exif, xmp []byte) {
		if len(exif) > 60_000 || len(xmp) > 60_000 {
			t.Skip("longer than a segment")
		}
		data := specimen.JPEG(picture, specimen.Segment(0xe1, []byte("Exif\x00\x00"), exif), specimen.Segment(0xe1, []byte("http://ns.adobe.com/xap/1.0/\x00"), xmp))
		checkHostile(t, data)
		if _, _, err := clean(data); err != nil {
			t.Fatalf("the picture is refused because of metadata that is dropped: %v", err)
		}
	})
}
