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

	"github.com/sortie-labs/sortie/internal/ingest/container"
)

const (
	maxStill    = 4 << 20 // bytes of a still
	stillMemory = 512 << 20
)

// demuxers are ffmpeg's names for the containers. Named, it does not guess, and no playlist or
// script becomes a video.
var demuxers = map[container.Format]string{container.MP4: "mov", container.QuickTime: "mov", container.WebM: "matroska"}

// addStill gives a video the thumbnail and the perceptual hash of one of its pictures. ffmpeg takes
// the still out of the cleaned file, under limits like a child's; the still is then looked at like
// any stranger's picture. A video that ffmpeg makes nothing of has no thumbnail, and is in doubt if
// that was the video's doing.
func (i *Ingester) addStill(ctx context.Context, result *Result) error {
	still := filepath.Join(result.dir, "still")
	picture, err := i.takeStill(ctx, result, min(time.Second, result.Duration/4))
	if errors.Is(err, errNoPicture) {
		picture, err = i.takeStill(ctx, result, 0) // there may be one at the beginning only
	}
	if errors.Is(err, errNoPicture) {
		result.Doubt = &Problem{Code: ProblemUnreadable, Message: "no picture of the video can be shown: its frames may be damaged"}
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

// errNoPicture says that ffmpeg looked at a video and could not decode a picture of it.
var errNoPicture = errors.New("no picture of the video can be decoded")

// takeStill gives a JPEG of what is shown after a time. It gives nothing when ffmpeg could not be
// asked, and errNoPicture when it was asked in vain.
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
	picture, complaint := &headWriter{left: maxStill}, &headWriter{left: maxComplaint}
	process.Stdout, process.Stderr = picture, complaint
	err = runWithRequest(process, request)
	if i.complained != nil {
		i.complained(complaint.String())
	}
	switch {
	case bounded.Err() != nil:
		return nil, ctx.Err() // the machine is too busy, or the caller has left
	case process.ProcessState != nil && process.ProcessState.ExitCode() == exitNotIsolated:
		return nil, fmt.Errorf("take a still: %w: %s", ErrNotIsolated, firstLine(complaint.String()))
	case err == nil && bytes.HasPrefix(picture.Bytes(), []byte{0xff, 0xd8}) && picture.left > 0:
		return picture.Bytes(), nil
	case picture.left > 0 && i.blamesVideo(process.ProcessState, complaint.String()):
		return nil, errNoPicture
	}
	return nil, nil
}

// lacking is what ffmpeg says when it, or the way in which it was asked, is at fault.
var lacking = []string{
	"not found for input stream", "no decoder found", "Unknown decoder", "Unknown encoder", "Unknown input format", "No such filter",
	"Unrecognized option", "Option not found", "Permission denied", "Operation not permitted", "No such file", "Resource temporarily unavailable",
}

// blamesVideo reports whether it was the video's doing that ffmpeg ended without a picture: not
// that it is missing, lacks a decoder, or was killed by somebody else.
func (i *Ingester) blamesVideo(state *os.ProcessState, complaint string) bool {
	if state == nil || slices.ContainsFunc(lacking, func(text string) bool { return strings.Contains(complaint, text) }) {
		return false
	}
	spent := state.UserTime() + state.SystemTime()
	if spent >= time.Duration(i.limits().CPU)*time.Second || crashed(state) {
		return true
	}
	return !killedFromOutside(state) && state.ExitCode() != exitNotStarted && state.ExitCode() != exitGaveUp
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
