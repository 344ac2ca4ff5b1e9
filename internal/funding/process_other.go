//go:build !unix

package funding

import "os/exec"

// killWithChildren does nothing: without process groups only the process itself is killed.
func killWithChildren(*exec.Cmd) {}
