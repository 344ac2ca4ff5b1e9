//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package store

import (
	"errors"
	"io"
)

// lockFile refuses: without a lock that dies with its process, a second one could be let in.
func lockFile(string) (io.Closer, error) {
	return nil, errors.New("SQLite is supported on Linux, macOS and the BSDs only: use PostgreSQL on this system")
}
