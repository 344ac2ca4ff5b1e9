//go:build !linux

package ingest

import (
	"errors"
	"os"
	"runtime"
	"time"
)

// limitSelf ends this process when it has taken more memory than it should. This is weaker than on
// Linux, where the system refuses the memory: a single large allocation can pass the limit before
// it is seen. Computing time is bounded by the clock only, and the process could open files. Run
// the service on Linux when strangers send the files.
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

// exitLimit is how Go ends a program that the system gives no more memory.
const exitLimit = 2

func becomeLimited(childRequest) (int, error) {
	return exitNotIsolated, errors.New("another program cannot be limited on this system: run without ffmpeg")
}
