package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPullRequiresAFolderPerMission(t *testing.T) {
	t.Parallel()
	d, other := newDeliveries(t, 2, 100), newDeliveries(t, 1, 100)
	other.mission = "another-7k2m9x1p"
	directory := t.TempDir()
	d.pull(t, directory)
	if _, code, stderr := other.pull(t, directory); code != int(ExitUsage) || !strings.Contains(stderr, "it has the deliverables of entrance-7k2m9x1p") {
		t.Errorf("pull of another mission: got exit code %d and %q, want %d and the mission of the folder", code, stderr, ExitUsage)
	}
	d.wantFolder(t, directory)
	held, err := openFolder(directory, d.mission)
	if err != nil {
		t.Fatal(err)
	}
	defer held.close()
	if _, code, stderr := d.pull(t, directory); code != int(ExitConflict) || !strings.Contains(stderr, "another run uses it; wait") {
		t.Errorf("pull into a locked folder: got exit code %d and %q, want %d", code, stderr, ExitConflict)
	}
}

// Links in the folder are not followed out of it.
func TestPullStaysInItsFolder(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, 1, 100)
	directory, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(directory, d.order[0]+".jpg.part")); err != nil {
		t.Fatal(err)
	}
	if _, code, _ := d.pull(t, directory); code == 0 {
		t.Error("pull through a link out of the folder: got exit code 0, want a failure")
	}
	if kept, err := os.ReadFile(outside); err != nil || string(kept) != "precious" {
		t.Errorf("file outside the folder: got %q, %v; want it unchanged", kept, err)
	}
}

func TestPullKeepsAForeignManifest(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, 1, 100)
	directory := t.TempDir()
	mine := filepath.Join(directory, manifestName)
	if err := os.WriteFile(mine, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first run must not make the second succeed
		if _, code, stderr := d.pull(t, directory); code != int(ExitUsage) || !strings.Contains(stderr, "its manifest.jsonl was not written by a pull") {
			t.Errorf("got exit code %d and %q, want %d and the foreign manifest", code, stderr, ExitUsage)
		}
	}
	if kept, err := os.ReadFile(mine); err != nil || string(kept) != "precious" {
		t.Errorf("foreign manifest: got %q, %v; want it unchanged", kept, err)
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) != 1 {
		t.Errorf("files in the folder: got %v, %v; want the manifest only", entries, err)
	}
}

// An obstacle at the place of one file does not stop the others.
func TestPullContinuesWithoutAnObstructedFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		obstruct func(path string) error
		want     string
	}{
		"a directory":             {func(path string) error { return os.Mkdir(path, 0o755) }, ".jpg is a directory: move it away"},
		"a link out":              {func(path string) error { return os.Symlink("/etc/passwd", path) }, "is a link that is broken or leads out"},
		"a directory as the part": {func(path string) error { return os.Mkdir(path+partSuffix, 0o755) }, ".part is a directory: move it away"},
		"a link as the part":      {func(path string) error { return os.Symlink("/etc/passwd", path+partSuffix) }, "is a link that is broken or leads out"},
		"a link to itself":        {func(path string) error { return os.Symlink(filepath.Base(path), path) }, "is a link that is broken or leads out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeliveries(t, 5, 1000)
			directory := t.TempDir()
			if err := c.obstruct(filepath.Join(directory, d.order[0]+".jpg")); err != nil {
				t.Fatal(err)
			}
			result, code, stderr := d.pull(t, directory)
			if code != int(ExitFailure) || result.Downloaded != 4 || len(result.Failed) != 1 || !strings.Contains(stderr, "1 file could not be downloaded") {
				t.Fatalf("got exit code %d, %+v and %q; want %d, 4 downloads and 1 failure", code, result, stderr, ExitFailure)
			}
			if got := result.Failed[0]; got.SubmissionID != d.order[0] || !strings.Contains(got.Error, c.want) {
				t.Errorf("failure: got %+v, want %s of %s", got, c.want, d.order[0])
			}
		})
	}
}
