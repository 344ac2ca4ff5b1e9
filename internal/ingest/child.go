package ingest

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/ingest/container"
)

// ChildArgument is the argument with which the program is started as a child. It must then call
// [ChildMain] and do nothing else.
const ChildArgument = "media-ingest"

// childRequest is the request that the child reads from its standard input.
type childRequest struct {
	Input     string           `json:"input,omitempty"`
	Served    string           `json:"served,omitempty"`
	Thumbnail string           `json:"thumbnail,omitempty"`
	Declared  container.Format `json:"declared,omitempty"`
	Command   []string         `json:"command,omitempty"` // run this program instead, which may read Input, under the same limits
	Probe     bool             `json:"probe,omitempty"`   // read no file, and answer which isolation is missing
	Limits    childLimits      `json:"limits"`
	Isolation Isolation        `json:"isolation"`
}

// childLimits are the limits that a child sets for itself before it reads a file. It cannot lift
// them.
type childLimits struct {
	Memory  int64         `json:"memory"` // bytes
	CPU     int64         `json:"cpu"`    // seconds
	Timeout time.Duration `json:"timeout"`
	Output  int64         `json:"output"` // bytes of each written file
}

// childAnswer is the answer that the child writes to its standard output, after childReady.
type childAnswer struct {
	Problem       *Problem         `json:"problem,omitempty"`
	Fault         string           `json:"fault,omitempty"`       // an error of the service, not of the file
	Panic         string           `json:"panic,omitempty"`       // in our code, caused by the file
	NoFilter      string           `json:"noFilter,omitempty"`    // why system calls are not filtered
	NoFileRules   string           `json:"noFileRules,omitempty"` // why the files of another program cannot be restricted
	Format        container.Format `json:"format,omitempty"`
	UploadedHash  sortie.Hash      `json:"uploadedHash"`
	ServedHash    sortie.Hash      `json:"servedHash"`
	ServedSize    int64            `json:"servedSize,omitempty"`
	HasThumbnail  bool             `json:"hasThumbnail,omitempty"`
	ThumbnailHash sortie.Hash      `json:"thumbnailHash"`
	Width         int              `json:"width,omitempty"`
	Height        int              `json:"height,omitempty"`
	Duration      time.Duration    `json:"duration,omitempty"`
	Keyframes     int              `json:"keyframes,omitempty"`
	Perceptual    uint64           `json:"perceptual,omitempty"`
	HasPerceptual bool             `json:"hasPerceptual,omitempty"`
	CapturedAt    *time.Time       `json:"capturedAt,omitempty"`
	ZoneUnknown   bool             `json:"zoneUnknown,omitempty"`
	Place         *Place           `json:"place,omitempty"`
}

func (a childAnswer) result() Result {
	mediaType := sortie.MediaPhoto
	if a.Format.Video() {
		mediaType = sortie.MediaVideo
	}
	return Result{
		Type: string(a.Format), MediaType: mediaType, UploadedHash: a.UploadedHash, ServedHash: a.ServedHash, ServedSize: a.ServedSize,
		ThumbnailHash: a.ThumbnailHash, Width: a.Width, Height: a.Height, Duration: a.Duration, Keyframes: a.Keyframes,
		Perceptual: a.Perceptual, HasPerceptual: a.HasPerceptual, CapturedAt: a.CapturedAt, ZoneUnknown: a.ZoneUnknown, Place: a.Place,
	}
}

const (
	// childReady is the line that the child writes when its limits are set and before it reads the
	// file. An exit before it is not caused by the file, one after it is.
	childReady = "ready\n"
	// childHeadroom is the memory of the child that is not for the picture: the program itself,
	// buffers, a thumbnail.
	childHeadroom = 56 << 20
	childStack    = 16 << 20
	// outOfTime is the message of a child that has used up its CPU time.
	outOfTime = "out of CPU time"
	// exitGaveUp is the exit code of a child whose parent has ended or no longer waits.
	exitGaveUp = 75
	// exitNotStarted is the exit code of a child that could not start another program. Systems use
	// it for a program that lacks its libraries.
	exitNotStarted = 127
)

// ChildMain runs a child: it reads a request, sets its limits, reads one file and writes an answer.
// It returns the exit code.
func ChildMain() int {
	var request childRequest
	if err := json.NewDecoder(os.Stdin).Decode(&request); err != nil {
		fmt.Fprintln(os.Stderr, "media-ingest is started by the service itself, with a request on its standard input:", err)
		return 2
	}
	if len(request.Command) > 0 {
		code, err := execLimited(request)
		fmt.Fprintln(os.Stderr, "start", request.Command[0]+":", err)
		return code
	}
	files, err := openChildFiles(request)
	if err != nil {
		return writeAnswer(childAnswer{Fault: err.Error()})
	}
	prepareThreads()
	time.AfterFunc(request.Limits.Timeout+pipeWait, func() { os.Exit(exitGaveUp) }) // if no parent is left to kill this process
	go exitWithParent()
	debug.SetMaxStack(childStack)
	debug.SetMemoryLimit(request.Limits.Memory - request.Limits.Memory/8)
	if err := limitSelf(request.Limits); err != nil {
		return writeAnswer(childAnswer{Fault: err.Error()})
	}
	probe := isolateSelf(request.Isolation)
	if probe.NoFilter != "" && request.Isolation == IsolationRequired {
		return writeAnswer(probe)
	}
	if _, err := os.Stdout.WriteString(childReady); err != nil {
		return 1
	}
	if misbehave != nil {
		misbehave()
	}
	if request.Probe {
		return writeAnswer(probe)
	}
	return writeAnswer(files.answer(request))
}

// isolateSelf leaves this process its open files only. It returns the layers that are missing.
func isolateSelf(isolation Isolation) (missing childAnswer) {
	if isolation == IsolationOff {
		return childAnswer{}
	}
	if err := fileRulesMissing(); err != nil {
		missing.NoFileRules = err.Error()
	}
	if err := filterFileReader(); err != nil {
		missing.NoFilter = err.Error()
	}
	return missing
}

// misbehave is set by tests to act as an attacker would before the file is read.
var misbehave func()

// exitWithParent ends the child when the other end of its standard input is closed: no process is
// left to read the answer.
func exitWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(exitGaveUp)
}

func writeAnswer(answer childAnswer) int {
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		return 1
	}
	return 0
}

// childFiles are all files that a child opens.
type childFiles struct {
	input, served, thumbnail *os.File
	size                     int64
}

func openChildFiles(request childRequest) (files childFiles, err error) {
	if request.Probe {
		return childFiles{}, nil
	}
	if files.input, err = os.Open(request.Input); err != nil {
		return files, err
	}
	info, err := files.input.Stat()
	if err != nil {
		return files, err
	}
	files.size = info.Size()
	const create = os.O_RDWR | os.O_CREATE | os.O_EXCL
	if files.served, err = os.OpenFile(request.Served, create, 0o600); err != nil {
		return files, err
	}
	files.thumbnail, err = os.OpenFile(request.Thumbnail, create, 0o600)
	return files, err
}

// answer reads the file. A panic is reported as a problem of the file.
func (f childFiles) answer(request childRequest) (answer childAnswer) {
	defer func() {
		if reason := recover(); reason != nil {
			answer = childAnswer{
				Problem: &Problem{Code: ProblemUnreadable, Message: "the file cannot be read: it is damaged"},
				Panic:   fmt.Sprintf("%v\n%.4000s", reason, debug.Stack()),
			}
		}
	}()
	err := f.process(request, &answer)
	var refused *Problem
	switch {
	case errors.As(err, &refused):
		return childAnswer{Problem: refused}
	case err != nil:
		return childAnswer{Fault: err.Error()}
	}
	return answer
}

func (f childFiles) process(request childRequest, answer *childAnswer) error {
	file, err := container.Inspect(f.input, f.size)
	if err != nil {
		return err
	}
	if file.Format != request.Declared {
		return &Problem{Code: ProblemUnsupported, Message: fmt.Sprintf("the file was declared as %s and is %s; declare its real type", request.Declared, file.Format)}
	}
	if room := max(0, request.Limits.Memory-childHeadroom); file.DecodeBytes > room {
		return &Problem{Code: ProblemTooManyPixels, Message: fmt.Sprintf("%d by %d pixels are too many for a picture stored in this way; send a smaller one, or a JPEG", file.Width, file.Height)}
	}
	uploaded := sha256.New()
	if _, err := io.Copy(uploaded, io.NewSectionReader(f.input, 0, f.size)); err != nil {
		return fmt.Errorf("hash the uploaded file: %w", err)
	}
	served := sha256.New()
	size, err := file.WriteTo(io.MultiWriter(f.served, served))
	if err != nil {
		return fmt.Errorf("write the file to serve: %w", err)
	}
	*answer = childAnswer{
		Format: file.Format, UploadedHash: sortie.Hash(uploaded.Sum(nil)), ServedHash: sortie.Hash(served.Sum(nil)), ServedSize: size,
		Width: file.Width, Height: file.Height, Duration: file.Duration, Keyframes: file.Keyframes, ZoneUnknown: file.ZoneUnknown, Place: file.Place,
	}
	if !file.CapturedAt.IsZero() {
		answer.CapturedAt = &file.CapturedAt
	}
	if file.Format.Video() {
		return nil
	}
	return f.picture(file, size, answer)
}

// picture decodes the bytes to serve, which proves that they can be decoded, and makes the
// thumbnail and the perceptual hash.
func (f childFiles) picture(file *container.File, size int64, answer *childAnswer) error {
	decoded, err := decodePicture(file.Format, io.NewSectionReader(f.served, 0, size))
	if err != nil {
		return err
	}
	thumbnail := newThumbnail(decoded, file.Orientation)
	answer.Perceptual, answer.HasPerceptual = perceptualHash(thumbnail)
	hash := sha256.New()
	if err := encodeThumbnail(io.MultiWriter(f.thumbnail, hash), thumbnail); err != nil {
		return fmt.Errorf("write the thumbnail: %w", err)
	}
	answer.HasThumbnail, answer.ThumbnailHash = true, sortie.Hash(hash.Sum(nil))
	return nil
}
