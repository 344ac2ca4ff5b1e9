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

// folder is a directory with the deliverables of one mission. It changes only files that are named
// after a submission, and nothing outside the directory.
type folder struct {
	path   string
	root   *os.Root
	marker *os.File
}

// The other files in the folder.
const (
	manifestName = "manifest.jsonl"
	revokedName  = "revoked"
	markerName   = ".sortie-pull" // holds the mission's id; locked while a run works in the folder
	partSuffix   = ".part"
)

// openFolder opens a directory for one mission and one run at a time. With two missions in one
// directory, each run would move the other's files to revoked/.
func openFolder(path, missionID string) (*folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, UsageError("DIR: %w", err)
	}
	if hasForeignManifest(root) {
		_ = root.Close()
		return nil, UsageError("DIR %s: its %s was not written by a pull and would be replaced; give another directory", path, manifestName)
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

// hasForeignManifest reports whether the directory has a manifest that no run wrote. A run writes
// its marker before its manifest.
func hasForeignManifest(root *os.Root) bool {
	if _, err := root.Lstat(manifestName); err != nil {
		return false
	}
	owner, err := root.ReadFile(markerName)
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(owner)) == 0
}

// errLocked reports that another process has locked the file.
var errLocked = errors.New("locked")

func (f *folder) claim(missionID string) error {
	switch err := lockExclusively(f.marker); {
	case errors.Is(err, errLocked):
		return Failed(ExitConflict, fmt.Errorf("DIR %s: another run uses it; wait until it has ended, or give another directory", f.path))
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
		return UsageError("DIR %s: it has the deliverables of %s; give another directory for %s", f.path, clean(owner), missionID)
	}
}

func (f *folder) close() {
	_ = f.marker.Close()
	_ = f.root.Close()
}

var submissionName = regexp.MustCompile(`^(sub_[0-9a-z]{26})\.[a-z0-9]{1,4}(\.part)?$`)

// fileName returns the file name of a deliverable. It refuses ids that are not of the known form.
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

// held describes the file of a deliverable in the folder.
type held struct {
	size    int64
	right   bool
	changed bool // the file has other bytes
}

// verify compares the file with its hash. It moves the file of a submission that is accepted again
// back from revoked/. Its errors concern only this file.
func (f *folder) verify(name string, want [sha256.Size]byte) (held, error) {
	if _, err := f.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		_ = f.root.Rename(revokedName+"/"+name, name) // usually there is none
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
		return held{}, &fileError{fmt.Errorf("read %s: %w", name, err)}
	}
	right := bytes.Equal(sum.Sum(nil), want[:])
	return held{size: size, right: right, changed: !right}, nil
}

// openRegular opens a regular file of the folder: reading a pipe would block.
func (f *folder) openRegular(name string, flag int) (*os.File, error) {
	if info, err := f.root.Stat(name); err == nil && !info.Mode().IsRegular() {
		kind := "not a regular file"
		if info.IsDir() {
			kind = "a directory"
		}
		return nil, fmt.Errorf("%s is %s: move it away and run it again", name, kind)
	}
	file, err := f.root.OpenFile(name, flag, 0o644)
	if err == nil || errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE == 0 {
		return file, err
	}
	if info, statErr := f.root.Lstat(name); statErr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a link that is broken or leads out of the directory: move it away and run it again", name)
	}
	return nil, fmt.Errorf("open %s: %w", name, err)
}

// revoke moves the files of submissions that are not in keep to revoked/, and removes their parts.
func (f *folder) revoke(keep map[string]bool) (moved []string, err error) {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", f.path, err)
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

// manifestEntry is one line of the manifest: a deliverable without its links, and its file.
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
	name, _ := fileName(d) // checked before the download
	return manifestEntry{
		File: name, SizeBytes: size, SubmissionID: d.SubmissionID, MediaType: d.MediaType, CreatedAt: d.CreatedAt, VerifiedAt: d.VerifiedAt,
		Location: d.Location, Verification: d.Verification, Media: d.Media, Provenance: d.Provenance,
	}
}

// writeManifest replaces the manifest atomically.
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

// partFile is a partly downloaded file. It is kept when the program ends, and the next run
// continues it.
type partFile struct {
	folder *folder
	name   string
	want   [sha256.Size]byte
	file   *os.File
	sum    hash.Hash
	have   atomic.Int64
	total  atomic.Int64 // size of the whole file; 0 if unknown
}

// maxMediaBytes limits a download. It is more than the service accepts as an upload.
const maxMediaBytes = 1 << 30

func (f *folder) openPart(name string, want [sha256.Size]byte) (*partFile, error) {
	file, err := f.openRegular(name+partSuffix, os.O_CREATE|os.O_RDWR)
	if err != nil {
		if _, statErr := f.root.Lstat(name + partSuffix); statErr == nil { // this file is the obstacle
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

// Write appends to the file.
func (p *partFile) Write(b []byte) (int, error) {
	if p.size()+int64(len(b)) > maxMediaBytes {
		return 0, &fileError{fmt.Errorf("%s: it is larger than %s", p.name, formatBytes(maxMediaBytes))}
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

// expect sets the size of the whole file; -1 if unknown.
func (p *partFile) expect(total int64) { p.total.Store(max(0, total)) }

// share returns the downloaded share of the file, from 0 to 1.
func (p *partFile) share() float64 {
	if total := p.total.Load(); total > 0 {
		return min(1, float64(p.size())/float64(total))
	}
	return 0
}

// complete reports whether the hash of the file matches.
func (p *partFile) complete() bool { return bytes.Equal(p.sum.Sum(nil), p.want[:]) }

// reset discards the downloaded part.
func (p *partFile) reset() error {
	_, err := p.file.Seek(0, io.SeekStart)
	if err = errors.Join(err, p.file.Truncate(0)); err != nil {
		return fmt.Errorf("reset %s: %w", p.name+partSuffix, err)
	}
	p.sum.Reset()
	p.have.Store(0)
	return nil
}

// publish flushes the part to the disk and renames it to the file.
func (p *partFile) publish() error {
	err := p.file.Sync()
	if err == nil {
		err = p.folder.root.Rename(p.name+partSuffix, p.name)
	}
	if err != nil {
		return fmt.Errorf("publish %s: %w", p.name, err)
	}
	return nil
}

func (p *partFile) remove() error { return p.folder.root.Remove(p.name + partSuffix) }

func (p *partFile) close() { _ = p.file.Close() }
