package ingest

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"
)

// limitSelf limits this process to what it needs to read a file: memory, CPU time, file sizes, and
// no new file descriptors, so no new files, sockets and pipes. filterFileReader filters system
// calls.
func limitSelf(limits childLimits) error {
	memory, addresses, err := memoryRoom(limits.Memory)
	if err != nil {
		return err
	}
	spent := make(chan os.Signal, 1)
	signal.Notify(spent, unix.SIGXCPU)
	go func() {
		<-spent
		fmt.Fprintln(os.Stderr, outOfTime)
		os.Exit(1)
	}()
	if err := limitProcess(limits, memory, addresses); err != nil {
		return err
	}
	return setLimit("open files", unix.RLIMIT_NOFILE, 0)
}

// limitProcess sets the limits that apply to other programs, too.
func limitProcess(limits childLimits, memory, addresses uint64) error {
	if err := giveUpPrivileges(); err != nil {
		return err
	}
	for _, limit := range []struct {
		name     string
		resource int
		value    uint64
	}{
		{"memory", unix.RLIMIT_DATA, memory},
		{"addresses", unix.RLIMIT_AS, addresses},
		{"file size", unix.RLIMIT_FSIZE, uint64(limits.Output)},
		{"core dumps", unix.RLIMIT_CORE, 0},
	} {
		if err := setLimit(limit.name, limit.resource, limit.value); err != nil {
			return err
		}
	}
	// SIGXCPU comes one second before SIGKILL.
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: uint64(limits.CPU), Max: uint64(limits.CPU) + 1}); err != nil {
		return fmt.Errorf("limit CPU time to %d s: %w", limits.CPU, err)
	}
	return nil
}

func setLimit(name string, resource int, value uint64) error {
	if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value}); err != nil {
		return fmt.Errorf("limit %s to %d: %w", name, value, err)
	}
	return nil
}

// arena is the unit in which Go reserves addresses.
const arena = 64 << 20

// memoryRoom converts a limit of used memory to a limit of mapped memory and one of addresses. What
// Go and the C library map at the start and never touch (tables for a large heap, thread stacks) is
// not used memory and is added.
//
// The kernel counts memory that is mapped over reserved addresses only afterwards, so the first
// limit alone would let one large allocation pass. The second one refuses its addresses.
func memoryRoom(limit int64) (memory, addresses uint64, err error) {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, fmt.Errorf("measure own memory: %w", err)
	}
	var size, resident, shared, text, library, data int64
	if _, err := fmt.Sscan(string(statm), &size, &resident, &shared, &text, &library, &data); err != nil {
		return 0, 0, fmt.Errorf("measure own memory: %w", err)
	}
	page := int64(os.Getpagesize())
	untouched := max(0, data-(resident-shared)) * page
	return uint64(limit + untouched), uint64(limit + size*page + arena), nil
}

// execLimited replaces this process by another program under limits. It returns only if that
// fails, with the exit code to use.
func execLimited(request childRequest) (int, error) {
	const libraries = 1 << 30 // addresses, most of them never touched
	runtime.LockOSThread()    // Landlock restricts this thread, on which the program will run
	if err := limitProcess(request.Limits, uint64(request.Limits.Memory), uint64(request.Limits.Memory)+libraries); err != nil {
		return exitNotIsolated, err
	}
	if request.Isolation != IsolationOff {
		loader, err := loaderOf(request.Command[0])
		if err != nil {
			return exitNotStarted, err
		}
		if err := restrictForeign(foreignFiles{request.Command[0], loader, request.Input}, request.Isolation); err != nil {
			return exitNotIsolated, err
		}
	}
	return exitNotStarted, unix.Exec(request.Command[0], request.Command, nil)
}
