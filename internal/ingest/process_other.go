//go:build !unix

package ingest

import (
	"os"
	"os/exec"
)

// killWithChildren leaves it at killing the process itself where process groups do not exist.
func killWithChildren(*exec.Cmd) {}

func killedFromOutside(*os.ProcessState) bool { return false }

func crashed(*os.ProcessState) bool { return false }
