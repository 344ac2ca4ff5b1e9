package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

// fullDisk is the argument with which this program mounts and fills a disk in its own namespace.
const fullDisk = "full-disk"

func TestIngestOnAFullDisk(t *testing.T) {
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
		t.Errorf("ingest on a full disk: %v: %s", err, output)
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
	return ingestOnFullDisk(outside, disk)
}

// ingestOnFullDisk ingests a picture that is larger than the free space of the disk: an error, but
// not a problem of the file.
func ingestOnFullDisk(outside, disk string) error {
	path := filepath.Join(outside, "upload")
	noise := specimen.Picture(1000, 1000, 1)
	for i := range noise.Pix {
		noise.Pix[i] ^= byte(rand.Uint32())
	}
	if err := os.WriteFile(path, specimen.PNG(noise), 0o600); err != nil {
		return err
	}
	ingester := ingest.New(ingest.Config{TempDir: disk, MemoryLimit: childMemory})
	_, err := ingester.Ingest(context.Background(), path, "image/png")
	var problem *ingest.Problem
	if err == nil || errors.As(err, &problem) {
		return fmt.Errorf("ingest on a full disk: got %w, want an error that is not a problem of the file", err)
	}
	left, err := filepath.Glob(filepath.Join(disk, "sortie-media-*"))
	if err != nil || len(left) > 0 {
		return fmt.Errorf("left over: %v, %w", left, err)
	}
	return nil
}
