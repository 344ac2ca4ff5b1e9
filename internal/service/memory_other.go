//go:build !linux

package service

// HideMemory does nothing: only Linux has such a setting.
func HideMemory() error { return nil }
