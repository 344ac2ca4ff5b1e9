package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
	"github.com/sortie-labs/sortie/internal/ingest/container"
)

// Problem is the refusal of a file: the same bytes would be refused again. Its message is for the
// person who sent them.
type Problem = container.Problem

// The codes of a [Problem].
const (
	ProblemUnreadable    = container.CodeUnreadable
	ProblemUnsupported   = container.CodeUnsupported
	ProblemTooManyPixels = container.CodeTooManyPixels
	ProblemTooLarge      = container.CodeTooLarge
	ProblemTooComplex    = container.CodeTooComplex
)

// Place is a point on the earth, in degrees.
type Place = container.Place

// Config configures an [Ingester]. The zero value works.
type Config struct {
	Executable  string        // the program that calls [ChildMain] when started with [ChildArgument]; this program, if empty
	MaxBytes    int64         // of a file; [sortie.MaxUploadBytes], if 0
	MemoryLimit int64         // of the child; 256 MiB, if 0
	CPUTime     time.Duration // CPU time for one file, in whole seconds; 20 s, if 0
	Timeout     time.Duration // wall-clock time for one file; a minute, if 0
	FFmpeg      string        // the program that extracts a still from a video; videos get no thumbnails, if empty
	Parallel    int           // number of files read at a time; 2, if 0
	Isolation   Isolation     // of the processes that read files; required, if 0
	TempDir     string        // directory of results; the system's, if empty
}

// Result holds the facts of a file and the paths of the files to serve.
type Result struct {
	Type          string // one of [sortie.ContentTypes]
	MediaType     sortie.MediaType
	UploadedHash  sortie.Hash // SHA-256 of the uploaded file
	ServedHash    sortie.Hash // SHA-256 of the served bytes
	Served        string      // path of the file to serve
	Thumbnail     string      // path of a JPEG of at most 512 pixels; empty if there is none
	ThumbnailHash sortie.Hash // SHA-256 of the thumbnail
	ServedSize    int64
	Width, Height int // as shown, after the orientation is applied
	Duration      time.Duration
	Keyframes     int
	Perceptual    uint64
	HasPerceptual bool       // false: the picture has too little detail, or there is no picture
	CapturedAt    *time.Time // as the file states
	ZoneUnknown   bool       // CapturedAt is local time in an unknown zone, written as if it were UTC
	Place         *Place     // as the file states; not in the served bytes
	Doubt         *Problem   // why the file may not be viewable: it was accepted, but no picture of it could be made

	dir string
}

// Remove deletes the files of a result. Call it when they are stored or not needed.
func (r Result) Remove() error {
	if r.dir == "" {
		return nil
	}
	return os.RemoveAll(r.dir)
}

// Ingester reads uploaded files and makes the files to serve. It is safe for concurrent use.
type Ingester struct {
	config     Config
	slots      chan struct{}
	onChildEnd func(*os.ProcessState) // called by tests when a child has ended

	stillMemory int64        // of ffmpeg
	onStderr    func(string) // called by tests with the standard error of ffmpeg
}

// New returns an ingester.
func New(config Config) *Ingester {
	setDefault(&config.MaxBytes, sortie.MaxUploadBytes)
	setDefault(&config.MemoryLimit, 256<<20)
	setDefault(&config.CPUTime, 20*time.Second)
	setDefault(&config.Timeout, time.Minute)
	setDefault(&config.Parallel, 2)
	return &Ingester{config: config, slots: make(chan struct{}, config.Parallel), stillMemory: stillMemory}
}

func setDefault[T int | int64 | time.Duration](value *T, fallback T) {
	if *value <= 0 {
		*value = fallback
	}
}

// Ingest reads the file at path, which was declared to be of a type, and makes the files to serve.
// It returns a *[Problem] if the file is refused; any other error is the service's, and the same
// file may be accepted later. The caller must call Remove on the result.
//
// The file is read in a child process. Ingest waits while Config.Parallel files are being read.
func (i *Ingester) Ingest(ctx context.Context, path, declaredType string) (Result, error) {
	declared, err := declaredFormat(declaredType)
	if err != nil {
		return Result{}, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Result{}, fmt.Errorf("ingest media: %w", err)
	case !info.Mode().IsRegular():
		return Result{}, fmt.Errorf("ingest media: %s is not a file", path)
	case info.Size() == 0:
		return Result{}, &Problem{Code: ProblemUnreadable, Message: "the file is empty"}
	case info.Size() > i.config.MaxBytes:
		return Result{}, &Problem{Code: ProblemTooLarge, Message: fmt.Sprintf("the file has %d bytes; at most %d are accepted", info.Size(), i.config.MaxBytes)}
	}
	select {
	case i.slots <- struct{}{}:
		defer func() { <-i.slots }()
	case <-ctx.Done():
		return Result{}, fmt.Errorf("ingest media: %w", ctx.Err())
	}
	return i.ingest(ctx, path, declared)
}

func declaredFormat(declaredType string) (container.Format, error) {
	mediaType, _, err := mime.ParseMediaType(declaredType)
	format := container.Format(mediaType)
	switch format {
	case container.JPEG, container.PNG, container.WebP, container.MP4, container.QuickTime, container.WebM:
		return format, nil
	}
	if err != nil {
		mediaType = "unknown"
	}
	return "", &Problem{Code: ProblemUnsupported, Message: fmt.Sprintf("files of type %.60q are not accepted; send a JPEG, PNG or WebP picture, or an MP4, QuickTime or WebM video", mediaType)}
}

func (i *Ingester) ingest(ctx context.Context, path string, declared container.Format) (result Result, err error) {
	dir, err := os.MkdirTemp(i.config.TempDir, blob.TempPattern)
	if err != nil {
		return Result{}, fmt.Errorf("ingest media: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if path, err = filepath.Abs(path); err != nil {
		return Result{}, fmt.Errorf("ingest media: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return Result{}, fmt.Errorf("ingest media: %w", err)
	}
	request := childRequest{
		Input: path, Served: filepath.Join(dir, "served"), Thumbnail: filepath.Join(dir, "thumbnail"), Declared: declared, Limits: i.limits(),
		Isolation: i.config.Isolation,
	}
	answer, err := i.runChild(ctx, request)
	if err != nil {
		return Result{}, err
	}
	result = answer.result()
	result.dir, result.Served = dir, request.Served
	if answer.HasThumbnail {
		result.Thumbnail = request.Thumbnail
	}
	if result.MediaType == sortie.MediaVideo && i.config.FFmpeg != "" {
		if err := i.addStill(ctx, &result); err != nil {
			return Result{}, err
		}
	}
	return result, nil
}

// limits returns the limits of a child.
func (i *Ingester) limits() childLimits {
	return childLimits{
		Memory:  i.config.MemoryLimit,
		CPU:     max(1, int64(i.config.CPUTime/time.Second)),
		Timeout: i.config.Timeout,
		Output:  i.config.MaxBytes + 1<<20, // the orientation adds a few bytes
	}
}

// Tidy removes results that were made before the given time and not removed, because the service
// was killed.
func (i *Ingester) Tidy(before time.Time) error {
	parent := i.config.TempDir
	if parent == "" {
		parent = os.TempDir()
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("tidy media results: %w", err)
	}
	prefix, _, _ := strings.Cut(blob.TempPattern, "*")
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || !strings.HasPrefix(entry.Name(), prefix) || !info.ModTime().Before(before) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(parent, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("tidy media results: %w", err)
		}
	}
	return nil
}
