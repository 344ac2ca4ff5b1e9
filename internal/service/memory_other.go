//go:build !linux

package service

// HideMemory does nothing where the system has no such switch.
func HideMemory() error { return nil }
