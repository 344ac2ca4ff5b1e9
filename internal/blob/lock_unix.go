//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package blob

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks the file against other processes until [unlockFile], or until this process ends.
func lockFile(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrUploadBusy
	}
	if err != nil {
		return diskFault(err)
	}
	return nil
}

// unlockFile releases the lock. Closing the file is not enough while a process that is being
// started has a copy of its descriptor.
func unlockFile(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }
