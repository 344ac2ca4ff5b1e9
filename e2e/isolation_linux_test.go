package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// enterArgument makes this program enter a restricted environment and execute another program
// there.
const enterArgument = "enter"

// The restricted environments.
const (
	asOrdinaryUser = "ordinary-user"
	withoutSeccomp = "without-seccomp" // as in a container whose profile refuses it
)

const ordinaryUser = 65534

func init() {
	if len(os.Args) > 3 && os.Args[1] == enterArgument {
		err := enterPlace(os.Args[2])
		if err == nil {
			err = syscall.Exec(os.Args[3], os.Args[3:], os.Environ())
		}
		fmt.Fprintln(os.Stderr, "enter:", err)
		os.Exit(1)
	}
}

func enterPlace(place string) error {
	if os.Getuid() == 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(ordinaryUser), syscall.Setuid(ordinaryUser)); err != nil {
			return err
		}
	}
	if place != withoutSeccomp {
		return nil
	}
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SECCOMP, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	return errors.Join(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
		unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&filter)), 0, 0))
}

// devAt is a `sortie dev` that an ordinary user starts in an environment.
type devAt struct {
	*process
	path string // of its ready file
}

func startDevAt(t *testing.T, place string, args ...string) devAt {
	t.Helper()
	skipShort(t)
	dir, err := os.MkdirTemp("", "sortie-user-*") // not t.TempDir, which only its owner can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "sortie")
	if err := os.Link(filepath.Join(binaries, "sortie"), program); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(dir, ordinaryUser, ordinaryUser); err != nil {
			t.Fatal(err)
		}
	}
	ready := filepath.Join(dir, "ready.json")
	args = append([]string{enterArgument, place, program, "dev", "--listen", "127.0.0.1:0", "--chain-listen", "127.0.0.1:0",
		"--data", filepath.Join(dir, "data"), "--ready-file", ready}, args...)
	return devAt{spawn(t, []string{"HOME=" + dir, "TMPDIR=" + dir}, os.Args[0], args...), ready}
}

func (d devAt) awaitReady(t *testing.T) (r ready) {
	t.Helper()
	d.await(t, "ready file", func() bool {
		written, err := os.ReadFile(d.path)
		return err == nil && json.Unmarshal(written, &r) == nil
	})
	return r
}

// Another process of the service's user can read neither its memory nor its environment.
func TestTheServiceHidesItsMemory(t *testing.T) {
	t.Parallel()
	dev := startDevAt(t, asOrdinaryUser)
	at := dev.awaitReady(t)
	open := spawn(t, nil, os.Args[0], enterArgument, asOrdinaryUser, "/bin/sleep", "600")
	open.await(t, "sleeping process", func() bool { return strings.Contains(read(open, "comm"), "sleep") })
	for _, file := range []string{"environ", "maps", "mem"} {
		if said := read(open, file); strings.Contains(said, "Permission denied") {
			t.Errorf("%s of a process that hides nothing: got %q, want it to be readable", file, said)
		}
		if said := read(dev.process, file); !strings.Contains(said, "Permission denied") {
			t.Errorf("%s of the service: got %q, want Permission denied", file, said)
		}
	}
	if got := getText(t, at.BaseURL+"/healthz"); !strings.Contains(got, `"mediaIsolation":"ok"`) {
		t.Errorf("health: got %s, want mediaIsolation ok", got)
	}
	if got := getText(t, at.BaseURL+"/metrics"); !strings.Contains(got, "process_open_fds") {
		t.Error("metrics: got no process_open_fds, want the service to see its own /proc/self")
	}
}

// read reads a file of a process in /proc as an ordinary user.
func read(p *process, file string) string {
	path := filepath.Join("/proc", strconv.Itoa(p.command.Process.Pid), file)
	output, err := exec.Command(os.Args[0], enterArgument, asOrdinaryUser, "/bin/cat", path).CombinedOutput()
	return fmt.Sprintf("%.200s %v", output, err)
}

func getText(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Without isolation for its child processes, the service starts only if the operator allows it, and
// warns.
func TestMediaNeedsIsolation(t *testing.T) {
	t.Parallel()
	t.Run("required", func(t *testing.T) {
		t.Parallel()
		dev := startDevAt(t, withoutSeccomp, "--media-isolation", "required")
		<-dev.ended
		if code, said := dev.command.ProcessState.ExitCode(), dev.output.String(); code <= 0 || !strings.Contains(said, "--media-isolation required") || !strings.Contains(said, "best-effort") {
			t.Errorf("got exit code %d and %q, want a failure that names the flag and the way out", code, said)
		}
	})
	t.Run("best effort", func(t *testing.T) {
		t.Parallel()
		dev := startDevAt(t, withoutSeccomp, "--media-isolation", "best-effort")
		at := dev.awaitReady(t)
		got := getText(t, at.BaseURL+"/healthz")
		if !strings.Contains(got, `"mediaIsolation":"partial"`) || !strings.Contains(got, `"status":"degraded"`) {
			t.Errorf("health: got %s, want mediaIsolation partial and degraded", got)
		}
		dev.kill()
		if said := dev.output.String(); !strings.Contains(said, "not fully isolated") {
			t.Errorf("the log: got %q, want a warning", said)
		}
	})
}
