package ingest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Isolation says how much of the system the processes that read strangers' files may be able to
// reach. The zero value is the strictest.
type Isolation int

const (
	// IsolationRequired takes in no file unless every layer of the isolation holds.
	IsolationRequired Isolation = iota
	// IsolationBestEffort uses the layers that the system has.
	IsolationBestEffort
	// IsolationOff uses none. Memory, time and sizes of files are limited all the same.
	IsolationOff
)

var isolationNames = []string{"required", "best-effort", "off"}

func (i Isolation) String() string { return isolationNames[i] }

// ParseIsolation reads the name of an isolation.
func ParseIsolation(text string) (Isolation, error) {
	for i, name := range isolationNames {
		if text == name {
			return Isolation(i), nil
		}
	}
	return 0, fmt.Errorf("%q: want %s", text, strings.Join(isolationNames, ", "))
}

// ErrNotIsolated says that the system lacks a layer of an isolation that is required.
var ErrNotIsolated = errors.New("the processes that read media cannot be isolated")

// exitNotIsolated is the exit code of a child that did not start a program because it could not be
// isolated.
const exitNotIsolated = 126

// CheckIsolation starts the processes that would read a file, without one, and reports the layers
// of isolation that are missing, as sentences. It fails with [ErrNotIsolated] when the isolation is
// required and a layer is missing.
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

// CheckFFmpeg starts ffmpeg as it is started for a video, and reports why it cannot be used.
func (i *Ingester) CheckFFmpeg(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, i.config.Timeout, errTookTooLong)
	defer cancel()
	process, err := i.childCommand(ctx)
	if err != nil {
		return err
	}
	limits := i.limits()
	limits.Memory, limits.Output = i.stillMemory, 0
	complaint := &headWriter{left: maxComplaint}
	process.Stderr = complaint
	err = runWithRequest(process, childRequest{Limits: limits, Isolation: i.config.Isolation, Command: []string{i.config.FFmpeg, "-hide_banner", "-version"}})
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == exitNotIsolated {
		return fmt.Errorf("%w: %s", ErrNotIsolated, firstLine(complaint.String()))
	}
	if err != nil {
		return fmt.Errorf("start %s: %w: %s", i.config.FFmpeg, err, firstLine(complaint.String()))
	}
	return nil
}
