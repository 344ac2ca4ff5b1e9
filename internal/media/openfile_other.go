//go:build !unix

package media

import "os"

func openFile(path string) (*os.File, error) { return os.Open(path) }
