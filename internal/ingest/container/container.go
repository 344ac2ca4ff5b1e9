package container

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
)

// Format is the media type of a file that this package can walk.
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

// Video reports whether f is a moving picture.
func (f Format) Video() bool { return strings.HasPrefix(string(f), "video/") }

// The codes of a [Problem].
const (
	CodeUnreadable    = "unreadable_media"       // damaged, cut off, or built in a way nobody needs
	CodeUnsupported   = "unsupported_media_type" // not one of the formats, or not the one that was declared
	CodeTooManyPixels = "too_many_pixels"
	CodeTooLarge      = "too_large"   // more bytes than are taken
	CodeTooComplex    = "too_complex" // asks for more memory or computing time than a file is given
)

// Problem is a refusal of a file: sending the same bytes again ends the same way. Its message is
// for the person who sent them.
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

// Place is a point on the earth in degrees.
type Place struct {
	Lat float64 `json:"lat"`
	Lng float64 `json:"lng"`
}

// Metadata is what a file says about its making. None of it is in the served bytes, except how to
// turn the picture.
type Metadata struct {
	Orientation int       // how to turn the stored pixels upright, as EXIF counts: 1 to 8
	CapturedAt  time.Time // zero when the file does not say
	ZoneUnknown bool      // CapturedAt is a wall clock's reading at a place whose zone the file does not tell, written as if it were UTC
	Place       *Place
}

// File is a file that was walked to its end.
type File struct {
	Format        Format
	Width, Height int   // as shown: a picture on its side is turned upright first
	DecodeBytes   int64 // pictures: the memory that decoding takes, at most
	Duration      time.Duration
	Keyframes     int
	Metadata

	source *source
	plan   plan
}

// WriteTo writes the bytes that are served in place of the file.
func (f *File) WriteTo(w io.Writer) (int64, error) { return f.plan.writeTo(w, f.source) }

// ServedSize is the number of bytes that WriteTo writes.
func (f *File) ServedSize() int64 { return f.plan.size }

// Limits of what is walked at all.
const (
	maxPixels   = 50_000_000
	maxSide     = 65_535 // the longest that a JPEG can have
	maxDuration = 24 * time.Hour
)

// Inspect walks a file of the given size. It returns a *[Problem] when the file is refused, and any
// other error when reading failed.
func Inspect(r io.ReaderAt, size int64) (*File, error) {
	s := newSource(r, size)
	head, err := s.head(sniffLength)
	if err != nil {
		return nil, err
	}
	format, found := Sniff(head)
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

// setPixels takes the stored dimensions of a picture or a frame and refuses what is too large to
// look at.
func (f *File) setPixels(width, height int64) error {
	if width <= 0 || height <= 0 {
		return unreadable("the file says that it is %d by %d pixels", width, height)
	}
	if width > maxSide || height > maxSide || width*height > maxPixels {
		return problem(CodeTooManyPixels, "%d by %d pixels; at most %d million are taken, and %d on a side", width, height, maxPixels/1_000_000, maxSide)
	}
	f.Width, f.Height = int(width), int(height)
	return nil
}

// turnUpright swaps the dimensions of a picture whose orientation lays it on its side.
func (f *File) turnUpright() {
	if f.Orientation >= 5 {
		f.Width, f.Height = f.Height, f.Width
	}
}
