//go:build !linux

package ingest_test

import "os"

// peakMemory is unknown on systems without a hard limit.
func peakMemory(*os.ProcessState) int64 { return 0 }
