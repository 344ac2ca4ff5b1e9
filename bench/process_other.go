//go:build !linux

package main

import (
	"errors"
	"time"
)

var errLinuxOnly = errors.New("the benchmark reads the processor time and memory of other processes in the way of Linux: run it there")

func processCPU(int) (time.Duration, error) { return 0, errLinuxOnly }

func residentMB(int) (float64, error) { return 0, errLinuxOnly }
