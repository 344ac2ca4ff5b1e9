//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package store

import (
	"errors"
	"io"
)

// lockFile refuses: without a lock that the system releases with its process, a second process
// could open the database.
func lockFile(string) (io.Closer, error) {
	return nil, errors.New("SQLite is supported on Linux, macOS and the BSDs only: use PostgreSQL on this system")
}
