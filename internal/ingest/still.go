package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sortie-labs/sortie/internal/foreign"
	"github.com/sortie-labs/sortie/internal/ingest/container"
)

const (
	maxStill    = 4 << 20 // bytes of a still
	stillMemory = 512 << 20
)

// demuxers are ffmpeg's names of the containers. With a name, it does not detect the format, so no
// playlist or script is read as a video.
var demuxers = map[container.Format]string{container.MP4: "mov", container.QuickTime: "mov", container.WebM: "matroska"}

// addStill sets the thumbnail and the perceptual hash of a video. ffmpeg extracts a still from the
// cleaned file, under limits like a child's; a child then reads the still like any stranger's
// picture. If ffmpeg returns no picture, there is no thumbnail, and Doubt is set if the video is
// the cause.
func (i *Ingester) addStill(ctx context.Context, result *Result) error {
	still := filepath.Join(result.dir, "still")
	picture, err := i.takeStill(ctx, result, min(time.Second, result.Duration/4))
	if errors.Is(err, errNoPicture) {
		picture, err = i.takeStill(ctx, result, 0) // there may be a picture at the beginning only
	}
	if errors.Is(err, errNoPicture) {
		result.Doubt = &Problem{Code: ProblemUnreadable, Message: "no picture of the video can be decoded: its frames may be damaged"}
		return nil
	}
	if err != nil || len(picture) == 0 {
		return err
	}
	if err := os.WriteFile(still, picture, 0o600); err != nil {
		return fmt.Errorf("take a still: %w", err)
	}
	request := childRequest{
		Input: still, Served: filepath.Join(result.dir, "still-served"), Thumbnail: filepath.Join(result.dir, "still-thumbnail"),
		Declared: container.JPEG, Limits: i.limits(), Isolation: i.config.Isolation,
	}
	answer, err := i.runChild(ctx, request)
	if err != nil || !answer.HasThumbnail {
		return ctx.Err()
	}
	result.Thumbnail, result.ThumbnailHash = request.Thumbnail, answer.ThumbnailHash
	result.Perceptual, result.HasPerceptual = answer.Perceptual, answer.HasPerceptual
	return nil
}

// errNoPicture is returned if ffmpeg read a video and could not decode a picture of it.
var errNoPicture = errors.New("no picture of the video can be decoded")

// takeStill returns a JPEG of the picture that is shown after a time. It returns nil if ffmpeg
// could not be run, and errNoPicture if it found no picture.
func (i *Ingester) takeStill(ctx context.Context, result *Result, after time.Duration) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, i.config.Timeout)
	defer cancel()
	limits := i.limits()
	limits.Memory, limits.Output = i.stillMemory, 0
	request := childRequest{Input: result.Served, Limits: limits, Isolation: i.config.Isolation, Command: []string{
		i.config.FFmpeg, "-nostdin", "-hide_banner", "-loglevel", "error", "-threads", "1",
		"-protocol_whitelist", "file", "-f", demuxers[container.Format(result.Type)],
		"-ss", seconds(after), "-i", "file:" + result.Served,
		"-map", "0:v:0", "-frames:v", "1", "-vf", "scale=w=1024:h=1024:force_original_aspect_ratio=decrease",
		"-map_metadata", "-1", "-threads", "1", "-c:v", "mjpeg", "-q:v", "3", "-pix_fmt", "yuvj420p", "-f", "mjpeg", "pipe:1",
	}}
	process, err := i.childCommand(bounded)
	if err != nil {
		return nil, err
	}
	picture, stderr := &headWriter{left: maxStill}, &headWriter{left: maxStderr}
	process.Stdout, process.Stderr = picture, stderr
	err = runWithRequest(process, request)
	if i.onStderr != nil {
		i.onStderr(stderr.String())
	}
	switch {
	case bounded.Err() != nil:
		return nil, ctx.Err() // the machine is too busy, or the caller has canceled
	case process.ProcessState != nil && process.ProcessState.ExitCode() == exitNotIsolated:
		return nil, fmt.Errorf("take a still: %w: %s", ErrNotIsolated, foreign.FirstLine(stderr.String(), foreign.NoLimit))
	case err == nil && bytes.HasPrefix(picture.Bytes(), []byte{0xff, 0xd8}) && picture.left > 0:
		return picture.Bytes(), nil
	case picture.left > 0 && i.causedByVideo(process.ProcessState, stderr.String()):
		return nil, errNoPicture
	}
	return nil, nil
}

// notTheVideo are messages of ffmpeg for which the video is not the cause.
var notTheVideo = []string{
	"not found for input stream", "no decoder found", "Unknown decoder", "Unknown encoder", "Unknown input format", "No such filter",
	"Unrecognized option", "Option not found", "Permission denied", "Operation not permitted", "No such file", "Resource temporarily unavailable",
}

// causedByVideo reports whether the video is the cause that ffmpeg returned no picture, and not
// that ffmpeg is missing, lacks a decoder, or was killed from outside.
func (i *Ingester) causedByVideo(state *os.ProcessState, stderr string) bool {
	if state == nil || slices.ContainsFunc(notTheVideo, func(text string) bool { return strings.Contains(stderr, text) }) {
		return false
	}
	spent := state.UserTime() + state.SystemTime()
	if spent >= time.Duration(i.limits().CPU)*time.Second || crashed(state) {
		return true
	}
	return !killedFromOutside(state) && state.ExitCode() != exitNotStarted && state.ExitCode() != exitGaveUp
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
