package e2e

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

// mostMemory is the limit of the service's peak memory, in bytes.
const mostMemory = 250 << 20

// Files that need too much memory, end early, have a wrong type or are two types at once are
// refused with a reason, or served as one type only. The service keeps working.
func TestHostileFilesAreRefused(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, chain.keepingFiles(sqliteIn(t), t.TempDir()))
	mission := f.publish(photoMission(100))
	whole := photo(1).data
	bomb := specimen.Deflate(make([]byte, 400<<20))
	refused := map[string]submission{}
	for name, file := range map[string]file{
		"one byte":                        {"image/jpeg", []byte{0xff}},
		"cut off":                         {"image/jpeg", whole[:len(whole)/2]},
		"another type than declared":      {"image/png", photo(2).data},
		"drawing with a script":           {"image/png", []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`)},
		"page":                            {"image/jpeg", []byte("<!doctype html><html><script>alert(1)</script></html>")},
		"film":                            {"image/jpeg", specimen.File("plain.mp4")},
		"canvas of 16 million by as many": {"image/webp", specimen.RIFF(specimen.RIFFChunk("VP8X", []byte{0, 0, 0, 0, 255, 255, 255, 255, 255, 255}), specimen.File("lossy.webp")[12:])},
		"profile of 400 MB":               {"image/png", specimen.PNG(specimen.Picture(64, 64, 3), specimen.Chunk("iCCP", []byte("big\x00\x00"), bomb))},
	} {
		refused[name] = f.submit("contributor1", mission, file)
	}
	tail := []byte("<html><script>alert(1)</script>")
	double := f.submit("contributor2", mission, file{"image/jpeg", append(whole, tail...)})

	for name, s := range refused {
		if seen := f.awaitStatus(s, sortie.SubmissionRejected); seen.Reason == "" || seen.Payout.Status != sortie.PayoutNone {
			t.Errorf("%s: got reason %q and payout %s, want a reason and no payout", name, seen.Reason, seen.Payout.Status)
		}
	}
	f.awaitStatus(double, sortie.SubmissionAccepted)
	served, err := f.fetch(f.checkDelivered(mission, double, sortie.SubmissionAccepted).MediaURL)
	if err != nil || bytes.Contains(served, tail) {
		t.Errorf("the data after a picture is served with it: %v", err)
	}
	if delivered := f.delivered(mission); len(delivered) != 1 {
		t.Errorf("delivered are %d files, want 1", len(delivered))
	}
	if memory := f.service.peakMemory(t); memory > mostMemory {
		t.Errorf("the service took %d MiB", memory>>20)
	}
}

// peakMemory is the peak resident memory, if the system reports it.
func (p *process) peakMemory(t *testing.T) (bytes int64) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.command.Process.Pid), "status"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	_, line, _ := strings.Cut(string(text), "VmHWM:")
	var kilobytes int64
	if _, err := fmt.Sscan(line, &kilobytes); err != nil {
		t.Fatalf("read the memory of the service: %v", err)
	}
	return kilobytes << 10
}

// A file that has changed on the disk, is truncated or is missing is not served, even if it was
// served before. Other files are.
func TestDamagedFilesAreNotServed(t *testing.T) {
	t.Parallel()
	chain, directory := startAnvil(t), t.TempDir()
	f := follow(t, chain, chain.keepingFiles(sqliteIn(t), directory))
	mission := f.publish(photoMission(4))
	damages := []func(path string, data []byte) error{
		func(path string, data []byte) error { data[len(data)/2] ^= 1; return os.WriteFile(path, data, 0o600) },
		func(path string, data []byte) error { return os.Truncate(path, int64(len(data)/2)) },
		func(path string, _ []byte) error { return os.Remove(path) },
		func(string, []byte) error { return nil },
	}
	for i, damage := range damages {
		s := f.submit("contributor1", mission, photo(i))
		f.awaitStatus(s, sortie.SubmissionAccepted)
		link := f.checkDelivered(mission, s, sortie.SubmissionAccepted).MediaURL
		served, err := f.fetch(link)
		if err != nil {
			t.Fatal(err)
		}
		path := findFile(t, directory, served)
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := damage(path, bytes.Clone(served)); err != nil {
			t.Fatal(err)
		}
		again, err := f.fetch(link)
		switch undamaged := i == len(damages)-1; {
		case undamaged && (err != nil || !bytes.Equal(again, served)):
			t.Errorf("an undamaged file: %v", err)
		case !undamaged && !isCode(err, sortie.CodeNotFound):
			t.Errorf("damaged in way %d: %d bytes, %v", i, len(again), err)
		}
	}
}

// findFile is the path of a file with these bytes.
func findFile(t *testing.T, directory string, data []byte) (path string) {
	t.Helper()
	want := sha256.Sum256(data)
	err := filepath.WalkDir(directory, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if found, err := os.ReadFile(at); err == nil && sha256.Sum256(found) == want {
			path = at
		}
		return nil
	})
	if err != nil || path == "" {
		t.Fatalf("the served file is nowhere below the media directory: %v", err)
	}
	return path
}
