package funding

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/foreign"
)

// commandLimits bounds the resources of a signing command.
type commandLimits struct {
	timeout  time.Duration // for one call, and for the wait for a free slot before it
	parallel int           // maximum number of concurrent calls
	answer   int           // maximum bytes of standard output, and bytes of standard error that are kept
	grace    time.Duration // from the end of the process until its pipes are closed by force
}

var defaultCommandLimits = commandLimits{timeout: 5 * time.Second, parallel: 4, answer: 4 << 10, grace: time.Second}

// commandSigner signs with an external program, which may hold the key in hardware or apply a
// policy. [KeyRef] documents the exchange.
type commandSigner struct {
	path    string
	address sortie.Address
	limits  commandLimits
	slots   chan struct{}
}

func openCommand(ctx context.Context, path string, limits commandLimits) (Signer, error) {
	absolute, err := filepath.Abs(path) // a bare name must not be searched for in PATH
	if err != nil {
		return nil, fmt.Errorf("command %s: %w", path, err)
	}
	if err := inspectCommand(absolute); err != nil {
		return nil, fmt.Errorf("command %s: %w", path, err)
	}
	command := commandSigner{path: absolute, limits: limits, slots: make(chan struct{}, limits.parallel)}
	answer, err := command.ask(ctx, commandRequest{Operation: "address"})
	if err != nil {
		return nil, fmt.Errorf("command %s: ask for its address: %w", path, err)
	}
	if command.address, err = sortie.ParseAddress(answer); err != nil || command.address.IsZero() {
		return nil, fmt.Errorf("command %s: ask for its address: the answer of %d bytes is not an address; want 0x and 40 hex digits", path, len(answer))
	}
	return check(command), nil
}

func inspectCommand(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("not found; check the path in the key reference")
	case err != nil:
		return errors.Unwrap(err)
	case !info.Mode().IsRegular():
		return errors.New("not a program; check the path in the key reference")
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("not executable; run: chmod 700 %s", path)
	case info.Mode()&0o002 != 0:
		return fmt.Errorf("mode %04o lets every user replace it; run: chmod 700 %s", info.Mode().Perm(), path)
	}
	return nil
}

func (c commandSigner) Address() sortie.Address { return c.address }

func (c commandSigner) Sign(ctx context.Context, request SignRequest) (sortie.Bytes, error) {
	answer, err := c.ask(ctx, commandRequest{
		Operation: "sign",
		Address:   &c.address,
		Digest:    &request.Digest,
		Purpose:   request.Purpose,
		Content:   request.Content,
	})
	if err != nil {
		return nil, fmt.Errorf("command %s: %w", c.path, err)
	}
	signature, err := sortie.ParseBytes(answer)
	if err != nil || len(signature) != sortie.SignatureLength {
		// The error does not repeat the answer: a broken command might print its key.
		return nil, fmt.Errorf("command %s: the answer of %d bytes is not a signature; want 0x and 130 hex digits", c.path, len(answer))
	}
	return signature, nil
}

type commandRequest struct {
	Version   int             `json:"version"`
	Operation string          `json:"operation"`
	Address   *sortie.Address `json:"address,omitempty"`
	Digest    *sortie.Hash    `json:"digest,omitempty"`
	Purpose   Purpose         `json:"purpose,omitempty"`
	Content   json.Marshaler  `json:"content,omitempty"`
}

// ask runs the command for one request and returns its answer, trimmed of white space.
func (c commandSigner) ask(ctx context.Context, request commandRequest) (string, error) {
	request.Version = 1
	question, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	if err := c.enter(ctx); err != nil {
		return "", err
	}
	defer func() { <-c.slots }()
	limited, cancel := context.WithTimeout(ctx, c.limits.timeout)
	defer cancel()
	stdout, stderr := capture{limit: c.limits.answer, strict: true}, capture{limit: c.limits.answer}
	process := exec.CommandContext(limited, c.path)
	process.Env = commandEnvironment()
	process.Stdin = bytes.NewReader(question)
	process.Stdout, process.Stderr = &stdout, &stderr
	process.WaitDelay = c.limits.grace
	killWithChildren(process)
	err = process.Run()
	switch {
	case err == nil:
		return strings.TrimSpace(stdout.content.String()), nil
	case stdout.overflowed:
		return "", fmt.Errorf("the answer has more than %d bytes", c.limits.answer)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case limited.Err() != nil:
		return "", fmt.Errorf("no answer within %s; it was killed", c.limits.timeout)
	case errors.Is(err, exec.ErrWaitDelay):
		_ = process.Cancel()
		return "", errors.New("it ended but left a child process that holds its output open")
	default:
		return "", stderr.explain(err)
	}
}

// enter waits for a free slot, at most as long as a call may take: overload becomes an error
// instead of a growing queue.
func (c commandSigner) enter(ctx context.Context) error {
	timer := time.NewTimer(c.limits.timeout)
	defer timer.Stop()
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return fmt.Errorf("busy: %d calls are running and none ended within %s", c.limits.parallel, c.limits.timeout)
	}
}

// commandEnvironment returns the variables that nearly every program needs. The rest of this
// program's environment may hold passwords and is not passed on.
func commandEnvironment() []string {
	environment := []string{}
	for _, name := range []string{"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR"} {
		if value, set := os.LookupEnv(name); set {
			environment = append(environment, name+"="+value)
		}
	}
	return environment
}

// capture keeps the first bytes written to it. A strict capture fails on more, which closes the
// pipe.
type capture struct {
	content    bytes.Buffer
	limit      int
	strict     bool
	overflowed bool
}

func (c *capture) Write(data []byte) (int, error) {
	kept := data[:min(len(data), c.limit-c.content.Len())]
	c.content.Write(kept)
	if len(kept) < len(data) {
		c.overflowed = true
		if c.strict {
			return len(kept), errors.New("too much output")
		}
	}
	return len(data), nil
}

// explain adds the first line of standard error, without control characters.
func (c *capture) explain(err error) error {
	line := foreign.FirstLine(c.content.String(), foreign.MaxMessage)
	if line == "" {
		return fmt.Errorf("it failed (%w) and wrote nothing to standard error", err)
	}
	return fmt.Errorf("it failed (%w): %s", err, line)
}
