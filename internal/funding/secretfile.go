package funding

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// secretFile is a file that only its owner may read.
type secretFile struct {
	what      string // its name in errors
	path      string
	ifMissing string // what to do when it does not exist
	limit     int64  // bytes
}

// read returns the file's content. The checks are made on the opened file, so that neither a
// symbolic link nor a swap between check and read evades them. Every error is one line that says
// what to do.
func (f secretFile) read() ([]byte, error) {
	// Without O_NONBLOCK opening a named pipe would wait for a writer.
	file, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, f.fail("not found; %s", f.ifMissing)
	case errors.Is(err, fs.ErrPermission):
		return nil, f.fail("permission denied; it must belong to the user that runs this program")
	case err != nil:
		return nil, f.fail("cannot be opened: %w", errors.Unwrap(err))
	}
	defer file.Close()
	if err := f.inspect(file); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, f.limit+1))
	switch {
	case err != nil:
		return nil, f.fail("cannot be read: %w", errors.Unwrap(err))
	case int64(len(content)) > f.limit:
		return nil, f.fail("larger than %d bytes, so it is something else; check the path", f.limit)
	case len(bytes.TrimSpace(content)) == 0:
		return nil, f.fail("empty; check the path or write it again")
	}
	return content, nil
}

func (f secretFile) inspect(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return f.fail("cannot be inspected: %w", errors.Unwrap(err))
	}
	if !info.Mode().IsRegular() {
		return f.fail("not a regular file; check the path")
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return f.fail("mode %04o gives other users access; run: chmod 600 %s", mode, f.path)
	}
	return nil
}

func (f secretFile) fail(format string, arguments ...any) error {
	return fmt.Errorf("%s %s: %w", f.what, f.path, fmt.Errorf(format, arguments...))
}
