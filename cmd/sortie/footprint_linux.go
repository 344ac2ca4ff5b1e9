package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
)

// releaseStart gives back the memory that only the start needed: its garbage, and the pages of the program that ran once. The
// kernel maps a program in large pieces and keeps them mapped for as long as nobody else wants the memory, so what resides
// would tell of the start for weeks. Pages that are needed again come back from the page cache.
func releaseStart() {
	debug.FreeOSMemory()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return // no harm done: here and below it is only about how much resides
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range bytes.Lines(maps) {
		from, to, ok := readOnlyMapping(line, self)
		if ok {
			// The mapping is the program's own, read-only and backed by its file: dropping its pages loses nothing.
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}

// readOnlyMapping reads a line of /proc/self/maps. Mappings that can be written are not for dropping: what was written to them
// is nowhere else.
func readOnlyMapping(line []byte, path string) (from, to uintptr, ok bool) {
	var permissions string
	if _, err := fmt.Sscanf(string(line), "%x-%x %s", &from, &to, &permissions); err != nil {
		return 0, 0, false
	}
	isProgram := bytes.HasSuffix(bytes.TrimRight(line, "\n"), []byte(" "+path))
	return from, to, isProgram && (permissions == "r-xp" || permissions == "r--p")
}
