package ingest_test

import (
	"os"
	"syscall"
)

// peakMemory is the most that a process had resident, its program included.
func peakMemory(state *os.ProcessState) int64 {
	return state.SysUsage().(*syscall.Rusage).Maxrss << 10
}
