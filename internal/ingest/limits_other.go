//go:build !linux

package ingest

import (
	"errors"
	"os"
	"runtime"
	"time"
)

// limitSelf ends this process when it uses more memory than its limit. This is weaker than on
// Linux, where the kernel refuses the memory: one large allocation can exceed the limit before it
// is noticed. CPU time is bounded by the wall clock only, and the process could open files. Run the
// service on Linux if strangers send files.
func limitSelf(limits childLimits) error {
	go func() {
		for range time.Tick(20 * time.Millisecond) {
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			if memory.Sys-memory.HeapReleased > uint64(limits.Memory) {
				_, _ = os.Stderr.WriteString("out of memory: above the limit\n")
				os.Exit(exitLimit)
			}
		}
	}()
	return nil
}

// exitLimit is the exit code of a Go program that runs out of memory.
const exitLimit = 2

func execLimited(childRequest) (int, error) {
	return exitNotIsolated, errors.New("another program cannot be limited on this system: run without ffmpeg")
}
