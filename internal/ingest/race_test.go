//go:build race

package ingest_test

// The race detector's own memory is many times the program's: a child that runs with it gets no
// limit worth the name.
const (
	raceDetector = true
	childMemory  = 1 << 40
)
