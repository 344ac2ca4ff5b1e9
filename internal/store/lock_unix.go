//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// lockFile makes this process the only user of the database at path until the file is closed. The
// operating system releases the lock when the process ends for any reason; the file remains.
func lockFile(path string) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		owner, _ := io.ReadAll(io.LimitReader(file, 20)) // for the error message only
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w (process %s)", errLocked, strings.TrimSpace(string(owner)))
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	_ = file.Truncate(0) // the number is for the error message; the lock also holds without it, on a full disk
	_, _ = fmt.Fprintln(file, os.Getpid())
	return heldLock{file}, nil
}

// heldLock releases the lock when it is closed, even while a process that is being started has a
// copy of the open file.
type heldLock struct{ *os.File }

func (l heldLock) Close() error {
	return errors.Join(syscall.Flock(int(l.Fd()), syscall.LOCK_UN), l.File.Close())
}
