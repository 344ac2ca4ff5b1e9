package ingest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

// hostileFile is a media file that must be refused, or cleaned. Hostile uploads of valid files are
// tested in package api.
type hostileFile struct {
	name, declared string
	data           func() []byte
	codes          []string // none: accepted, and the strings in gone are not served
	gone           []string
	heavy          bool // reaches the memory limit or takes long to make: skipped with the race detector
}

var (
	unreadable = []string{ingest.ProblemUnreadable}
	wrongType  = []string{ingest.ProblemUnsupported}
	tooMany    = []string{ingest.ProblemTooManyPixels}
)

func is(data []byte) func() []byte { return func() []byte { return data } }

func hostileFiles() []hostileFile {
	return append(append(badPictures(), polyglots()...), badVideos()...)
}

func badPictures() []hostileFile {
	picture := specimen.Picture(64, 48, 1)
	return []hostileFile{
		{name: "empty", declared: "image/jpeg", data: is(nil), codes: unreadable},
		{name: "one byte", declared: "image/jpeg", data: is([]byte{0xff}), codes: wrongType},
		{name: "magic only", declared: "image/jpeg", data: is([]byte{0xff, 0xd8, 0xff}), codes: unreadable},
		{name: "truncated JPEG", declared: "image/jpeg", data: is(specimen.JPEG(picture)[:800]), codes: unreadable},
		{name: "JPEG without its data", declared: "image/jpeg", data: is(append(specimen.JPEG(picture)[:650], 0xff, 0xd9)), codes: unreadable},
		{name: "PNG of 50,000 by 50,000", declared: "image/png", data: is(emptyPNG(50_000, 50_000, 8, 2, 0)), codes: tooMany},
		{name: "PNG that is one line", declared: "image/png", data: is(emptyPNG(40_000_000, 1, 8, 2, 0)), codes: tooMany},
		{name: "JPEG of 65,000 by 65,000", declared: "image/jpeg", data: is(resizedJPEG(65_000, 65_000)), codes: tooMany},
		{heavy: true, name: "compressed text bomb", declared: "image/png", data: func() []byte {
			return specimen.PNG(picture, specimen.Chunk("zTXt", []byte("bomb\x00\x00"), specimen.Deflate(make([]byte, 100<<20))))
		}, gone: []string{"bomb"}},
		{heavy: true, name: "compressed picture bomb", declared: "image/png", data: func() []byte {
			return pngOf(64, 48, 8, 2, 0, specimen.Deflate(make([]byte, 200<<20)))
		}, codes: unreadable},
		{heavy: true, name: "a million chunks", declared: "image/png", data: func() []byte {
			return specimen.PNG(picture, bytes.Repeat(specimen.Chunk("teSt"), 1_000_000))
		}, codes: unreadable},
		{name: "animation of 10,000 frames", declared: "image/png", data: func() []byte {
			frames := bytes.Repeat(append(specimen.Chunk("fcTL", make([]byte, 26)), specimen.Chunk("fdAT", make([]byte, 8))...), 10_000)
			return specimen.PNG(picture, specimen.Chunk("acTL", specimen.Uint32s(10_000, 0)), frames)
		}, codes: unreadable},
		{name: "animated WebP", declared: "image/webp", data: is(specimen.File("animated.webp")), codes: unreadable},
		{name: "GIF of 65,535 by 65,535", declared: "image/png", data: is([]byte("GIF89a\xff\xff\xff\xff\x00\x00\x00;")), codes: wrongType},
		{name: "10,000 scans", declared: "image/jpeg", data: is(manyScans(10_000)), codes: unreadable},
		{name: "CMYK", declared: "image/jpeg", data: is(jpegFrame(8, 4)), codes: unreadable},
		{name: "12 bits", declared: "image/jpeg", data: is(jpegFrame(12, 3)), codes: unreadable},
		{name: "16 bits, interlaced", declared: "image/png", data: is(emptyPNG(1000, 1000, 16, 2, 1)), codes: unreadable},
		{name: "huge canvas", declared: "image/webp", data: is(specimen.RIFF(specimen.RIFFChunk("VP8X", []byte{0, 0, 0, 0, 255, 255, 255, 255, 255, 255}), specimen.File("lossy.webp")[12:])), codes: tooMany},
		{name: "huge lossless picture", declared: "image/webp", data: is(specimen.RIFF(specimen.RIFFChunk("VP8L", []byte{0x2f, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0, 0}))), codes: tooMany},
		{name: "TIFF", declared: "image/jpeg", data: is([]byte("II*\x00\x08\x00\x00\x00")), codes: wrongType},
		{name: "HEIC", declared: "image/jpeg", data: is(specimen.Box("ftyp", []byte("heic\x00\x00\x00\x00mif1heic"))), codes: wrongType},
		{heavy: true, name: "profile of 50 MB", declared: "image/png", data: func() []byte {
			return specimen.PNG(picture, specimen.Chunk("iCCP", []byte("big\x00\x00"), specimen.Deflate(specimen.ICC(50<<20))))
		}, codes: unreadable},
		{heavy: true, name: "profile of 16 MB in pieces", declared: "image/jpeg", data: func() []byte { return specimen.JPEG(picture, longProfile()) }, codes: unreadable},
		{heavy: true, name: "lossless WebP that wants 400 MB", declared: "image/webp", data: is(specimen.RIFF(specimen.RIFFChunk("VP8L", webpHeader(7000, 7000)))), codes: tooMany},
		{heavy: true, name: "progressive JPEG that wants 375 MB", declared: "image/jpeg", data: is(progressive(8000, 6000)), codes: tooMany},
		{heavy: true, name: "PNG of 49 million pixels in 50 KB", declared: "image/png", data: func() []byte {
			return pngOf(7000, 7000, 8, 2, 0, specimen.Deflate(make([]byte, 7000*(1+3*7000))))
		}},
		{heavy: true, name: "JPEG of 48 million pixels", declared: "image/jpeg", data: func() []byte { return specimen.JPEG(image.NewGray(image.Rect(0, 0, 8000, 6000))) }},
	}
}

func polyglots() []hostileFile {
	picture := specimen.Picture(64, 48, 1)
	script := []byte("<script>alert(1)</script>")
	return []hostileFile{
		{name: "SVG", declared: "image/png", data: is([]byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`)), codes: wrongType},
		{name: "SVG declared as one", declared: "image/svg+xml", data: is([]byte("<svg/>")), codes: wrongType},
		{name: "page named .jpg", declared: "image/jpeg", data: is([]byte("<!doctype html><html>")), codes: wrongType},
		{name: "JPEG with a page after it", declared: "image/jpeg", data: is(append(specimen.JPEG(picture), script...)), gone: []string{"<script>"}},
		{name: "JPEG with a page in a comment", declared: "image/jpeg", data: is(specimen.JPEG(picture, specimen.Segment(0xfe, script))), gone: []string{"<script>"}},
		{name: "JPEG and PDF", declared: "image/jpeg", data: is(append(specimen.JPEG(picture, specimen.Segment(0xe5, []byte("%PDF-1.4 obj"))), "%%EOF"...)), gone: []string{"%PDF", "%%EOF"}},
		{name: "PDF with a JPEG in it", declared: "image/jpeg", data: is(append([]byte("%PDF-1.4\n"), specimen.JPEG(picture)...)), codes: wrongType},
		{name: "ZIP after a PNG", declared: "image/png", data: is(append(specimen.PNG(picture), "PK\x03\x04evil"...)), gone: []string{"PK\x03\x04", "evil"}},
		{name: "ZIP among the data of a PNG", declared: "image/png", data: is(specimen.AfterData(specimen.PNG(picture), specimen.Chunk("IDAT"), specimen.Chunk("IDAT", []byte("PK\x03\x04evil")), specimen.Chunk("IDAT", []byte("PK\x05\x06")))), gone: []string{"PK", "evil"}},
		{name: "ZIP after the data of a PNG in one piece", declared: "image/png", data: func() []byte {
			return pngOf(8, 8, 8, 0, 0, append(specimen.Deflate(make([]byte, 8*9)), "PK\x03\x04evil"...))
		}, gone: []string{"PK", "evil"}},
		{name: "ZIP after a video", declared: "video/mp4", data: is(append(specimen.File("plain.mp4"), "PK\x03\x04\x14\x00\x00\x00\x08\x00"...)), codes: unreadable},
		{name: "ZIP after a WebM", declared: "video/webm", data: is(append(specimen.File("plain.webm"), "PK\x03\x04evil"...)), gone: []string{"evil"}},
		{name: "GIF and script", declared: "image/jpeg", data: is([]byte("GIF89a/*\x00\x00*/=1;alert(1)")), codes: wrongType},
		{name: "turned, with another picture inside", declared: "image/jpeg", data: func() []byte {
			inside := specimen.JPEG(specimen.Picture(16, 16, 9), specimen.Segment(0xfe, []byte("another picture")))
			return specimen.JPEG(picture, specimen.Segment(0xe1, []byte("Exif\x00\x00"), specimen.Exif(binary.BigEndian, 6, inside)))
		}, gone: []string{"another picture"}},
	}
}

// emptyPNG is a PNG without the pixels that its header announces.
func emptyPNG(width, height uint32, depth, colour, interlace byte) []byte {
	return pngOf(width, height, depth, colour, interlace, specimen.Deflate(nil))
}

func pngOf(width, height uint32, depth, colour, interlace byte, data []byte) []byte {
	header := specimen.Chunk("IHDR", specimen.Uint32s(width, height), []byte{depth, colour, 0, 0, interlace})
	return bytes.Join([][]byte{[]byte("\x89PNG\r\n\x1a\n"), header, specimen.Chunk("IDAT", data), specimen.Chunk("IEND")}, nil)
}

// resizedJPEG is a small picture with other dimensions in its header.
func resizedJPEG(width, height uint16) []byte {
	data := specimen.JPEG(specimen.Picture(16, 16, 1))
	frame := data[bytes.Index(data, []byte{0xff, 0xc0}):]
	binary.BigEndian.PutUint16(frame[5:], height)
	binary.BigEndian.PutUint16(frame[7:], width)
	return data
}

func progressive(width, height uint16) []byte {
	data := resizedJPEG(width, height)
	data[bytes.Index(data, []byte{0xff, 0xc0})+1] = 0xc2
	return data
}

func manyScans(scans int) []byte {
	data := specimen.JPEG(specimen.Picture(16, 16, 1))
	scan := data[bytes.Index(data, []byte{0xff, 0xda}) : len(data)-2]
	return append(append(data[:len(data)-2:len(data)-2], bytes.Repeat(scan, scans)...), 0xff, 0xd9)
}

func jpegFrame(precision, components byte) []byte {
	frame := append([]byte{precision, 0, 8, 0, 8, components}, bytes.Repeat([]byte{1, 0x11, 0}, int(components))...)
	return append(append([]byte{0xff, 0xd8}, specimen.Segment(0xc0, frame)...), 0xff, 0xda, 0, 2, 0, 0, 0xff, 0xd9)
}

func longProfile() (segments []byte) {
	for part := 1; part <= 255; part++ {
		segments = append(segments, specimen.Segment(0xe2, []byte("ICC_PROFILE\x00"), []byte{byte(part), 255}, make([]byte, 65_000))...)
	}
	return segments
}

func webpHeader(width, height uint32) []byte {
	bits := width - 1 | (height-1)<<14
	return append([]byte{0x2f, byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)}, make([]byte, 16)...)
}

// TestHostileFiles runs alone and its cases in sequence, because it measures the memory of this
// process.
func TestHostileFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts a process for each hostile file")
	}
	ingester := newIngester(t, func(c *ingest.Config) { c.MaxBytes = 64 << 20 })
	for _, row := range hostileFiles() {
		t.Run(row.name, func(t *testing.T) {
			if row.heavy && raceDetector {
				t.Skip("too heavy with the race detector")
			}
			path := writeFile(t, row.data())
			debug.FreeOSMemory() // a child inherits the peak memory of its parent
			var peak int64
			ingester.OnChildEnd(func(state *os.ProcessState) { peak = peakMemory(state) })
			before := allocatedHere()
			result, err := ingester.Ingest(t.Context(), path, row.declared)
			if spent := allocatedHere() - before; spent > 1<<20 {
				t.Errorf("the service allocated %d bytes, want at most 1 MiB", spent)
			}
			if !raceDetector && peak > childMemory+80<<20 {
				t.Errorf("the child used %d MiB, want at most %d", peak>>20, (childMemory+80<<20)>>20)
			}
			checkVerdict(t, row, result, err)
		})
	}
}

func checkVerdict(t *testing.T, row hostileFile, result ingest.Result, err error) {
	t.Helper()
	if len(row.codes) > 0 {
		wantProblem(t, err, row.codes...)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	served := readFile(t, result.Served)
	for _, gone := range row.gone {
		if bytes.Contains(served, []byte(gone)) {
			t.Errorf("%q is served", gone)
		}
	}
	if err := result.Remove(); err != nil {
		t.Error(err)
	}
}

func allocatedHere() uint64 {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.TotalAlloc
}

// The size is checked before the file is opened.
func TestTooLargeFilesAreNotOpened(t *testing.T) {
	t.Parallel()
	ingester := newIngester(t, func(c *ingest.Config) { c.MaxBytes, c.Executable = 100, "/nowhere" })
	_, err := ingester.Ingest(t.Context(), writeFile(t, make([]byte, 101)), "image/jpeg")
	wantProblem(t, err, ingest.ProblemTooLarge)
}

// A file that was cut off is refused, wherever it was cut.
func TestCutOffFilesAreRefused(t *testing.T) {
	t.Parallel()
	ingester := newIngester(t, nil)
	whole := map[string][]byte{
		"image/jpeg": specimen.JPEG(specimen.Picture(64, 48, 1)), "image/png": specimen.PNG(specimen.Picture(64, 48, 1)), "image/webp": specimen.File("lossy.webp"),
		"video/mp4": specimen.File("plain.mp4"), "video/quicktime": specimen.File("plain.mov"), "video/webm": specimen.File("plain.webm"),
	}
	for mediaType, data := range whole {
		for _, percent := range []int{50, 99} {
			_, err := ingester.Ingest(t.Context(), writeFile(t, data[:len(data)*percent/100]), mediaType)
			var problem *ingest.Problem
			if !errors.As(err, &problem) {
				t.Errorf("%s cut at %d %%: got %v, want a *Problem", mediaType, percent, err)
			}
		}
	}
}

// Messages of refusals are sentences without control characters and paths.
func TestProblemMessages(t *testing.T) {
	t.Parallel()
	ingester := newIngester(t, nil)
	for _, row := range polyglots() {
		_, err := ingester.Ingest(t.Context(), writeFile(t, row.data()), row.declared)
		var problem *ingest.Problem
		if errors.As(err, &problem) && (len(problem.Message) < 15 || strings.ContainsAny(problem.Message, "\n\x1b") || strings.Contains(problem.Message, t.TempDir())) {
			t.Errorf("%s: message %q, want a sentence without control characters and paths", row.name, problem.Message)
		}
	}
}
