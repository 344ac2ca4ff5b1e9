package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPullWantsAFolderForEachMission(t *testing.T) {
	t.Parallel()
	d, other := newDeliveries(t, 2, 100), newDeliveries(t, 1, 100)
	other.mission = "another-7k2m9x1p"
	directory := t.TempDir()
	d.pull(t, directory)
	if _, code, stderr := other.pull(t, directory); code != int(ExitUsage) || !strings.Contains(stderr, "holds the deliverables of entrance-7k2m9x1p") {
		t.Errorf("%d: %s", code, stderr)
	}
	d.wantFolder(t, directory)
	held, err := openFolder(directory, d.mission)
	if err != nil {
		t.Fatal(err)
	}
	defer held.close()
	if _, code, stderr := d.pull(t, directory); code != int(ExitConflict) || !strings.Contains(stderr, "another run works in it; wait") {
		t.Errorf("%d: %s", code, stderr)
	}
}

// What the folder holds cannot lead out of it.
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
		t.Error("it followed a link out of the folder")
	}
	if kept, err := os.ReadFile(outside); err != nil || string(kept) != "precious" {
		t.Errorf("%s %v", kept, err)
	}
}

func TestPullLeavesTheManifestsOfOthers(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, 1, 100)
	directory := t.TempDir()
	mine := filepath.Join(directory, manifestName)
	if err := os.WriteFile(mine, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first leaves nothing that would let the second in
		if _, code, stderr := d.pull(t, directory); code != int(ExitUsage) || !strings.Contains(stderr, "it has a manifest.jsonl that no pull wrote") {
			t.Errorf("%d: %s", code, stderr)
		}
	}
	if kept, err := os.ReadFile(mine); err != nil || string(kept) != "precious" {
		t.Errorf("%s %v", kept, err)
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
}

// What stands in the place of one file keeps nobody from the others.
func TestPullGoesOnWithoutWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		obstruct func(path string) error
		want     string
	}{
		"a directory":             {func(path string) error { return os.Mkdir(path, 0o755) }, ".jpg is a directory here: move it away"},
		"a link out":              {func(path string) error { return os.Symlink("/etc/passwd", path) }, "is a link here"},
		"a directory as the part": {func(path string) error { return os.Mkdir(path+partSuffix, 0o755) }, ".part is a directory here: move it away"},
		"a link as the part":      {func(path string) error { return os.Symlink("/etc/passwd", path+partSuffix) }, "is a link here"},
		"a link to itself":        {func(path string) error { return os.Symlink(filepath.Base(path), path) }, "is a link here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeliveries(t, 5, 1000)
			directory := t.TempDir()
			if err := c.obstruct(filepath.Join(directory, d.order[0]+".jpg")); err != nil {
				t.Fatal(err)
			}
			result, code, stderr := d.pull(t, directory)
			if code != int(ExitFailure) || result.Downloaded != 4 || len(result.Failed) != 1 || !strings.Contains(stderr, "1 file could not be brought") {
				t.Fatalf("%d: %+v: %s", code, result, stderr)
			}
			if got := result.Failed[0]; got.SubmissionID != d.order[0] || !strings.Contains(got.Error, c.want) {
				t.Errorf("%+v, want %s", got, c.want)
			}
		})
	}
}
