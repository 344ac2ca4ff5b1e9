//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package blob

import "os"

// lockFile does nothing where files cannot be locked: there, only one process may use the
// directory.
func lockFile(*os.File) error { return nil }

func unlockFile(*os.File) error { return nil }
