//go:build linux || darwin || freebsd

package blob

import "golang.org/x/sys/unix"

// room tells how many bytes may still be written to a disk, and how many it has in all.
func room(directory string) (free, all uint64, err error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(directory, &disk); err != nil {
		return 0, 0, err
	}
	return uint64(disk.Bavail) * uint64(disk.Bsize), uint64(disk.Blocks) * uint64(disk.Bsize), nil
}
