package ingest_test

import (
	"os"
	"syscall"
)

// peakMemory is the peak resident memory of a process, including its program.
func peakMemory(state *os.ProcessState) int64 {
	return state.SysUsage().(*syscall.Rusage).Maxrss << 10
}
