package ingest_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

// The real program is larger than this test, has more threads, and links a C library: the limits
// must leave it enough memory for the largest pictures.
func TestRealProgramAsAChild(t *testing.T) {
	t.Parallel()
	if testing.Short() || raceDetector {
		t.Skip("builds the program")
	}
	program := filepath.Join(t.TempDir(), "sortie")
	if output, err := exec.Command("go", "build", "-o", program, "../../cmd/sortie").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v: %s", err, output)
	}
	ingester := newIngester(t, func(c *ingest.Config) { c.Executable = program })
	for name, file := range map[string]struct {
		mediaType string
		data      func() []byte
	}{
		"48 million pixels in a JPEG":    {"image/jpeg", func() []byte { return noisyJPEG(t, 8000, 6000) }},
		"49 million pixels in a PNG":     {"image/png", func() []byte { return pngOf(7000, 7000, 8, 2, 0, specimen.Deflate(make([]byte, 7000*(1+3*7000)))) }},
		"as a phone leaves it":           {"video/quicktime", func() []byte { return specimen.File("phone.mov") }},
		"25 million pixels with 16 bits": {"image/png", func() []byte { return pngOf(5000, 5000, 16, 2, 0, specimen.Deflate(make([]byte, 5000*(1+6*5000)))) }},
	} {
		if _, err := ingester.Ingest(t.Context(), writeFile(t, file.data()), file.mediaType); err != nil {
			t.Errorf("ingest %s: %v", name, err)
		}
	}
	if err := exec.Command(program, ingest.ChildArgument).Run(); err == nil {
		t.Error("a child without a request: got no error, want one")
	}
}

// noisyJPEG is a picture of the size and detail of a phone's.
func noisyJPEG(t *testing.T, width, height int) []byte {
	t.Helper()
	picture := image.NewYCbCr(image.Rect(0, 0, width, height), image.YCbCrSubsampleRatio420)
	for i := range picture.Y {
		picture.Y[i] = byte(i * i >> 9)
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, picture, nil); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}
