//go:build !linux

package store

import "syscall"

// setUserTimeout does nothing: here keepalive alone ends dead connections.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
