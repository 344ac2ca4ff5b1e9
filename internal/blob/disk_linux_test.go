package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
)

// fullDisk is the argument with which this program mounts and fills a disk in its own namespace.
const fullDisk = "full-disk"

func TestFullDisk(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "--user", "--mount", "true").Run(); err != nil {
		t.Skipf("this kernel does not let users mount disks: %v", err)
	}
	self := exec.Command(os.Args[0], fullDisk, t.TempDir())
	self.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if output, err := self.CombinedOutput(); err != nil {
		t.Errorf("run on a full disk: %v: %s", err, output)
	}
}

func init() {
	otherMains[fullDisk] = func(args []string) int {
		if err := fillDisk(args[0]); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
}

func fillDisk(dir string) error {
	outside := filepath.Join(dir, "outside")
	disk := filepath.Join(dir, "disk")
	if err := errors.Join(os.Mkdir(outside, 0o700), os.Mkdir(disk, 0o700), syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m")); err != nil {
		return err
	}
	objects, err := blob.OpenObjects(context.Background(), "file:"+disk)
	if err != nil {
		return err
	}
	large, small := make([]byte, 4<<20), make([]byte, 1000)
	if err := keep(objects, outside, large); !errors.Is(err, blob.ErrUnavailable) || !errors.Is(err, blob.ErrNoRoom) {
		return fmt.Errorf("put more than fits: got %w, want ErrNoRoom", err)
	}
	if objects.Working() {
		return errors.New("Working on a full disk: got true, want false")
	}
	if err := keep(objects, outside, small); err != nil || !objects.Working() { // the failed put left nothing
		return fmt.Errorf("put what fits: %w", err)
	}
	return errors.Join(uploadToNearlyFullDisk(disk), uploadToFullDisk(disk))
}

// uploadToNearlyFullDisk uploads to a disk with only the reserve left, which is for other data,
// like a database.
func uploadToNearlyFullDisk(disk string) error {
	incoming, err := blob.OpenIncoming(filepath.Join(disk, "uploads"))
	if err != nil {
		return err
	}
	upload, err := incoming.Open("sub_last")
	if err != nil {
		return err
	}
	var free syscall.Statfs_t
	if err := syscall.Statfs(disk, &free); err != nil {
		return err
	}
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, int64(free.Bavail)*free.Bsize-32<<10), 0o600); err != nil {
		return err
	}
	if n, err := upload.Append(context.Background(), bytes.NewReader(make([]byte, 8<<10)), 8<<10); n != 0 || !errors.Is(err, blob.ErrNoRoom) {
		return fmt.Errorf("an upload to the reserve: got %d bytes, %w, want ErrNoRoom", n, err)
	}
	if err := os.WriteFile(filepath.Join(disk, "database"), make([]byte, 8<<10), 0o600); err != nil {
		return fmt.Errorf("write other data to the reserve: %w", err)
	}
	return errors.Join(os.Remove(ballast), os.Remove(filepath.Join(disk, "database")), upload.Remove())
}

// uploadToFullDisk fills the disk with an upload, which continues when there is room again.
func uploadToFullDisk(disk string) (err error) {
	incoming, err := blob.OpenIncoming(filepath.Join(disk, "uploads"))
	if err != nil {
		return err
	}
	upload, err := incoming.Open("sub_large")
	if err != nil {
		return err
	}
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 512<<10), 0o600); err != nil {
		return err
	}
	data := make([]byte, 700<<10)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	n, err := upload.Append(context.Background(), bytes.NewReader(data), int64(len(data)))
	if !errors.Is(err, blob.ErrNoRoom) || !errors.Is(err, blob.ErrUnavailable) || n != upload.Size() || n == 0 || n == int64(len(data)) {
		return fmt.Errorf("upload more than fits: got %d bytes, %w, want a part and ErrNoRoom", n, err)
	}
	if err := incoming.Probe(); !errors.Is(err, blob.ErrNoRoom) || incoming.Working() {
		return fmt.Errorf("probe of a full disk: got %w, want ErrNoRoom", err)
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	if err := incoming.Probe(); err != nil || !incoming.Working() {
		return fmt.Errorf("probe of a disk with room: %w", err)
	}
	if _, err := upload.Append(context.Background(), bytes.NewReader(data[n:]), int64(len(data))); err != nil {
		return fmt.Errorf("continue when there is room: %w", err)
	}
	if _, hash, err := upload.Finish(); err != nil || hash != sortie.Hash(sha256.Sum256(data)) {
		return fmt.Errorf("the finished upload has another hash: %w", err)
	}
	return upload.Remove()
}

func keep(objects *blob.Objects, dir string, data []byte) error {
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	return objects.Put(context.Background(), sortie.Hash(sha256.Sum256(data)), path)
}
