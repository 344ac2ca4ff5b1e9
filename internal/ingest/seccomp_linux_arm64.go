package ingest

import "golang.org/x/sys/unix"

const filterArch = unix.AUDIT_ARCH_AARCH64

// computingHere are the calls of computing that only this architecture has.
var computingHere []uintptr

// foreignHere are rules for the calls of older programs on this architecture.
func foreignHere() []rule { return allow(unix.SYS_GETRLIMIT) }
