package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// processCPU is the user and system time that a process has used, to the nanosecond: Linux has a
// clock for every process, and /proc/PID/stat counts only hundredths of a second.
func processCPU(pid int) (time.Duration, error) {
	const schedulerClock = 2
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &used); err != nil {
		return 0, fmt.Errorf("read the processor time of process %d: %w", pid, err)
	}
	return time.Duration(used.Nano()), nil
}

// memory is what a process has in RAM, in megabytes.
type memory struct {
	resident  float64 // all of it, the pages of its program file included
	peak      float64 // the most that it was since the process began
	anonymous float64 // without pages of files: heaps and stacks
}

func readMemory(pid int) (m memory, err error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(content)) {
		var kilobytes float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kilobytes); n == 1 {
			m.resident = kilobytes / 1024
		} else if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kilobytes); n == 1 {
			m.peak = kilobytes / 1024
		} else if n, _ := fmt.Sscanf(line, "RssAnon: %f kB", &kilobytes); n == 1 {
			m.anonymous = kilobytes / 1024
		}
	}
	return m, nil
}
