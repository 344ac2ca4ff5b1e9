package service

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// HideMemory prevents other processes of the same user, such as a hijacked media child, from
// reading and writing the memory of this process, which has keys: it disables tracing,
// /proc/PID/mem and core dumps. Programs that this process starts are not affected, and it can read
// its own /proc/self.
func HideMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide this process's memory from other processes: %w", err)
	}
	return nil
}
