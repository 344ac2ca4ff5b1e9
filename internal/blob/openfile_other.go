//go:build !unix

package blob

import "os"

func openFile(path string) (*os.File, error) { return os.Open(path) }
