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

// fullDisk is the argument with which this program fills a disk of its own, mounted where nobody
// else sees it.
const fullDisk = "full-disk"

func TestIngestOnAFullDisk(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "--user", "--mount", "true").Run(); err != nil {
		t.Skipf("this kernel lets no user mount a disk of his own: %v", err)
	}
	self := exec.Command(os.Args[0], fullDisk, t.TempDir())
	self.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if output, err := self.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
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

// ingestOnFullDisk takes in a picture that is larger than what is left of the disk: that is
// nobody's fault but the disk's.
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
		return fmt.Errorf("take in on a full disk: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(disk, "sortie-media-*"))
	if err != nil || len(left) > 0 {
		return fmt.Errorf("left behind: %v, %w", left, err)
	}
	return nil
}
