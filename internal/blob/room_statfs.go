//go:build linux || darwin || freebsd

package blob

import "golang.org/x/sys/unix"

// room returns how many bytes may still be written to the disk of a directory, and its size.
func room(directory string) (free, all uint64, err error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(directory, &disk); err != nil {
		return 0, 0, err
	}
	return uint64(disk.Bavail) * uint64(disk.Bsize), uint64(disk.Blocks) * uint64(disk.Bsize), nil
}
