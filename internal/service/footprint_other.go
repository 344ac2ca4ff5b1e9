//go:build !linux

package service

import "runtime/debug"

// releaseStart gives back the garbage of the start.
func releaseStart() { debug.FreeOSMemory() }
