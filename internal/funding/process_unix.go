//go:build unix

package funding

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// killWithChildren makes the end of the process's context also kill all processes that it started.
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
