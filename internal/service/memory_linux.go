package service

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// hideMemory keeps other processes of the same user, such as a media child that was taken over,
// from reading and writing the memory of this one, which holds keys: no tracing, no /proc/PID/mem
// and no core dumps. Programs that this process starts are not affected, and it can read its own
// /proc/self.
func HideMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide this process's memory from other processes: %w", err)
	}
	return nil
}
