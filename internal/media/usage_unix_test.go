//go:build unix

package media_test

import (
	"os"
	"syscall"
)

// peakMemory is the most that a process had resident, its program included.
func peakMemory(state *os.ProcessState) int64 {
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		return int64(usage.Maxrss) << 10
	}
	return 0
}
