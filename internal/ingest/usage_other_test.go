//go:build !linux

package ingest_test

import "os"

// peakMemory is not known where the limit is not a hard one.
func peakMemory(*os.ProcessState) int64 { return 0 }
