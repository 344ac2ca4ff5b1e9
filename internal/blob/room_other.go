//go:build !linux && !darwin && !freebsd

package blob

import "errors"

func room(string) (free, all uint64, err error) { return 0, 0, errors.ErrUnsupported }
