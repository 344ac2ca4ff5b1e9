package media

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sortie-labs/sortie/internal/media/container"
)

const (
	maxStill    = 4 << 20 // bytes of a still
	stillMemory = 512 << 20
)

// demuxers are ffmpeg's names for the containers. Named, it does not guess, and no playlist or script becomes a video.
var demuxers = map[container.Format]string{container.MP4: "mov", container.QuickTime: "mov", container.WebM: "matroska"}

// addStill gives a video the thumbnail and the perceptual hash of one of its pictures. ffmpeg takes the still out of the cleaned file, under
// limits like a child's; the still is then looked at like any stranger's picture. A video that ffmpeg makes nothing of has no thumbnail.
func (i *Ingester) addStill(ctx context.Context, result *Result) error {
	still := filepath.Join(result.dir, "still")
	picture, err := i.takeStill(ctx, result)
	if err != nil {
		return err
	}
	if len(picture) == 0 {
		return nil
	}
	if err := os.WriteFile(still, picture, 0o600); err != nil {
		return fmt.Errorf("take a still: %w", err)
	}
	request := childRequest{
		Input: still, Served: filepath.Join(result.dir, "still-served"), Thumbnail: filepath.Join(result.dir, "still-thumbnail"),
		Declared: container.JPEG, Limits: i.limits(),
	}
	answer, err := i.runChild(ctx, request)
	if err != nil || !answer.HasThumbnail {
		return ctx.Err()
	}
	result.Thumbnail, result.ThumbnailHash = request.Thumbnail, answer.ThumbnailHash
	result.Perceptual, result.HasPerceptual = answer.Perceptual, answer.HasPerceptual
	return nil
}

// takeStill gives a JPEG, or nothing when ffmpeg could not make one.
func (i *Ingester) takeStill(ctx context.Context, result *Result) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, i.config.Timeout)
	defer cancel()
	limits := i.limits()
	limits.Memory, limits.Output = stillMemory, 0
	request := childRequest{Limits: limits, Command: []string{
		i.config.FFmpeg, "-nostdin", "-hide_banner", "-loglevel", "error", "-threads", "1",
		"-protocol_whitelist", "file", "-f", demuxers[container.Format(result.Type)],
		"-ss", seconds(min(time.Second, result.Duration/4)), "-i", "file:" + result.Served,
		"-map", "0:v:0", "-frames:v", "1", "-vf", "scale=w=1024:h=1024:force_original_aspect_ratio=decrease",
		"-map_metadata", "-1", "-threads", "1", "-c:v", "mjpeg", "-q:v", "3", "-pix_fmt", "yuvj420p", "-f", "mjpeg", "pipe:1",
	}}
	for _, isolate := range []func(*exec.Cmd) bool{withoutNetwork, func(*exec.Cmd) bool { return true }} {
		process, err := i.childCommand(bounded)
		if err != nil {
			return nil, err
		}
		if !isolate(process) {
			continue
		}
		picture := &headWriter{left: maxStill}
		process.Stdout = picture
		err = runWithRequest(process, request)
		if process.Process == nil {
			continue // it could not be started this way
		}
		if err != nil || !bytes.HasPrefix(picture.Bytes(), []byte{0xff, 0xd8}) || picture.left == 0 {
			return nil, ctx.Err()
		}
		return picture.Bytes(), nil
	}
	return nil, nil
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
