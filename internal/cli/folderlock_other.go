//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package cli

import "os"

// lockExclusively lets everybody in where there is no lock that dies with its process. Two runs in
// one folder then spoil each other's partial files, which the hashes show.
func lockExclusively(*os.File) error { return nil }
