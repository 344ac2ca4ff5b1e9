//go:build unix

package ingest

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// killWithChildren makes the end of the process's context kill all processes of its group.
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

// killedFromOutside reports whether a process was ended by a signal, for example by the system when
// it is out of memory.
func killedFromOutside(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// crashed reports whether a process was ended by its own fault.
func crashed(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	faults := []syscall.Signal{syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGSYS}
	return ok && status.Signaled() && slices.Contains(faults, status.Signal())
}
