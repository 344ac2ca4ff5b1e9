package ingest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"image"
	"image/jpeg"
	"math"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

func newIngester(t testing.TB, change func(*ingest.Config)) *ingest.Ingester {
	t.Helper()
	config := ingest.Config{MemoryLimit: childMemory, TempDir: t.TempDir(), Timeout: 2 * time.Minute}
	if change != nil {
		change(&config)
	}
	return ingest.New(config)
}

func writeFile(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestIngestEveryFormat(t *testing.T) {
	t.Parallel()
	ingester := newIngester(t, nil)
	formats := map[string][]byte{
		"image/jpeg": specimen.JPEG(specimen.Picture(640, 480, 1)), "image/png": specimen.PNG(specimen.Picture(640, 480, 1)), "image/webp": specimen.File("lossy.webp"),
		"video/mp4": specimen.File("fragmented.mp4"), "video/quicktime": specimen.File("plain.mov"), "video/webm": specimen.File("live.webm"),
	}
	for mediaType, data := range formats {
		t.Run(mediaType, func(t *testing.T) {
			t.Parallel()
			result, err := ingester.Ingest(t.Context(), writeFile(t, data), mediaType)
			if err != nil {
				t.Fatal(err)
			}
			served := readFile(t, result.Served)
			if result.UploadedHash != sortie.Hash(sha256.Sum256(data)) || result.ServedHash != sortie.Hash(sha256.Sum256(served)) || result.ServedSize != int64(len(served)) {
				t.Errorf("result has hashes %s and %s and size %d, want those of the uploaded and the served file", result.UploadedHash, result.ServedHash, result.ServedSize)
			}
			video := strings.HasPrefix(mediaType, "video/")
			if result.Type != mediaType || (result.MediaType == sortie.MediaVideo) != video {
				t.Errorf("result has type %s and media type %s, want %s", result.Type, result.MediaType, mediaType)
			}
			if video && (result.Duration < 900*time.Millisecond || result.Keyframes < 1 || result.Thumbnail != "" || result.HasPerceptual) {
				t.Errorf("video: got duration %v, %d key frames, thumbnail %q, perceptual hash %t; want about a second, at least one, none, none", result.Duration, result.Keyframes, result.Thumbnail, result.HasPerceptual)
			}
			if !video {
				checkThumbnail(t, result)
			}
			if err := result.Remove(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(result.Served); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("stat of a removed result: got %v, want that it does not exist", err)
			}
		})
	}
}

func checkThumbnail(t *testing.T, result ingest.Result) {
	t.Helper()
	data := readFile(t, result.Thumbnail)
	thumbnail, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	size := thumbnail.Bounds()
	if max(size.Dx(), size.Dy()) > 512 || (size.Dx() > size.Dy()) != (result.Width > result.Height) {
		t.Errorf("thumbnail of a picture of %dx%d: got %dx%d, want the same shape and at most 512 pixels", result.Width, result.Height, size.Dx(), size.Dy())
	}
	if result.ThumbnailHash != sortie.Hash(sha256.Sum256(data)) || !result.HasPerceptual {
		t.Errorf("thumbnail hash %s, perceptual hash %t; want the hash of the thumbnail and a perceptual hash", result.ThumbnailHash, result.HasPerceptual)
	}
}

func TestIngestRemovesPrivateData(t *testing.T) {
	t.Parallel()
	ingester := newIngester(t, nil)
	for _, planted := range specimen.All() {
		if !planted.HasTime {
			continue
		}
		t.Run(planted.Name, func(t *testing.T) {
			t.Parallel()
			result, err := ingester.Ingest(t.Context(), writeFile(t, planted.Data), planted.Type)
			if err != nil {
				t.Fatal(err)
			}
			if result.Place == nil || result.CapturedAt == nil || !result.CapturedAt.Equal(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)) {
				t.Errorf("got place %v and capture time %v, want a place and 2024-05-01 10:00 UTC", result.Place, result.CapturedAt)
			}
			if result.Width != planted.Width || result.Height != planted.Height {
				t.Errorf("got %dx%d, want %dx%d", result.Width, result.Height, planted.Width, planted.Height)
			}
			files := readFile(t, result.Served)
			if result.Thumbnail != "" {
				files = append(files, readFile(t, result.Thumbnail)...)
			}
			for _, trace := range specimen.Traces() {
				if bytes.Contains(files, trace) {
					t.Errorf("the served file or its thumbnail contains %q", trace)
				}
			}
		})
	}
}

// Thumbnail and hash of a turned picture are like those of the same picture stored upright.
func TestThumbnailsAreUpright(t *testing.T) {
	t.Parallel()
	ingester := newIngester(t, nil)
	picture := specimen.Picture(96, 64, 4)
	upright, err := ingester.Ingest(t.Context(), writeFile(t, specimen.JPEG(picture)), "image/jpeg")
	if err != nil {
		t.Fatal(err)
	}
	for orientation := 1; orientation <= 8; orientation++ {
		stored := specimen.JPEG(storedAs(picture, orientation), specimen.Segment(0xe1, []byte("Exif\x00\x00"), specimen.Exif(binary.LittleEndian, orientation, nil)))
		result, err := ingester.Ingest(t.Context(), writeFile(t, stored), "image/jpeg")
		if err != nil {
			t.Fatal(err)
		}
		if result.Width != 96 || result.Height != 64 {
			t.Errorf("orientation %d: got %dx%d, want 96x64", orientation, result.Width, result.Height)
		}
		if distance := bits.OnesCount64(result.Perceptual ^ upright.Perceptual); distance > 6 {
			t.Errorf("orientation %d: the hash differs in %d bits, want at most 6", orientation, distance)
		}
		if difference := meanDifference(decodeFile(t, result.Thumbnail), decodeFile(t, upright.Thumbnail)); difference > 4 {
			t.Errorf("orientation %d: the thumbnail differs by %.1f per pixel, want at most 4", orientation, difference)
		}
	}
}

func decodeFile(t *testing.T, path string) image.Image {
	t.Helper()
	picture, err := jpeg.Decode(bytes.NewReader(readFile(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// meanDifference is the mean difference between the colours of two pictures, of 255 levels.
func meanDifference(a, b image.Image) float64 {
	if a.Bounds() != b.Bounds() {
		return 255
	}
	var sum, count float64
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			r1, g1, b1, _ := a.At(x, y).RGBA()
			r2, g2, b2, _ := b.At(x, y).RGBA()
			for _, d := range []float64{float64(r1) - float64(r2), float64(g1) - float64(g2), float64(b1) - float64(b2)} {
				sum += math.Abs(d) / 257
				count++
			}
		}
	}
	return sum / count
}

// storedAs returns the pixels that a camera stores for a picture with an orientation.
func storedAs(picture *image.RGBA, orientation int) image.Image {
	width, height := picture.Bounds().Dx(), picture.Bounds().Dy()
	if orientation >= 5 {
		width, height = height, width
	}
	stored := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			// Where each stored pixel is shown.
			shown := map[int][2]int{
				1: {x, y}, 2: {width - 1 - x, y}, 3: {width - 1 - x, height - 1 - y}, 4: {x, height - 1 - y},
				5: {y, x}, 6: {height - 1 - y, x}, 7: {height - 1 - y, width - 1 - x}, 8: {y, width - 1 - x},
			}[orientation]
			stored.SetRGBA(x, y, picture.RGBAAt(shown[0], shown[1]))
		}
	}
	return stored
}

func TestDeclaredTypeMustMatch(t *testing.T) {
	t.Parallel()
	ingester := newIngester(t, nil)
	path := writeFile(t, specimen.PNG(specimen.Picture(10, 10, 1)))
	for _, declared := range []string{"image/jpeg", "video/mp4", "text/html", "", "image/png, image/jpeg", "image/svg+xml"} {
		_, err := ingester.Ingest(t.Context(), path, declared)
		wantProblem(t, err, ingest.ProblemUnsupported)
	}
	if _, err := ingester.Ingest(t.Context(), path, "image/png; charset=binary"); err != nil {
		t.Error(err)
	}
}

func wantProblem(t *testing.T, err error, codes ...string) {
	t.Helper()
	var problem *ingest.Problem
	if !errors.As(err, &problem) {
		t.Fatalf("got %v, want a refusal", err)
	}
	for _, code := range codes {
		if problem.Code == code {
			return
		}
	}
	t.Errorf("refused with %v, want %v", problem, codes)
}

func TestParallelLimit(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	ingester := newIngester(t, func(c *ingest.Config) { c.Parallel, c.Executable = 1, badChild(t, "sleep") })
	ctx, cancel := context.WithCancel(t.Context())
	path := writeFile(t, specimen.JPEG(specimen.Picture(10, 10, 1)))
	first := make(chan error)
	go func() {
		_, err := ingester.Ingest(ctx, path, "image/jpeg")
		first <- err
	}()
	second, cancelSecond := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancelSecond()
	_, err := ingester.Ingest(second, path, "image/jpeg")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second file: got %v, want the deadline exceeded", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first file: got %v, want canceled", err)
	}
}

func TestFFmpegMakesThumbnailsOfVideos(t *testing.T) {
	t.Parallel()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("ffmpeg is not installed: apt-get install ffmpeg")
	}
	ingester := newIngester(t, func(c *ingest.Config) { c.FFmpeg = ffmpeg })
	for name, mediaType := range map[string]string{"plain.mp4": "video/mp4", "phone.mov": "video/quicktime", "live.webm": "video/webm"} {
		result, err := ingester.Ingest(t.Context(), writeFile(t, specimen.File(name)), mediaType)
		if err != nil {
			t.Fatal(err)
		}
		if result.Thumbnail == "" || result.Doubt != nil {
			t.Fatalf("%s: thumbnail %q, doubt %v; want a thumbnail and no doubt", name, result.Thumbnail, result.Doubt)
		}
		checkThumbnail(t, result)
	}
}

func TestMissingFFmpeg(t *testing.T) {
	t.Parallel()
	ingester := newIngester(t, func(c *ingest.Config) { c.FFmpeg = "/nowhere/ffmpeg" })
	result, err := ingester.Ingest(t.Context(), writeFile(t, specimen.File("plain.mp4")), "video/mp4")
	if err != nil || result.Thumbnail != "" || result.Doubt != nil {
		t.Errorf("ingest without ffmpeg: got error %v, thumbnail %q, doubt %v, want none of them", err, result.Thumbnail, result.Doubt)
	}
}

func TestTidyRemovesOldResults(t *testing.T) {
	t.Parallel()
	var dir string
	ingester := newIngester(t, func(c *ingest.Config) { dir = c.TempDir })
	result, err := ingester.Ingest(t.Context(), writeFile(t, specimen.File("plain.mp4")), "video/mp4")
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other-program")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ingester.Tidy(time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	readFile(t, result.Served) // too new to be removed
	if err := ingester.Tidy(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(other) {
		t.Errorf("left over: %v, %v; want only the directory of another program", entries, err)
	}
}
