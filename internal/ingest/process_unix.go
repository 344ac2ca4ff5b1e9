//go:build unix

package ingest

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// killWithChildren makes the end of the process's context kill whatever the process has started,
// too.
func killWithChildren(process *exec.Cmd) {
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.Cancel = func() error {
		err := syscall.Kill(-process.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}

// killedFromOutside reports whether a process was ended by a signal, as by the system when it runs
// out of memory as a whole.
func killedFromOutside(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// crashed reports whether a process was ended by what it did itself.
func crashed(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	faults := []syscall.Signal{syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGSYS}
	return ok && status.Signaled() && slices.Contains(faults, status.Signal())
}
