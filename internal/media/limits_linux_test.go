package media_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/media"
	"github.com/sortie-labs/sortie/internal/media/specimen"
)

// misbehaving takes in a good picture with a child that does something else.
func misbehaving(t *testing.T, how string, change func(*media.Config)) (error, *os.ProcessState) {
	t.Helper()
	var dir string
	ingester := newIngester(t, func(c *media.Config) {
		c.Executable = badChild(t, how)
		if change != nil {
			change(c)
		}
		dir = c.TempDir
	})
	var state *os.ProcessState
	ingester.OnChildEnd(func(s *os.ProcessState) { state = s })
	_, err := ingester.Ingest(t.Context(), writeFile(t, specimen.JPEG(specimen.Picture(10, 10, 1))), "image/jpeg")
	if entries, readErr := os.ReadDir(dir); readErr != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, readErr)
	}
	return err, state
}

func TestMemoryEndsTheChild(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("the race detector needs the memory itself")
	}
	for _, how := range []string{"memory", "one allocation"} {
		err, state := misbehaving(t, how, nil)
		wantProblem(t, err, media.ProblemTooComplex)
		const program = 64 << 20 // of the file that is mapped, which counts as resident
		if peak := state.SysUsage().(*syscall.Rusage).Maxrss << 10; peak > childMemory+program {
			t.Errorf("%s: the child had %d MiB", how, peak>>20)
		}
	}
}

func TestComputingEndsTheChild(t *testing.T) {
	t.Parallel()
	err, state := misbehaving(t, "computing", func(c *media.Config) { c.Timeout = 2 * time.Second }) // one of them computing
	if errors.Is(err, context.DeadlineExceeded) || err != nil && strings.Contains(err.Error(), "in time") {
		t.Skip("the machine is too busy to give the child a second in two")
	}
	wantProblem(t, err, media.ProblemTooComplex)
	if spent := state.UserTime() + state.SystemTime(); spent > 3*time.Second {
		t.Errorf("the child computed for %v", spent)
	}
}

func TestTheClockEndsTheChild(t *testing.T) {
	t.Parallel()
	err, _ := misbehaving(t, "sleep", func(c *media.Config) { c.Timeout = time.Second })
	var problem *media.Problem
	if err == nil || errors.As(err, &problem) {
		t.Errorf("got %v: a machine that is too slow is not the file's fault", err)
	}
}

func TestAPanicIsTheFilesFault(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"panic", "recurse"} {
		err, _ := misbehaving(t, how, nil)
		wantProblem(t, err, media.ProblemUnreadable)
		if how == "panic" && !strings.Contains(err.Error(), "PanicOfTheChild") {
			t.Errorf("the log does not learn why: %v", err)
		}
	}
}

// What ends a child from outside, or before it has seen the file, is not the file's fault.
func TestOtherDeathsAreTheServicesFault(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"die", "exit"} {
		err, _ := misbehaving(t, how, nil)
		var problem *media.Problem
		if err == nil || errors.As(err, &problem) {
			t.Errorf("%s: %v", how, err)
		}
	}
	ingester := newIngester(t, func(c *media.Config) { c.Executable = "/bin/false" })
	_, err := ingester.Ingest(t.Context(), writeFile(t, []byte("x")), "image/jpeg")
	var problem *media.Problem
	if err == nil || errors.As(err, &problem) {
		t.Errorf("a program that is not ours: %v", err)
	}
}

func TestAChildCannotTalkUsFull(t *testing.T) {
	t.Parallel()
	err, _ := misbehaving(t, "talk", func(c *media.Config) { c.Timeout = 2 * time.Second })
	if err == nil {
		t.Error("accepted")
	}
}

func TestAChildCannotReachAnything(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"open", "dial", "write", "start"} {
		err, state := misbehaving(t, how, nil)
		if err == nil || state.ExitCode() != 4 {
			t.Errorf("%s: %v", how, err)
		}
	}
}

// A service that is killed leaves no child behind: its end of the child's standard input is closed by the system.
func TestChildrenEndWithTheService(t *testing.T) {
	t.Parallel()
	ingester := newIngester(t, func(c *media.Config) { c.Executable = badChild(t, "sleep") })
	ended := make(chan int, 1)
	ingester.OnChildEnd(func(s *os.ProcessState) { ended <- s.Pid() })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = ingester.Ingest(ctx, writeFile(t, specimen.JPEG(specimen.Picture(10, 10, 1))), "image/jpeg")
	}()
	cancel()
	<-done
	select {
	case pid := <-ended:
		if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), "exe")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the child %d is still there: %v", pid, err)
		}
	default: // cancelled before it was started
	}
}
