package container

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
)

// Format is the content type of a file that this package can read.
type Format string

// The formats.
const (
	JPEG      Format = sortie.ContentTypeJPEG
	PNG       Format = sortie.ContentTypePNG
	WebP      Format = sortie.ContentTypeWebP
	MP4       Format = sortie.ContentTypeMP4
	QuickTime Format = sortie.ContentTypeQuickTime
	WebM      Format = sortie.ContentTypeWebM
)

// Video reports whether f is a video format.
func (f Format) Video() bool { return strings.HasPrefix(string(f), "video/") }

// The codes of a [Problem].
const (
	CodeUnreadable    = "unreadable_media"       // damaged, cut off, or of a structure that is not supported
	CodeUnsupported   = "unsupported_media_type" // not one of the formats, or not the declared one
	CodeTooManyPixels = "too_many_pixels"
	CodeTooLarge      = "too_large"   // more bytes than the limit
	CodeTooComplex    = "too_complex" // needs more memory or CPU time than the limit
)

// Problem is the refusal of a file: the same bytes would be refused again. Its message is for the
// person who sent them.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Code + ": " + p.Message }

func problem(code, format string, args ...any) error {
	return &Problem{Code: code, Message: fmt.Sprintf(format, args...)}
}

func unreadable(format string, args ...any) error { return problem(CodeUnreadable, format, args...) }

// Place is a point on the earth, in degrees.
type Place struct {
	Lat float64 `json:"lat"`
	Lng float64 `json:"lng"`
}

// Metadata is what a file states about its capture. Only the orientation is part of the served
// bytes.
type Metadata struct {
	Orientation int       // of the stored pixels, as in EXIF: 1 to 8
	CapturedAt  time.Time // zero if the file does not state it
	ZoneUnknown bool      // CapturedAt is local time in an unknown zone, written as if it were UTC
	Place       *Place
}

// File is a file that was read to its end.
type File struct {
	Format        Format
	Width, Height int   // as shown, after the orientation is applied
	DecodeBytes   int64 // upper bound of the memory to decode a picture
	Duration      time.Duration
	Keyframes     int
	Metadata

	source *source
	plan   plan
}

// WriteTo writes the bytes to serve.
func (f *File) WriteTo(w io.Writer) (int64, error) { return f.plan.writeTo(w, f.source) }

// Limits of accepted files.
const (
	maxPixels   = 50_000_000
	maxSide     = 65_535 // the maximum of JPEG
	maxDuration = 24 * time.Hour
)

// Inspect reads a file of the given size. It returns a *[Problem] if the file is refused, and any
// other error if reading failed.
func Inspect(r io.ReaderAt, size int64) (*File, error) {
	s := newSource(r, size)
	head, err := s.head(sniffLength)
	if err != nil {
		return nil, err
	}
	format, found := sniff(head)
	if !found {
		return nil, problem(CodeUnsupported, "the file is %s; send a JPEG, PNG or WebP picture, or an MP4, QuickTime or WebM video", describe(head))
	}
	f := &File{Format: format, source: s}
	f.Orientation = 1
	switch format {
	case JPEG:
		err = readJPEG(f)
	case PNG:
		err = readPNG(f)
	case WebP:
		err = readWebP(f)
	case WebM:
		err = readWebM(f)
	default:
		err = readMovie(f)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// setPixels sets the stored dimensions of a picture or a frame and refuses those above the limits.
func (f *File) setPixels(width, height int64) error {
	if width <= 0 || height <= 0 {
		return unreadable("the file has the dimensions %d by %d", width, height)
	}
	if width > maxSide || height > maxSide || width*height > maxPixels {
		return problem(CodeTooManyPixels, "%d by %d pixels; at most %d million are accepted, and %d on a side", width, height, maxPixels/1_000_000, maxSide)
	}
	f.Width, f.Height = int(width), int(height)
	return nil
}

// turnUpright swaps width and height if the orientation includes a quarter turn.
func (f *File) turnUpright() {
	if f.Orientation >= 5 {
		f.Width, f.Height = f.Height, f.Width
	}
}
