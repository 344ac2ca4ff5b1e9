package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

// misbehaving ingests a valid picture with a child that misbehaves.
func misbehaving(t *testing.T, how string, change func(*ingest.Config)) (*os.ProcessState, error) {
	t.Helper()
	var dir string
	ingester := newIngester(t, func(c *ingest.Config) {
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
		t.Errorf("left over: %v, %v", entries, readErr)
	}
	return state, err
}

// Runs alone: a child inherits the peak memory of its parent, which must be small.
func TestMemoryLimitEndsTheChild(t *testing.T) {
	debug.FreeOSMemory()
	if raceDetector {
		t.Skip("the race detector needs the memory")
	}
	for _, how := range []string{"memory", "one allocation"} {
		state, err := misbehaving(t, how, nil)
		wantProblem(t, err, ingest.ProblemTooComplex)
		const program = 64 << 20 // of the mapped program file, which counts as resident
		if peak := state.SysUsage().(*syscall.Rusage).Maxrss << 10; peak > childMemory+program {
			t.Errorf("%s: the child used %d MiB, want at most %d", how, peak>>20, (childMemory+program)>>20)
		}
	}
}

func TestCPULimitEndsTheChild(t *testing.T) {
	t.Parallel()
	state, err := misbehaving(t, "computing", func(c *ingest.Config) { c.CPUTime = time.Second })
	wantProblem(t, err, ingest.ProblemTooComplex)
	if spent := state.UserTime() + state.SystemTime(); spent > 3*time.Second {
		t.Errorf("the child computed for %v, want at most 3s", spent)
	}
}

func TestTimeoutEndsTheChild(t *testing.T) {
	t.Parallel()
	_, err := misbehaving(t, "sleep", func(c *ingest.Config) { c.Timeout = time.Second })
	var problem *ingest.Problem
	if err == nil || errors.As(err, &problem) {
		t.Errorf("got %v, want an error that is not a problem of the file", err)
	}
}

func TestPanicIsAProblemOfTheFile(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"panic", "recurse"} {
		_, err := misbehaving(t, how, nil)
		wantProblem(t, err, ingest.ProblemUnreadable)
		if how == "panic" && !strings.Contains(err.Error(), "PanicOfTheChild") {
			t.Errorf("got %v, want the cause of the panic for the log", err)
		}
	}
}

// The end of a child from outside, or before it has read the file, is not a problem of the file.
func TestOtherChildErrorsAreNotProblemsOfTheFile(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"die", "exit"} {
		_, err := misbehaving(t, how, nil)
		var problem *ingest.Problem
		if err == nil || errors.As(err, &problem) {
			t.Errorf("%s: got %v, want an error that is not a problem of the file", how, err)
		}
	}
	ingester := newIngester(t, func(c *ingest.Config) { c.Executable = "/bin/false" })
	_, err := ingester.Ingest(t.Context(), writeFile(t, []byte("x")), "image/jpeg")
	var problem *ingest.Problem
	if err == nil || errors.As(err, &problem) {
		t.Errorf("another program as a child: got %v, want an error that is not a problem of the file", err)
	}
}

func TestChildOutputIsBounded(t *testing.T) {
	t.Parallel()
	_, err := misbehaving(t, "talk", func(c *ingest.Config) { c.Timeout = 2 * time.Second })
	if err == nil {
		t.Error("got no error, want one")
	}
}

func TestChildIsIsolated(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"open", "dial", "write", "start"} {
		state, err := misbehaving(t, how, nil)
		if err == nil || state.ExitCode() != 4 {
			t.Errorf("%s: got %v, want an error and exit code 4", how, err)
		}
	}
}

// service is the argument with which this program ingests a file, as the service does.
const service = "service"

func init() {
	otherMains[service] = func(args []string) int {
		ingester := ingest.New(ingest.Config{Executable: args[0], TempDir: args[1], MemoryLimit: childMemory, Timeout: time.Hour})
		_, err := ingester.Ingest(context.Background(), args[2], "image/jpeg")
		fmt.Println(err)
		return 1
	}
}

// When the service is killed, its children end: the system closes their standard input.
func TestChildrenEndWithTheService(t *testing.T) {
	t.Parallel()
	child, fifo := badChild(t, "report its pid and sleep"), filepath.Join(t.TempDir(), "pid")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	script := strings.Replace(string(readFile(t, child)), "\n", "\nexec 9>"+fifo+"\n", 1) // the child can no longer open it
	if err := os.WriteFile(child, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(os.Args[0], service, child, t.TempDir(), writeFile(t, specimen.JPEG(specimen.Picture(10, 10, 1))))
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid, process := sleepingChild(t, fifo)
	defer unix.Close(process)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, int(time.Minute/time.Millisecond)); n != 1 {
		t.Errorf("child %d is still running: %v", pid, err)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// sleepingChild waits until a child sleeps and returns a handle to it.
func sleepingChild(t *testing.T, fifo string) (pid, handle int) {
	t.Helper()
	file, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := fmt.Fscan(file, &pid); err != nil {
		t.Fatal(err)
	}
	handle, err = unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return pid, handle
}
