//go:build !linux

package media_test

const fullDisk = "full-disk"

func useFullDisk(string) int { return 1 }
