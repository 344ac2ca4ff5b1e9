//go:build unix

package media_test

import "syscall"

func killSelf() error { return syscall.Kill(syscall.Getpid(), syscall.SIGKILL) }
