//go:build !linux

package store

import "syscall"

// setUserTimeout does nothing: on this system only keepalive ends dead connections.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
