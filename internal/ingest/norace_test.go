//go:build !race

package ingest_test

const (
	raceDetector = false
	childMemory  = 256 << 20
)
