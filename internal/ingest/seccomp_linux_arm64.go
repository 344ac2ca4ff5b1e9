package ingest

import "golang.org/x/sys/unix"

const filterArch = unix.AUDIT_ARCH_AARCH64

// computingHere are the calls of a computing program that only this system has.
var computingHere []uintptr

// foreignHere are rules for the calls that older programs use on this system.
func foreignHere() []rule { return allow(unix.SYS_GETRLIMIT) }
