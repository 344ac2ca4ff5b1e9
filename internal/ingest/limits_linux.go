package ingest

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"
)

// limitSelf takes away from this process, for good, what it does not need to look at a file:
// memory, time, the sizes of files, and free file descriptors, without which there are no new
// files, sockets and pipes. A filter of system calls takes the rest, see filterFileReader.
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

// limitProcess sets the limits that hold for other programs, too.
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
	// A signal comes a second before the system ends the process without a word.
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: uint64(limits.CPU), Max: uint64(limits.CPU) + 1}); err != nil {
		return fmt.Errorf("limit computing time to %d s: %w", limits.CPU, err)
	}
	return nil
}

func setLimit(name string, resource int, value uint64) error {
	if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value}); err != nil {
		return fmt.Errorf("limit %s to %d: %w", name, value, err)
	}
	return nil
}

// arena is the step in which Go asks for addresses to put memory at.
const arena = 64 << 20

// memoryRoom turns a limit of used memory into one of mapped memory and one of addresses. What Go
// and the C library map at the start and never touch (tables for a large heap, stacks of threads)
// is no use of memory, and comes on top.
//
// The system counts memory that is mapped over reserved addresses only after the fact, so the first
// limit alone would let one large allocation through. The second stops it when it asks for
// addresses.
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

// becomeLimited replaces this process by another program under limits. It returns only if it fails,
// with the exit code to use.
func becomeLimited(request childRequest) (int, error) {
	const libraries = 1 << 30 // addresses, most of them never touched
	runtime.LockOSThread()    // the restriction of files is this thread's, and the program takes over on this thread
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
