//go:build race

package ingest_test

// The memory of the race detector is many times the program's, so a child has no effective limit.
const (
	raceDetector = true
	childMemory  = 1 << 40
)
