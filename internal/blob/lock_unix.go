//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package blob

import (
	"errors"
	"os"
	"syscall"
)

// lockFile keeps other processes from locking the file until [unlockFile], or until this process
// ends.
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

// unlockFile gives the lock back. Closing the file is not enough in the moment in which a process
// that is being started has a copy of it.
func unlockFile(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }
