package ingest

import "golang.org/x/sys/unix"

// namespaces are the flags of clone that the default profiles of container engines refuse.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// EnterContainer puts this process under a filter like the default profile of Docker and Podman for
// an ordinary user, which also refuses the given calls.
func EnterContainer(unknown ...uintptr) error {
	rules := []rule{without(unix.SYS_CLONE, 0, namespaces), refuse(unix.SYS_CLONE3, uint32(unix.ENOSYS))}
	for _, call := range append(unknown,
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF,
		unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_KCMP,
		unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_QUOTACTL, unix.SYS_ACCT, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_INIT_MODULE,
		unix.SYS_SETTIMEOFDAY, unix.SYS_PERSONALITY, unix.SYS_MBIND, unix.SYS_MOVE_PAGES, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	) {
		rules = append(rules, refuse(call, uint32(unix.EPERM)))
	}
	return install(assemble(rules, unix.SECCOMP_RET_ALLOW))
}
