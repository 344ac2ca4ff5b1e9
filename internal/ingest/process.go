package ingest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	maxAnswer    = 64 << 10 // bytes of a child's answer
	maxComplaint = 8 << 10  // bytes of what it says on its standard error
	// lastGasp is how long a child that was killed may keep its pipes open.
	lastGasp = 5 * time.Second
)

// runChild has a child look at a file. A child that dies of the file gives a *[Problem].
func (i *Ingester) runChild(ctx context.Context, request childRequest) (childAnswer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, i.config.Timeout, errTookTooLong)
	defer cancel()
	process, err := i.childCommand(ctx)
	if err != nil {
		return childAnswer{}, err
	}
	complaint := &headWriter{left: maxComplaint}
	output := &headWriter{left: len(childReady) + maxAnswer}
	process.Stderr, process.Stdout = complaint, output
	err = runWithRequest(process, request)
	if i.ended != nil {
		i.ended(process.ProcessState)
	}
	if err != nil {
		return childAnswer{}, i.childDeath(ctx, process.ProcessState, output.String(), complaint.String(), err)
	}
	return parseAnswer(output.Bytes())
}

var errTookTooLong = errors.New("the file was not looked at in time: the machine is too busy, or its disk too slow")

func (i *Ingester) childCommand(ctx context.Context) (*exec.Cmd, error) {
	executable := i.config.Executable
	if executable == "" {
		var err error
		if executable, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("look at media: find this program: %w", err)
		}
	}
	process := exec.CommandContext(ctx, executable, ChildArgument)
	// None of the service's variables, which may hold secrets. One thread computes: files are
	// looked at side by side by several children. The C library, where it is linked, is not to
	// reserve addresses for every thread, of which the child has few.
	process.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none", "MALLOC_ARENA_MAX=1"}
	process.WaitDelay = lastGasp
	killWithChildren(process)
	return process, nil
}

// runWithRequest starts a process, writes the request to it, and keeps its standard input open
// until it has ended: the process ends itself when that closes, as it does when this one is killed.
func runWithRequest(process *exec.Cmd, request childRequest) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	lifeline, err := process.StdinPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return err
	}
	_, writeErr := lifeline.Write(append(text, '\n'))
	if err := process.Wait(); err != nil { // closes the lifeline
		return err
	}
	return writeErr
}

// ErrReaderFailed is in the error, next to the *[Problem], when the file made the child process
// crash.
var ErrReaderFailed = errors.New("the child process failed")

// childDeath says whose fault it was that a child ended without an answer.
func (i *Ingester) childDeath(ctx context.Context, state *os.ProcessState, output, complaint string, cause error) error {
	sawFile := strings.HasPrefix(output, childReady)
	computed := time.Duration(0)
	if state != nil {
		computed = state.UserTime() + state.SystemTime()
	}
	switch {
	case sawFile && (strings.Contains(complaint, outOfTime) || computed > time.Duration(i.limits().CPU)*time.Second):
		return &Problem{Code: ProblemTooComplex, Message: "reading the file takes longer than a file is given"}
	case ctx.Err() != nil:
		return fmt.Errorf("look at media: %w", context.Cause(ctx))
	case !sawFile || state == nil || state.ExitCode() == exitGaveUp || killedFromOutside(state):
		return fmt.Errorf("look at media: the child process ended before it could answer: %w: %s", cause, firstLine(complaint))
	case strings.Contains(complaint, "out of memory") || strings.Contains(complaint, "cannot allocate memory"):
		return &Problem{Code: ProblemTooComplex, Message: "reading the file takes more memory than a file is given"}
	}
	return fmt.Errorf("%w (%w: %w: %s)", &Problem{Code: ProblemUnreadable, Message: "the file cannot be read: it is damaged"}, ErrReaderFailed, cause, firstLine(complaint))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

func parseAnswer(output []byte) (answer childAnswer, err error) {
	text, found := bytes.CutPrefix(output, []byte(childReady))
	decoder := json.NewDecoder(bufio.NewReader(bytes.NewReader(text)))
	if err := decoder.Decode(&answer); err != nil {
		return childAnswer{}, fmt.Errorf("look at media: read the child's answer: %w", err)
	}
	switch {
	case answer.NoFilter != "" && !found:
		return childAnswer{}, fmt.Errorf("look at media: %w: %s", ErrNotIsolated, answer.NoFilter)
	case answer.Fault != "" || !found:
		return childAnswer{}, fmt.Errorf("look at media: %s", answer.Fault)
	case answer.Panic != "":
		return childAnswer{}, fmt.Errorf("%w (%w: panic: %s)", answer.Problem, ErrReaderFailed, answer.Panic)
	case answer.Problem != nil:
		return childAnswer{}, answer.Problem
	}
	return answer, nil
}

// headWriter keeps the beginning of what is written to it and swallows the rest: a child cannot
// fill this process's memory by talking. Its buffer is not embedded, because package io would then
// read from the child into the buffer itself.
type headWriter struct {
	head bytes.Buffer
	left int
}

func (w *headWriter) Bytes() []byte  { return w.head.Bytes() }
func (w *headWriter) String() string { return w.head.String() }

func (w *headWriter) Write(p []byte) (int, error) {
	kept := p[:min(len(p), w.left)]
	w.left -= len(kept)
	w.head.Write(kept)
	return len(p), nil
}
