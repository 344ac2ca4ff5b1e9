package ingest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/sortie-labs/sortie/internal/foreign"
)

// Isolation is how strictly the processes that read strangers' files are isolated from the system.
// The zero value is the strictest.
type Isolation int

const (
	// IsolationRequired reads no file unless every layer of isolation works.
	IsolationRequired Isolation = iota
	// IsolationBestEffort uses the layers that the system supports.
	IsolationBestEffort
	// IsolationOff uses no layer. Limits of memory, time and file sizes still apply.
	IsolationOff
)

var isolationNames = []string{"required", "best-effort", "off"}

func (i Isolation) String() string { return isolationNames[i] }

// ParseIsolation parses the name of an isolation.
func ParseIsolation(text string) (Isolation, error) {
	for i, name := range isolationNames {
		if text == name {
			return Isolation(i), nil
		}
	}
	return 0, fmt.Errorf("%q: want %s", text, strings.Join(isolationNames, ", "))
}

// ErrNotIsolated is returned if isolation is required and the system lacks a layer of it.
var ErrNotIsolated = errors.New("the processes that read media cannot be isolated")

// exitNotIsolated is the exit code of a child that did not start a program because it could not
// isolate it.
const exitNotIsolated = 126

// CheckIsolation starts the processes that read files, without a file, and returns the missing
// layers of isolation as sentences. It fails with [ErrNotIsolated] if isolation is required and a
// layer is missing.
func (i *Ingester) CheckIsolation(ctx context.Context) (missing []string, err error) {
	answer, err := i.runChild(ctx, childRequest{Probe: true, Limits: i.limits(), Isolation: i.config.Isolation})
	if err != nil {
		return nil, err
	}
	if i.config.Isolation == IsolationOff {
		return []string{"isolation is off: a file that takes over its reader can read what the service's user can, and connect to others"}, nil
	}
	if answer.NoFilter != "" {
		missing = append(missing, "system calls are not filtered ("+answer.NoFilter+"): a file that takes over its reader can read what the service's user can, and connect to others")
	}
	if answer.NoFileRules != "" && i.config.FFmpeg != "" {
		missing = append(missing, "files are not restricted ("+answer.NoFileRules+"): a video that takes over ffmpeg can read what the service's user can")
	}
	if i.config.Isolation == IsolationRequired && len(missing) > 0 {
		return missing, fmt.Errorf("%w: %s", ErrNotIsolated, strings.Join(missing, "; "))
	}
	return missing, nil
}

// CheckFFmpeg starts ffmpeg as for a video, and returns an error if that fails.
func (i *Ingester) CheckFFmpeg(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, i.config.Timeout, errTimeout)
	defer cancel()
	process, err := i.childCommand(ctx)
	if err != nil {
		return err
	}
	limits := i.limits()
	limits.Memory, limits.Output = i.stillMemory, 0
	stderr := &headWriter{left: maxStderr}
	process.Stderr = stderr
	err = runWithRequest(process, childRequest{Limits: limits, Isolation: i.config.Isolation, Command: []string{i.config.FFmpeg, "-hide_banner", "-version"}})
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == exitNotIsolated {
		return fmt.Errorf("%w: %s", ErrNotIsolated, foreign.FirstLine(stderr.String(), foreign.NoLimit))
	}
	if err != nil {
		return fmt.Errorf("start %s: %w: %s", i.config.FFmpeg, err, foreign.FirstLine(stderr.String(), foreign.NoLimit))
	}
	return nil
}
