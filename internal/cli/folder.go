package cli

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/sortie-labs/sortie"
)

// folder is a directory that the deliverables of one mission are pulled into. Nothing outside of it
// is touched, whatever names and links it holds, and nothing in it that is not named after a
// submission.
type folder struct {
	path   string
	root   *os.Root
	marker *os.File
}

// What lies in the folder beside the media.
const (
	manifestName = "manifest.jsonl"
	revokedName  = "revoked"
	markerName   = ".sortie-pull" // holds the mission's id; locked while a run works in the folder
	partSuffix   = ".part"
)

// openFolder opens a directory for one mission and one run at a time. Files of two missions in one
// directory would look as if each took the other's back.
func openFolder(path, missionID string) (*folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, UsageError("DIR: %w", err)
	}
	if isForeign(root) {
		_ = root.Close()
		return nil, UsageError("DIR %s: it has a %s that no pull wrote, and it would be replaced; give another directory", path, manifestName)
	}
	marker, err := root.OpenFile(markerName, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("DIR %s: %w", path, err)
	}
	f := &folder{path: path, root: root, marker: marker}
	if err := f.claim(missionID); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// isForeign reports whether somebody else's manifest lies in the directory. A run writes its marker
// long before its manifest.
func isForeign(root *os.Root) bool {
	if _, err := root.Lstat(manifestName); err != nil {
		return false
	}
	owner, err := root.ReadFile(markerName)
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(owner)) == 0
}

// errLocked says that another process holds a file.
var errLocked = errors.New("locked")

func (f *folder) claim(missionID string) error {
	switch err := lockExclusively(f.marker); {
	case errors.Is(err, errLocked):
		return Failed(ExitConflict, fmt.Errorf("DIR %s: another run works in it; wait until it is through, or give another directory", f.path))
	case err != nil:
		return fmt.Errorf("DIR %s: lock %s: %w; give a directory on another disk", f.path, markerName, err)
	}
	held, err := io.ReadAll(io.LimitReader(f.marker, 256))
	if err != nil {
		return fmt.Errorf("DIR %s: %w", f.path, err)
	}
	switch owner := strings.TrimSpace(string(held)); owner {
	case missionID:
		return nil
	case "":
		if _, err := f.marker.WriteAt([]byte(missionID+"\n"), 0); err != nil {
			return fmt.Errorf("DIR %s: %w", f.path, err)
		}
		return nil
	default:
		return UsageError("DIR %s: it holds the deliverables of %s; give a directory of its own to %s", f.path, clean(owner), missionID)
	}
}

func (f *folder) close() {
	_ = f.marker.Close()
	_ = f.root.Close()
}

var submissionName = regexp.MustCompile(`^(sub_[0-9a-z]{26})\.[a-z0-9]{1,4}(\.part)?$`)

// fileName is the name of a deliverable's file. What the service says becomes a name only if it is
// one of ours.
func fileName(deliverable sortie.Deliverable) (string, error) {
	extension := sortie.FileExtension(deliverable.Media.ContentType)
	if extension == "" {
		extension = ".bin"
	}
	name := deliverable.SubmissionID + extension
	if !submissionName.MatchString(name) {
		return "", fmt.Errorf("submission id %q: want sub_ and 26 characters", deliverable.SubmissionID)
	}
	return name, nil
}

// held is what the folder has of a deliverable.
type held struct {
	size    int64
	right   bool
	changed bool // it is there, with other bytes
}

// look compares the file with its hash. One that was moved away, and is accepted again, comes back.
// What stands in the way of one file is no reason to leave the others.
func (f *folder) look(name string, want [sha256.Size]byte) (held, error) {
	if _, err := f.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		_ = f.root.Rename(revokedName+"/"+name, name) // there is none, mostly
	}
	file, err := f.openRegular(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return held{}, nil
	}
	if err != nil {
		return held{}, &fileError{err}
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return held{}, &fileError{fmt.Errorf("look at %s: %w", name, err)}
	}
	right := bytes.Equal(sum.Sum(nil), want[:])
	return held{size: size, right: right, changed: !right}, nil
}

// openRegular opens a file of the folder and nothing else that may have its name: reading a pipe
// would wait for ever.
func (f *folder) openRegular(name string, flag int) (*os.File, error) {
	if info, err := f.root.Stat(name); err == nil && !info.Mode().IsRegular() {
		kind := "no file"
		if info.IsDir() {
			kind = "a directory"
		}
		return nil, fmt.Errorf("%s is %s here: move it away and run it again", name, kind)
	}
	file, err := f.root.OpenFile(name, flag, 0o644)
	if err == nil || errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE == 0 {
		return file, err
	}
	if info, statErr := f.root.Lstat(name); statErr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a link here that leads nowhere or out of the directory: move it away and run it again", name)
	}
	return nil, fmt.Errorf("open %s: %w", name, err)
}

// revoke moves the files of submissions away that are not among those to keep, and drops what came
// of theirs.
func (f *folder) revoke(keep map[string]bool) (moved []string, err error) {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("look through %s: %w", f.path, err)
	}
	for _, entry := range entries {
		match := submissionName.FindStringSubmatch(entry.Name())
		if match == nil || keep[match[1]] {
			continue
		}
		if match[2] == partSuffix {
			err = f.root.Remove(entry.Name())
		} else {
			moved = append(moved, match[1])
			err = f.moveAway(entry.Name())
		}
		if err != nil {
			return moved, fmt.Errorf("move %s away: %w", entry.Name(), err)
		}
	}
	return moved, nil
}

func (f *folder) moveAway(name string) error {
	if err := f.root.Mkdir(revokedName, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return f.root.Rename(name, revokedName+"/"+name)
}

// manifestEntry is one line of the manifest: what the service says of a deliverable, without its
// links, and where the file is.
type manifestEntry struct {
	File         string              `json:"file"`
	SizeBytes    int64               `json:"sizeBytes"`
	SubmissionID string              `json:"submissionId"`
	MediaType    sortie.MediaType    `json:"mediaType"`
	CreatedAt    string              `json:"createdAt"`
	VerifiedAt   string              `json:"verifiedAt"`
	Location     sortie.Location     `json:"location"`
	Verification sortie.Verification `json:"verification"`
	Media        sortie.Media        `json:"media"`
	Provenance   sortie.Provenance   `json:"provenance"`
}

func newManifestEntry(d sortie.Deliverable, size int64) manifestEntry {
	name, _ := fileName(d) // it has a file, so it has a name
	return manifestEntry{
		File: name, SizeBytes: size, SubmissionID: d.SubmissionID, MediaType: d.MediaType, CreatedAt: d.CreatedAt, VerifiedAt: d.VerifiedAt,
		Location: d.Location, Verification: d.Verification, Media: d.Media, Provenance: d.Provenance,
	}
}

// writeManifest replaces the manifest as a whole: a reader sees the one before or this one.
func (f *folder) writeManifest(entries []manifestEntry) error {
	const fresh = manifestName + partSuffix
	write := func() error {
		file, err := f.root.Create(fresh)
		if err != nil {
			return err
		}
		defer file.Close()
		buffered := bufio.NewWriter(file)
		encoder := json.NewEncoder(buffered)
		encoder.SetEscapeHTML(false)
		for _, entry := range entries {
			if err := encoder.Encode(entry); err != nil {
				return err
			}
		}
		if err := errors.Join(buffered.Flush(), file.Sync(), file.Close()); err != nil {
			return err
		}
		return f.root.Rename(fresh, manifestName)
	}
	if err := write(); err != nil {
		return fmt.Errorf("write %s: %w", manifestName, err)
	}
	return nil
}

// partFile is a file that is coming. What came stays when the program ends, and the next run goes
// on behind it.
type partFile struct {
	folder *folder
	name   string
	want   [sha256.Size]byte
	file   *os.File
	sum    hash.Hash
	have   atomic.Int64
	total  atomic.Int64 // of the whole; 0 when that is not known
}

// maxMediaBytes is more than the service takes of anybody, and bounds what a broken one can fill
// the disk with.
const maxMediaBytes = 1 << 30

func (f *folder) openPart(name string, want [sha256.Size]byte) (*partFile, error) {
	file, err := f.openRegular(name+partSuffix, os.O_CREATE|os.O_RDWR)
	if err != nil {
		if _, statErr := f.root.Lstat(name + partSuffix); statErr == nil { // it is this one that stands in the way
			err = &fileError{err}
		}
		return nil, err
	}
	part := &partFile{folder: f, name: name, want: want, file: file, sum: sha256.New()}
	size, err := io.Copy(part.sum, file)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("read %s: %w", name+partSuffix, err)
	}
	part.have.Store(size)
	return part, nil
}

// Write appends.
func (p *partFile) Write(b []byte) (int, error) {
	if p.size()+int64(len(b)) > maxMediaBytes {
		return 0, &fileError{fmt.Errorf("%s: it does not end after %s", p.name, inBytes(maxMediaBytes))}
	}
	n, err := p.file.Write(b)
	p.sum.Write(b[:n])
	p.have.Add(int64(n))
	if err != nil {
		return n, fmt.Errorf("write %s: %w", p.name+partSuffix, err)
	}
	return n, nil
}

func (p *partFile) size() int64 { return p.have.Load() }

// expect is told how large the whole will be; -1 when nobody knows.
func (p *partFile) expect(total int64) { p.total.Store(max(0, total)) }

// share is how much of the file is there, from 0 to 1.
func (p *partFile) share() float64 {
	if total := p.total.Load(); total > 0 {
		return min(1, float64(p.size())/float64(total))
	}
	return 0
}

// complete reports whether all of it came, and right.
func (p *partFile) complete() bool { return bytes.Equal(p.sum.Sum(nil), p.want[:]) }

// reset begins again.
func (p *partFile) reset() error {
	_, err := p.file.Seek(0, io.SeekStart)
	if err = errors.Join(err, p.file.Truncate(0)); err != nil {
		return fmt.Errorf("begin %s again: %w", p.name+partSuffix, err)
	}
	p.sum.Reset()
	p.have.Store(0)
	return nil
}

// publish gives the file its name, after it is safely on the disk.
func (p *partFile) publish() error {
	err := p.file.Sync()
	if err == nil {
		err = p.folder.root.Rename(p.name+partSuffix, p.name)
	}
	if err != nil {
		return fmt.Errorf("keep %s: %w", p.name, err)
	}
	return nil
}

func (p *partFile) remove() error { return p.folder.root.Remove(p.name + partSuffix) }

func (p *partFile) close() { _ = p.file.Close() }
