//go:build !linux

package main

import "runtime/debug"

// releaseStart gives back the garbage of the start.
func releaseStart() { debug.FreeOSMemory() }
