//go:build !unix

package ingest

import (
	"os"
	"os/exec"
)

// killWithChildren does nothing: without process groups, only the process itself is killed.
func killWithChildren(*exec.Cmd) {}

func killedFromOutside(*os.ProcessState) bool { return false }

func crashed(*os.ProcessState) bool { return false }
