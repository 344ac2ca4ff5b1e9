package ingest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// secretFile is a file of the service's user, next to the attacker's program.
const secretFile = "keystore"

// attempt is an action that an isolated process must not be able to do.
type attempt struct {
	name string
	try  func() error
}

// attacks are the actions that code would try after it took over a process that reads a file. Each
// returns an error if it was prevented.
func attacks() []attempt {
	parent := os.Getppid()
	proc := fmt.Sprintf("/proc/%d/", parent)
	secret := filepath.Join(filepath.Dir(os.Args[0]), secretFile)
	return []attempt{
		{"read the system's users", func() error { return openFile("/etc/passwd", unix.O_RDONLY) }},
		{"read the keystore", func() error { return openFile(secret, unix.O_RDONLY) }},
		{"create a file", func() error { return openFile(secret+".new", unix.O_WRONLY|unix.O_CREAT) }},
		{"open the parent's memory", func() error { return openFile(proc+"mem", unix.O_RDONLY) }},
		{"open the parent's environment", func() error { return openFile(proc+"environ", unix.O_RDONLY) }},
		{"list the parent's files", func() error { return openFile(proc+"fd", unix.O_RDONLY) }},
		{"read the parent's memory", func() error { return copyMemory(unix.SYS_PROCESS_VM_READV, parent) }},
		{"write the parent's memory", func() error { return copyMemory(unix.SYS_PROCESS_VM_WRITEV, parent) }},
		{"trace the parent", func() error { return raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(parent), 0, 0) }},
		{"signal the parent", func() error { return unix.Kill(parent, 0) }},
		{"signal a thread of the parent", func() error { return unix.Tgkill(parent, parent, 0) }},
		{"signal every process", func() error { return unix.Kill(-1, 0) }},
		{"hold the parent", func() error { return raw(unix.SYS_PIDFD_OPEN, uintptr(parent), 0) }},
		{"have a pipe signal the parent", func() error { return raw(unix.SYS_FCNTL, 1, unix.F_SETOWN, uintptr(parent)) }},
		{"change the parent's limits", func() error { return readLimit(parent) }},
		{"open an Internet socket", func() error { return openSocket(unix.AF_INET) }},
		{"open a local socket", func() error { return openSocket(unix.AF_UNIX) }},
		{"open a socket pair", socketPair},
		{"start a process", fork},
		{"enter a namespace", func() error { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) }},
		{"open an anonymous file", anonymousFile},
		{"share memory with other processes", func() error { return raw(unix.SYS_SHMGET, 0, 4096, 0o600) }},
		{"add a key", func() error { return raw(unix.SYS_KEYCTL, 0, 0) }},
		{"write the keystore", func() error { return openFile(secret, unix.O_WRONLY) }},
		{"publish the keystore", func() error { return unix.Chmod(secret, 0o644) }},
		{"truncate the keystore", func() error { return unix.Truncate(secret, 0) }},
		{"delete the keystore", func() error { return unix.Unlink(secret) }},
	}
}

// escapes returns the names of the attacks that worked.
func escapes() (worked []string) {
	for _, attack := range attacks() {
		if err := attack.try(); err == nil {
			worked = append(worked, attack.name)
		}
	}
	return worked
}

// attack ends the process with exit code 3 and the names of the attacks that worked, or with exit
// code 4 if none did.
func attack() {
	worked := escapes()
	if len(worked) > 0 {
		fmt.Fprintln(os.Stderr, "escaped:", strings.Join(worked, ", "))
		os.Exit(3)
	}
	startShell() // last: it does not return if it works
	os.Exit(4)
}

func init() {
	misbehaviours[attackingChild], misbehaviours[bombingChild] = attack, bomb
}

// startShell replaces this process by a shell that ends with exit code 3.
func startShell() {
	_ = syscall.Exec("/bin/sh", []string{"sh", "-c", "echo escaped: start a program >&2; exit 3"}, nil)
}

// bomb starts more threads than a child has.
func bomb() {
	const threads = 30 // their stacks fit into the child's memory
	var running sync.WaitGroup
	running.Add(threads)
	for range threads {
		go func() {
			runtime.LockOSThread()
			running.Done()
			select {}
		}()
	}
	running.Wait()
	fmt.Fprintln(os.Stderr, "escaped: start threads")
	os.Exit(3)
}

func raw(call uintptr, arguments ...uintptr) error {
	var a [6]uintptr
	copy(a[:], arguments)
	if _, _, errno := unix.Syscall6(call, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// openFile opens a file. EMFILE counts as success: a lack of descriptors is no lasting protection.
func openFile(path string, flags int) error {
	file, err := unix.Open(path, flags, 0o600)
	if err == nil || errors.Is(err, unix.EMFILE) {
		_ = unix.Close(file)
		return nil
	}
	return err
}

func openSocket(family int) error {
	file, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err == nil || errors.Is(err, unix.EMFILE) {
		_ = unix.Close(file)
		return nil
	}
	return err
}

func socketPair() error {
	_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if errors.Is(err, unix.EMFILE) {
		return nil
	}
	return err
}

func anonymousFile() error {
	_, err := unix.MemfdCreate("code", 0)
	if errors.Is(err, unix.EMFILE) {
		return nil
	}
	return err
}

// copyMemory copies from or to an unmapped address of another process: EPERM comes before EFAULT.
func copyMemory(call uintptr, pid int) error {
	buffer := make([]byte, 8)
	here := unix.Iovec{Base: &buffer[0], Len: 8}
	there := unix.RemoteIovec{Base: 8, Len: 8}
	err := raw(call, uintptr(pid), uintptr(unsafe.Pointer(&here)), 1, uintptr(unsafe.Pointer(&there)), 1, 0)
	if errors.Is(err, unix.EFAULT) {
		return nil
	}
	return err
}

func readLimit(pid int) error {
	var limit unix.Rlimit
	return unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit)
}

func fork() error {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	switch {
	case errno != 0:
		return errno
	case pid == 0:
		for {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return nil
}
