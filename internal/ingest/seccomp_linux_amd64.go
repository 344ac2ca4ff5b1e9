package ingest

import "golang.org/x/sys/unix"

const filterArch = unix.AUDIT_ARCH_X86_64

// computingHere are the calls of computing that only this architecture has.
var computingHere = []uintptr{unix.SYS_EPOLL_WAIT, unix.SYS_TIME}

// foreignHere are rules for the calls of older programs on this architecture.
func foreignHere() []rule {
	return append(allow(unix.SYS_ARCH_PRCTL, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_PIPE,
		unix.SYS_DUP2, unix.SYS_GETRLIMIT, unix.SYS_GETPGRP), without(unix.SYS_OPEN, 1, writing))
}
