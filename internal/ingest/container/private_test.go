package container_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bep/imagemeta"
	"golang.org/x/image/webp"

	"github.com/sortie-labs/sortie/internal/ingest/container"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

// clean returns the bytes to serve.
func clean(data []byte) (*container.File, []byte, error) {
	file, err := container.Inspect(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, nil, err
	}
	var served bytes.Buffer
	n, err := file.WriteTo(&served)
	if err == nil && (n != int64(served.Len()) || n != file.ServedSize()) {
		err = fmt.Errorf("WriteTo wrote %d bytes and returned %d, want %d", served.Len(), n, file.ServedSize())
	}
	return file, served.Bytes(), err
}

func mustClean(t testing.TB, data []byte) (*container.File, []byte) {
	t.Helper()
	file, served, err := clean(data)
	if err != nil {
		t.Fatal(err)
	}
	return file, served
}

func TestNothingPrivateIsServed(t *testing.T) {
	t.Parallel()
	for _, planted := range specimen.All() {
		t.Run(planted.Name, func(t *testing.T) {
			t.Parallel()
			if !holdsTrace(planted.Data) {
				t.Fatal("the specimen has no trace of private data")
			}
			_, served := mustClean(t, planted.Data)
			for _, trace := range specimen.Traces() {
				if at := bytes.Index(served, trace); at >= 0 {
					t.Errorf("%q is served at offset %d", trace, at)
				}
			}
		})
	}
}

func holdsTrace(data []byte) bool {
	for _, trace := range specimen.Traces() {
		if bytes.Contains(data, trace) {
			return true
		}
	}
	return false
}

// An independent reader of metadata finds only the orientation in served pictures.
func TestImagemetaFindsOnlyTheOrientation(t *testing.T) {
	t.Parallel()
	formats := map[string]imagemeta.ImageFormat{"image/jpeg": imagemeta.JPEG, "image/png": imagemeta.PNG, "image/webp": imagemeta.WebP}
	for _, planted := range specimen.All() {
		format, picture := formats[planted.Type]
		if !picture {
			continue
		}
		t.Run(planted.Name, func(t *testing.T) {
			t.Parallel()
			before := readTags(t, format, planted.Data)
			if planted.Name == "webp alpha with all" || planted.Name == "webp exif as in a JPEG" {
				t.Skip("imagemeta does not skip the padding of odd chunks, and does not know this form of EXIF")
			}
			if planted.HasPlace && before["GPSLatitude"] == nil {
				t.Errorf("imagemeta finds no location in the specimen, so it would miss one in the served bytes; it found %v", before)
			}
			_, served := mustClean(t, planted.Data)
			after := readTags(t, format, served)
			if planted.Orientation != 1 {
				if got := fmt.Sprint(after["Orientation"]); got != fmt.Sprint(planted.Orientation) {
					t.Errorf("served orientation %s, want %d", got, planted.Orientation)
				}
				delete(after, "Orientation")
			}
			if len(after) > 0 {
				t.Errorf("imagemeta finds %v in the served picture, want only the orientation", after)
			}
		})
	}
}

func readTags(t testing.TB, format imagemeta.ImageFormat, data []byte) map[string]any {
	t.Helper()
	tags := map[string]any{}
	_, err := imagemeta.Decode(imagemeta.Options{
		R: bytes.NewReader(data), ImageFormat: format, Sources: imagemeta.EXIF | imagemeta.IPTC | imagemeta.XMP,
		HandleTag: func(tag imagemeta.TagInfo) error {
			tags[tag.Tag] = tag.Value
			return nil
		},
	})
	if err != nil {
		t.Logf("imagemeta: %v", err)
	}
	return tags
}

// exiftool, if installed, knows more locations of metadata than any other reader.
func TestExiftoolFindsNoLocation(t *testing.T) {
	t.Parallel()
	exiftool, err := exec.LookPath("exiftool")
	if err != nil {
		t.Skip("exiftool is not installed: apt-get install libimage-exiftool-perl")
	}
	dir := t.TempDir()
	for i, planted := range specimen.All() {
		_, served := mustClean(t, planted.Data)
		_, extension, _ := strings.Cut(planted.Type, "/")
		extension = strings.Replace(extension, "quicktime", "mov", 1)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.%s", i, extension)), served, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	output, err := exec.Command(exiftool, "-ee3", "-a", "-u", "-G1", "-json", "-r", "-api", "LargeFileSupport=1", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	var files []map[string]any
	if err := json.Unmarshal(output, &files); err != nil {
		t.Fatal(err)
	}
	if len(files) != len(specimen.All()) {
		t.Fatalf("exiftool read %d files, want %d", len(files), len(specimen.All()))
	}
	for _, tags := range files {
		for name, value := range tags {
			text := fmt.Sprint(value)
			if strings.Contains(name, "GPS") || strings.Contains(text, specimen.Secret) || strings.Contains(text, "48.85") || strings.HasSuffix(name, "Warning") {
				t.Errorf("exiftool finds private data in %v: %s = %s", tags["SourceFile"], name, text)
			}
		}
	}
}

func TestFactsOfFiles(t *testing.T) {
	t.Parallel()
	captured := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)
	for _, planted := range specimen.All() {
		t.Run(planted.Name, func(t *testing.T) {
			t.Parallel()
			file, _ := mustClean(t, planted.Data)
			if string(file.Format) != planted.Type || file.Width != planted.Width || file.Height != planted.Height || file.Orientation != planted.Orientation {
				t.Errorf("got %s %dx%d turned %d, want %s %dx%d turned %d", file.Format, file.Width, file.Height, file.Orientation,
					planted.Type, planted.Width, planted.Height, planted.Orientation)
			}
			if planted.HasPlace != (file.Place != nil) {
				t.Fatalf("place %v, want one: %t", file.Place, planted.HasPlace)
			}
			if file.Place != nil && (math.Abs(file.Place.Lat-specimen.Lat) > 1e-4 || math.Abs(file.Place.Lng-specimen.Lng) > 1e-4) {
				t.Errorf("place %v, want %v, %v", *file.Place, specimen.Lat, specimen.Lng)
			}
			if planted.HasTime && (!file.CapturedAt.Equal(captured) || file.ZoneUnknown) {
				t.Errorf("captured at %v (zone unknown: %v), want %v", file.CapturedAt, file.ZoneUnknown, captured)
			}
		})
	}
}

// Cleaning keeps the pixels, and cleaning again changes nothing.
func TestCleaningKeepsPixels(t *testing.T) {
	t.Parallel()
	for _, planted := range specimen.All() {
		t.Run(planted.Name, func(t *testing.T) {
			t.Parallel()
			first, served := mustClean(t, planted.Data)
			second, again := mustClean(t, served)
			if !bytes.Equal(served, again) {
				t.Error("cleaning the served file again changes its bytes")
			}
			if first.Width != second.Width || first.Height != second.Height || first.Duration != second.Duration || first.Keyframes != second.Keyframes {
				t.Errorf("served file: %dx%d, %v, %d key frames; want %dx%d, %v, %d", second.Width, second.Height, second.Duration, second.Keyframes, first.Width, first.Height, first.Duration, first.Keyframes)
			}
			if second.Place != nil || !second.CapturedAt.IsZero() {
				t.Errorf("served file has place %v and capture time %v, want none", second.Place, second.CapturedAt)
			}
			if first.Format.Video() {
				return
			}
			before, err := decode(first.Format, planted.Data)
			if err != nil {
				t.Fatal(err)
			}
			after, err := decode(first.Format, served)
			if err != nil {
				t.Fatal(err)
			}
			if !samePixels(before, after) {
				t.Error("served pixels differ from the uploaded ones")
			}
		})
	}
}

func decode(format container.Format, data []byte) (image.Image, error) {
	switch format {
	case container.JPEG:
		return jpeg.Decode(bytes.NewReader(data))
	case container.PNG:
		return png.Decode(bytes.NewReader(data))
	case container.WebP:
		return webp.Decode(bytes.NewReader(data))
	}
	return nil, errors.New("not a picture")
}

func samePixels(a, b image.Image) bool {
	if a.Bounds() != b.Bounds() {
		return false
	}
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y; y++ {
		for x := a.Bounds().Min.X; x < a.Bounds().Max.X; x++ {
			r1, g1, b1, a1 := a.At(x, y).RGBA()
			r2, g2, b2, a2 := b.At(x, y).RGBA()
			if r1 != r2 || g1 != g2 || b1 != b2 || a1 != a2 {
				return false
			}
		}
	}
	return true
}

// The smallest interlaced pictures have the most lines for their pixels.
func TestInterlacedPicturesAreAccepted(t *testing.T) {
	t.Parallel()
	passes := [][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}} // first column and line, and steps
	for width := 1; width < 20; width++ {
		for height := 1; height < 20; height++ {
			var raw []byte
			for _, pass := range passes {
				columns, lines := (width-pass[0]+pass[2]-1)/pass[2], (height-pass[1]+pass[3]-1)/pass[3]
				if columns > 0 && lines > 0 {
					raw = append(raw, make([]byte, lines*(1+(columns+7)/8))...)
				}
			}
			header := specimen.Chunk("IHDR", specimen.Uint32s(uint32(width), uint32(height)), []byte{1, 0, 0, 0, 1})
			data := bytes.Join([][]byte{[]byte("\x89PNG\r\n\x1a\n"), header, specimen.Chunk("IDAT", specimen.Deflate(raw)), specimen.Chunk("IEND")}, nil)
			_, served := mustClean(t, data)
			if _, err := png.Decode(bytes.NewReader(served)); err != nil {
				t.Errorf("decode the served picture of %d by %d: %v", width, height, err)
			}
		}
	}
}
