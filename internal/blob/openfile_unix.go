//go:build unix

package blob

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFile is os.Open for regular files. That one asks the kernel five times whether the file can
// be waited for, like a socket, which is a good part of what it costs to send some of it.
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
