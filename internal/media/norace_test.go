//go:build !race

package media_test

const (
	raceDetector = false
	childMemory  = 256 << 20
)
