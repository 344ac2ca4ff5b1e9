package service

import (
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory sets the memory limit of the runtime to three quarters of the memory of the control
// group or the machine, unless GOMEMLIMIT is set. The rest is for memory that the runtime does not
// count, such as SQLite's pages and the child processes that read media. Without a limit, garbage
// after a burst of requests may grow to the size of the heap, and the kernel kills the process.
func limitMemory(logger *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return // the runtime has read it
	}
	total, err := availableMemory(os.DirFS("/"))
	if err != nil {
		logger.Debug("no memory limit is set: set GOMEMLIMIT to have one", "error", err.Error())
		return
	}
	debug.SetMemoryLimit(total / 4 * 3)
}

// availableMemory returns the memory of the machine, or the smallest limit of the control groups of
// the process. It reads files of Linux and fails on other systems.
func availableMemory(root fs.FS) (int64, error) {
	total, err := machineMemory(root)
	if err != nil {
		return 0, err
	}
	for _, limit := range groupLimits(root) {
		total = min(total, limit)
	}
	return total, nil
}

func machineMemory(root fs.FS) (int64, error) {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(string(line), "MemTotal: %d kB", &kilobytes); n == 1 && kilobytes > 0 && kilobytes < math.MaxInt64>>10 {
			return kilobytes << 10, nil
		}
	}
	return 0, fmt.Errorf("read memory of the machine: /proc/meminfo has no MemTotal")
}

// groupLimits returns the memory limits of the process's control groups, of version 2 and 1, and of
// their parents. In a container the directory of the group may be mounted as the root; it is read
// too.
func groupLimits(root fs.FS) (limits []int64) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(groups)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		tree, file := "sys/fs/cgroup", "memory.max"
		switch {
		case controllers == "":
		case strings.Contains(","+controllers+",", ",memory,"):
			tree, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
			if limit, ok := readLimit(root, path.Join(tree, dir, file)); ok {
				limits = append(limits, limit)
			}
			if dir == "/" {
				break
			}
		}
	}
	return limits
}

// readLimit reads a number of bytes; any other text, such as "max", means no limit.
func readLimit(root fs.FS, name string) (int64, bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return limit, err == nil && limit > 0
}
