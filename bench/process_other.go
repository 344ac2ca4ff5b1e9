//go:build !linux

package main

import (
	"errors"
	"time"
)

var errLinuxOnly = errors.New("the benchmark reads the processor time and memory of other processes from /proc: run it on Linux")

func processCPU(int) (time.Duration, error) { return 0, errLinuxOnly }

type memory struct{ resident, peak, anonymous float64 }

func readMemory(int) (memory, error) { return memory{}, errLinuxOnly }
