package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// processCPU is the user and system time that a process has used, to the nanosecond: Linux has a clock for every process,
// and /proc/PID/stat counts only hundredths of a second.
func processCPU(pid int) (time.Duration, error) {
	const schedulerClock = 2
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &used); err != nil {
		return 0, fmt.Errorf("read the processor time of process %d: %w", pid, err)
	}
	return time.Duration(used.Nano()), nil
}

// residentMB is the memory of a process that is in RAM.
func residentMB(pid int) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kilobytes / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d: no VmRSS in its status", pid)
}
