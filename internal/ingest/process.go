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

	"github.com/sortie-labs/sortie/internal/foreign"
)

const (
	maxAnswer = 64 << 10 // bytes of a child's answer
	maxStderr = 8 << 10  // bytes of its standard error
	// pipeWait is how long a killed child may keep its pipes open.
	pipeWait = 5 * time.Second
)

// runChild runs a child process. If the file causes its end, it returns a *[Problem].
func (i *Ingester) runChild(ctx context.Context, request childRequest) (childAnswer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, i.config.Timeout, errTimeout)
	defer cancel()
	process, err := i.childCommand(ctx)
	if err != nil {
		return childAnswer{}, err
	}
	stderr := &headWriter{left: maxStderr}
	output := &headWriter{left: len(childReady) + maxAnswer}
	process.Stderr, process.Stdout = stderr, output
	err = runWithRequest(process, request)
	if i.onChildEnd != nil {
		i.onChildEnd(process.ProcessState)
	}
	if err != nil {
		return childAnswer{}, i.childError(ctx, process.ProcessState, output.String(), stderr.String(), err)
	}
	return parseAnswer(output.Bytes())
}

var errTimeout = errors.New("the file was not read in time: the machine is too busy, or its disk too slow")

func (i *Ingester) childCommand(ctx context.Context) (*exec.Cmd, error) {
	executable := i.config.Executable
	if executable == "" {
		var err error
		if executable, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("read media: find this program: %w", err)
		}
	}
	process := exec.CommandContext(ctx, executable, ChildArgument)
	// The child gets no variables of the service, which may hold secrets. It computes on one
	// thread: several children run in parallel. MALLOC_ARENA_MAX keeps the C library, where it is
	// linked, from reserving addresses for every thread.
	process.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none", "MALLOC_ARENA_MAX=1"}
	process.WaitDelay = pipeWait
	killWithChildren(process)
	return process, nil
}

// runWithRequest starts a process, writes the request to it, and keeps its standard input open
// until it has ended. The process ends itself when its standard input is closed, as when this
// process is killed.
func runWithRequest(process *exec.Cmd, request childRequest) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	stdin, err := process.StdinPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return err
	}
	_, writeErr := stdin.Write(append(text, '\n'))
	if err := process.Wait(); err != nil { // closes standard input
		return err
	}
	return writeErr
}

// ErrReaderFailed is in the error, next to the *[Problem], when the file made the child process
// crash.
var ErrReaderFailed = errors.New("the child process failed")

// childError returns the error for a child that ended without an answer.
func (i *Ingester) childError(ctx context.Context, state *os.ProcessState, output, stderr string, cause error) error {
	ready := strings.HasPrefix(output, childReady)
	computed := time.Duration(0)
	if state != nil {
		computed = state.UserTime() + state.SystemTime()
	}
	switch {
	case ready && (strings.Contains(stderr, outOfTime) || computed > time.Duration(i.limits().CPU)*time.Second):
		return &Problem{Code: ProblemTooComplex, Message: "reading the file takes too long"}
	case ctx.Err() != nil:
		return fmt.Errorf("read media: %w", context.Cause(ctx))
	case !ready || state == nil || state.ExitCode() == exitGaveUp || killedFromOutside(state):
		return fmt.Errorf("read media: the child process ended before it could answer: %w: %s", cause, foreign.FirstLine(stderr, foreign.NoLimit))
	case strings.Contains(stderr, "out of memory") || strings.Contains(stderr, "cannot allocate memory"):
		return &Problem{Code: ProblemTooComplex, Message: "reading the file takes too much memory"}
	}
	// Our code crashed on the file. The cause is for the log.
	return fmt.Errorf("%w (%w: %w: %s)", &Problem{Code: ProblemUnreadable, Message: "the file cannot be read: it is damaged"}, ErrReaderFailed, cause, foreign.FirstLine(stderr, foreign.NoLimit))
}

func parseAnswer(output []byte) (answer childAnswer, err error) {
	text, found := bytes.CutPrefix(output, []byte(childReady))
	decoder := json.NewDecoder(bufio.NewReader(bytes.NewReader(text)))
	if err := decoder.Decode(&answer); err != nil {
		return childAnswer{}, fmt.Errorf("read media: read the child's answer: %w", err)
	}
	switch {
	case answer.NoFilter != "" && !found:
		return childAnswer{}, fmt.Errorf("read media: %w: %s", ErrNotIsolated, answer.NoFilter)
	case answer.Fault != "" || !found:
		return childAnswer{}, fmt.Errorf("read media: %s", answer.Fault)
	case answer.Panic != "":
		return childAnswer{}, fmt.Errorf("%w (%w: panic: %s)", answer.Problem, ErrReaderFailed, answer.Panic)
	case answer.Problem != nil:
		return childAnswer{}, answer.Problem
	}
	return answer, nil
}

// headWriter keeps the first bytes written to it and discards the rest: a child cannot fill this
// process's memory. The buffer is not embedded, because package io would then use its ReadFrom.
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
