//go:build unix

package ingest_test

import "syscall"

func killSelf() error { return syscall.Kill(syscall.Getpid(), syscall.SIGKILL) }
