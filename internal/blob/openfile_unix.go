//go:build unix

package blob

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFile is os.Open for regular files, without the five system calls by which os.Open checks
// whether the file is pollable. They are a large part of the cost of sending a small range.
func openFile(path string) (*os.File, error) {
	for {
		descriptor, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == nil {
			return os.NewFile(uintptr(descriptor), path), nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}
