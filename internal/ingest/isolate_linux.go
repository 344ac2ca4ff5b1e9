package ingest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// spareThreads are enough for a child: one computes, one waits for standard input to close, one for
// signals, one is the runtime's monitor, and a few are in system calls.
const spareThreads = 12

// prepareThreads starts all threads that this process will have: later, the filter refuses new
// ones. The runtime keeps idle threads.
func prepareThreads() {
	var started, ended sync.WaitGroup
	release := make(chan struct{})
	for range spareThreads {
		started.Add(1)
		ended.Go(func() {
			runtime.LockOSThread() // so that the next goroutine gets another thread
			started.Done()
			<-release
			runtime.UnlockOSThread()
		})
	}
	started.Wait()
	close(release)
	ended.Wait()
}

// filterFileReader restricts every thread of this process to computing and to its open files.
func filterFileReader() error { return installFilter(fileReaderRules()) }

// restrictForeign restricts the program that will replace this process on the same thread: it may
// compute, and read itself, libraries and one file. The caller has locked its goroutine to the
// thread.
func restrictForeign(files foreignFiles, isolation Isolation) error {
	if err := limitThreads(); err != nil { // first: it reads files
		return err
	}
	if err := restrictFiles(files); err != nil && isolation == IsolationRequired {
		return err
	}
	if err := installFilter(foreignRules()); err != nil && isolation == IsolationRequired {
		return err
	}
	return nil
}

// foreignFiles are the files that another program needs.
type foreignFiles struct {
	program string
	loader  string // empty: statically linked
	input   string // empty: none
}

// moreThreads is the number of threads that another program may start.
const moreThreads = 128

// limitThreads bounds the threads of another program. The system counts all threads of the user,
// and the limit does not apply to root.
func limitThreads() error {
	running, err := threadsOfUser()
	if err != nil {
		return fmt.Errorf("count threads: %w", err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		return fmt.Errorf("limit threads: %w", err)
	}
	return setLimit("threads", unix.RLIMIT_NPROC, min(limit.Max, running+moreThreads))
}

func threadsOfUser() (threads uint64, err error) {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	user := uint32(os.Getuid())
	for _, process := range processes {
		if _, err := strconv.Atoi(process.Name()); err != nil {
			continue
		}
		dir := filepath.Join("/proc", process.Name())
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		if err != nil {
			continue // it has ended, or is hidden from this user
		}
		var owner uint32
		var count uint64
		for line := range strings.Lines(string(status)) {
			_, _ = fmt.Sscanf(line, "Uid: %d", &owner)
			_, _ = fmt.Sscanf(line, "Threads: %d", &count)
		}
		if owner == user {
			threads += count
		}
	}
	return threads, nil
}

// giveUpPrivileges ensures that programs started by this process get no further privileges. The
// kernel requires it before an unprivileged process may restrict itself.
func giveUpPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up privileges: %w", err)
	}
	return nil
}

// errnoOf turns the result of a raw system call into an error.
func errnoOf(what string, errno syscall.Errno) error {
	switch {
	case errno == 0:
		return nil
	case errors.Is(errno, unix.ENOSYS), errors.Is(errno, unix.EOPNOTSUPP):
		return fmt.Errorf("%s: not supported by this kernel, or turned off", what)
	case errors.Is(errno, unix.EPERM):
		return fmt.Errorf("%s: refused, as by the profile of a container", what)
	}
	return fmt.Errorf("%s: %w", what, errno)
}
