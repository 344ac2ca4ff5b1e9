//go:build !linux

package service

// HideMemory does nothing on systems without such a setting.
func HideMemory() error { return nil }
