//go:build linux && (amd64 || arm64)

package ingest

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rule is how a filter answers a system call.
type rule struct {
	call   uintptr
	arg    int                // index of the argument to check; only its lower 32 bits are used by these calls
	accept func(jump) []instr // the condition on the argument; nil: none
	errno  uint32             // if not 0, refuse the call with this error
}

type (
	instr = unix.SockFilter
	// jump returns an instruction that compares the argument and skips success or failure
	// instructions.
	jump = func(operation uint16, value uint32, success, failure uint8) instr
)

func allow(calls ...uintptr) (rules []rule) {
	for _, call := range calls {
		rules = append(rules, rule{call: call})
	}
	return rules
}

// oneOf allows a call if its argument is one of the values.
func oneOf(call uintptr, arg int, values ...uint32) rule {
	return rule{call: call, arg: arg, accept: func(compare jump) (program []instr) {
		for i, value := range values {
			rest := uint8(len(values) - i - 1)
			program = append(program, compare(unix.BPF_JEQ, value, rest+1, 0))
		}
		return program
	}}
}

// without allows a call if its argument has none of the bits.
func without(call uintptr, arg int, bits uint32) rule {
	return rule{call: call, arg: arg, accept: func(compare jump) []instr {
		return []instr{compare(unix.BPF_JSET, bits, 0, 1)}
	}}
}

// with allows a call if its argument has the bit.
func with(call uintptr, arg int, bit uint32) rule {
	return rule{call: call, arg: arg, accept: func(compare jump) []instr {
		return []instr{compare(unix.BPF_JSET, bit, 1, 0)}
	}}
}

func refuse(call uintptr, errno uint32) rule { return rule{call: call, errno: errno} }

// computing are the calls to compute and to use open files. Signals are allowed to the process
// itself only.
func computing() []rule {
	self := uint32(os.Getpid())
	rules := allow(computingHere...)
	rules = append(rules, allow(
		unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_READV, unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_LSEEK, unix.SYS_FSTAT, unix.SYS_CLOSE,
		unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK,
		unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
		unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_CTL, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRUSAGE, unix.SYS_GETRANDOM, unix.SYS_SCHED_GETAFFINITY, unix.SYS_MEMBARRIER, unix.SYS_RSEQ,
		unix.SYS_SET_ROBUST_LIST, unix.SYS_RESTART_SYSCALL, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	)...)
	return append(rules, oneOf(unix.SYS_KILL, 0, self), oneOf(unix.SYS_TGKILL, 0, self))
}

// fileReaderRules are the rules of a child that has opened its files: no new file, socket, process,
// thread or code.
func fileReaderRules() []rule {
	return append(computing(),
		without(unix.SYS_MMAP, 2, unix.PROT_EXEC), without(unix.SYS_MPROTECT, 2, unix.PROT_EXEC),
		oneOf(unix.SYS_FCNTL, 1, unix.F_GETFD, unix.F_GETFL),
	)
}

// writing are the flags to open a file for writing.
const writing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | (unix.O_TMPFILE &^ unix.O_DIRECTORY)

// foreignRules are the rules of another program: it may load itself, open files to read, start
// threads, and start programs, of which Landlock allows only itself.
func foreignRules() []rule {
	rules := append(computing(), foreignHere()...)
	rules = append(rules, allow(
		unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_EXECVE, unix.SYS_SET_TID_ADDRESS, unix.SYS_STATX, unix.SYS_NEWFSTATAT, unix.SYS_FSTATFS,
		unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_READLINKAT, unix.SYS_GETDENTS64, unix.SYS_GETCWD, unix.SYS_FADVISE64, unix.SYS_PREADV, unix.SYS_PWRITEV,
		unix.SYS_DUP, unix.SYS_DUP3, unix.SYS_PIPE2, unix.SYS_PPOLL, unix.SYS_PSELECT6, unix.SYS_EPOLL_CREATE1, unix.SYS_EVENTFD2,
		unix.SYS_UNAME, unix.SYS_SYSINFO, unix.SYS_GETCPU, unix.SYS_TIMES, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_GETPPID,
		unix.SYS_SCHED_GETPARAM, unix.SYS_SCHED_GETSCHEDULER, unix.SYS_RT_SIGSUSPEND,
	)...)
	return append(rules,
		without(unix.SYS_OPENAT, 2, writing),
		with(unix.SYS_CLONE, 0, unix.CLONE_THREAD),
		refuse(unix.SYS_CLONE3, uint32(unix.ENOSYS)), // its flags are in memory, which a filter cannot read; programs then use clone
		oneOf(unix.SYS_FCNTL, 1, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_DUPFD, unix.F_DUPFD_CLOEXEC),
		oneOf(unix.SYS_PRLIMIT64, 0, 0),
		oneOf(unix.SYS_PRCTL, 0, unix.PR_SET_NAME, unix.PR_GET_NAME),
		refuse(unix.SYS_IOCTL, uint32(unix.ENOTTY)),
	)
}

// Offsets in the kernel's struct seccomp_data. Both architectures are little-endian.
const (
	callOffset = 0
	archOffset = 4
	argsOffset = 16
)

const load, equal, greater, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, unix.BPF_RET | unix.BPF_K

// otherABI is the first number of x32, another ABI of amd64. arm64 has no calls there.
const otherABI = 0x40000000

// refused is the answer to a call that is not allowed.
const refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)

// assemble returns the program that the kernel runs for each system call. otherwise is the answer
// to a call without a rule.
func assemble(rules []rule, otherwise uint32) []instr {
	program := []instr{
		{Code: load, K: archOffset},
		{Code: equal, K: filterArch, Jt: 1},
		{Code: answer, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: callOffset},
		{Code: greater, K: otherABI, Jf: 1},
		{Code: answer, K: unix.SECCOMP_RET_KILL_PROCESS},
	}
	for _, r := range rules {
		body := r.assemble()
		program = append(program, instr{Code: equal, K: uint32(r.call), Jf: uint8(len(body))})
		program = append(program, body...)
	}
	return append(program, instr{Code: answer, K: otherwise})
}

func (r rule) assemble() []instr {
	if r.errno != 0 {
		return []instr{{Code: answer, K: unix.SECCOMP_RET_ERRNO | r.errno}}
	}
	allowed := instr{Code: answer, K: unix.SECCOMP_RET_ALLOW}
	if r.accept == nil {
		return []instr{allowed}
	}
	body := []instr{{Code: load, K: uint32(argsOffset + 8*r.arg)}}
	body = append(body, r.accept(func(operation uint16, value uint32, success, failure uint8) instr {
		return instr{Code: unix.BPF_JMP | operation | unix.BPF_K, K: value, Jt: success, Jf: failure}
	})...)
	return append(body, instr{Code: answer, K: refused}, allowed)
}

// installFilter applies rules to every thread of this process and to the program that replaces it.
// Other calls are refused. It cannot be undone.
func installFilter(rules []rule) error { return install(assemble(rules, refused)) }

func install(program []instr) error {
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := giveUpPrivileges(); err != nil {
		return err
	}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
	runtime.KeepAlive(program)
	if errno == 0 && thread != 0 {
		return fmt.Errorf("filter system calls: thread %d has another filter", thread)
	}
	return errnoOf("filter system calls", errno)
}
