//go:build !unix

package funding

import "os/exec"

// killWithChildren leaves it at killing the process itself where process groups do not exist.
func killWithChildren(*exec.Cmd) {}
