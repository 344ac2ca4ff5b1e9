package service

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
)

// releaseStart gives back the memory that only the start needed: its garbage, and the pages of the
// program that ran once. The kernel maps a program in large pieces and keeps them mapped for as
// long as nobody else wants the memory, so what resides would tell of the start for weeks. Pages
// that are needed again come back from the page cache.
func releaseStart() {
	debug.FreeOSMemory()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return // no harm done: here and below it is only about how much resides
	}
	mappings, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range cleanMappings(mappings, self) {
		// The mapping is the program's own and every page of it is as in its file: dropping them
		// loses nothing.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED)
	}
}

type mapping struct{ from, to uintptr }

// cleanMappings finds in the text of /proc/self/smaps the mappings of a file that cannot be written
// and never were. That they cannot be written now is not enough: the addresses that the dynamic
// linker fills in at the start are read-only afterwards (RELRO), and are nowhere else.
func cleanMappings(smaps []byte, path string) (clean []mapping) {
	var current mapping
	isProgram := false
	for line := range bytes.Lines(smaps) {
		var next mapping
		var permissions string
		var written int
		if n, _ := fmt.Sscanf(string(line), "%x-%x %s", &next.from, &next.to, &permissions); n == 3 {
			current = next
			isProgram = bytes.HasSuffix(bytes.TrimRight(line, "\n"), []byte(" "+path)) && (permissions == "r-xp" || permissions == "r--p")
		} else if n, _ := fmt.Sscanf(string(line), "Anonymous: %d kB", &written); n == 1 && written == 0 && isProgram {
			clean = append(clean, current)
		}
	}
	return clean
}
