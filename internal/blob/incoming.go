package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

// ErrUploadBusy is returned while another request writes to the upload, in this process or in
// another one on the same directory.
var ErrUploadBusy = errors.New("the upload is being written to by another request")

// Incoming stores uploads until they are complete, each in a file of a local directory. The offset
// of an upload is the length of its file, so it continues after a cut connection, a kill, or a
// power cut. It is safe for concurrent use, also by several processes that share the directory.
type Incoming struct {
	dir  string
	root *os.Root
	mu   sync.Mutex
	busy map[string]bool // uploads that this process has open

	condition
}

const uploadSuffix = ".upload"

// uploadID matches ids of uploads: names without meaning to a file system, also to one that ignores
// case.
var uploadID = regexp.MustCompile(`^[0-9a-z_]{1,64}$`)

// OpenIncoming opens the directory and creates it if it does not exist. It fails if nothing can be
// written there.
func OpenIncoming(dir string) (*Incoming, error) {
	opened, err := openIncoming(dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory of uploads: %w", err)
	}
	return opened, nil
}

func openIncoming(dir string) (*Incoming, error) {
	if dir == "" {
		return nil, errors.New("the directory has no name")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := errors.Join(probeDirectory(dir), syncDirectory(dir)); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Incoming{dir: dir, root: root, busy: make(map[string]bool)}, nil
}

// Close releases the directory.
func (i *Incoming) Close() error { return i.root.Close() }

// Uploads leave a part of the disk free for other data, like a database on the same disk: strangers
// could fill all of it.
const (
	reservePart = 20      // one twentieth of the disk
	mostReserve = 1 << 30 // at most, on a large disk

	roomInterval = 1 << 20 // bytes between two checks of the free space
)

// Room returns how many bytes of uploads fit on the disk.
func (i *Incoming) Room() int64 {
	free, all, err := room(i.dir)
	if err != nil {
		return math.MaxInt64 // unknown; writes fail when the disk is full
	}
	kept := min(all/reservePart, mostReserve)
	return int64(min(free-min(free, kept), math.MaxInt64))
}

// hasRoom fails if the disk has no room for uploads.
func (i *Incoming) hasRoom() error {
	free, all, err := room(i.dir)
	if err == nil && free < min(all/reservePart, mostReserve) {
		return fmt.Errorf("%w: the rest is reserved for other data than uploads", ErrNoRoom)
	}
	return nil // if unknown, writes fail when the disk is full
}

// Probe fails if nothing can be written now.
func (i *Incoming) Probe() error {
	if err := i.noted(errors.Join(i.hasRoom(), probeDirectory(i.dir))); err != nil {
		return fmt.Errorf("probe the directory of uploads: %w", err)
	}
	return nil
}

// Open opens an upload for writing until [Partial.Close]. A new upload is empty. It returns
// [ErrUploadBusy] while another request has the upload open.
func (i *Incoming) Open(id string) (*Partial, error) {
	if !uploadID.MatchString(id) {
		return nil, fmt.Errorf("open upload: %.80q is not the id of an upload", id)
	}
	if !i.enter(id) {
		return nil, fmt.Errorf("open upload %s: %w", id, ErrUploadBusy)
	}
	file, size, err := i.openLocked(id + uploadSuffix)
	if i.noted(err) != nil {
		i.leave(id)
		return nil, fmt.Errorf("open upload %s: %w", id, err)
	}
	return &Partial{incoming: i, id: id, file: file, size: size, sum: sha256.New()}, nil
}

func (i *Incoming) enter(id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.busy[id] {
		return false
	}
	i.busy[id] = true
	return true
}

func (i *Incoming) leave(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.busy, id)
}

// openLocked opens and locks a file. The previous writer may have removed the file between the
// opening and the lock; then it opens the file again.
func (i *Incoming) openLocked(name string) (*os.File, int64, error) {
	for {
		file, err := i.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, 0, diskFault(err)
		}
		size, current, err := i.lock(file, name)
		if err != nil {
			return nil, 0, errors.Join(err, file.Close())
		}
		if current {
			return file, size, nil
		}
		if err := errors.Join(unlockFile(file), file.Close()); err != nil {
			return nil, 0, diskFault(err)
		}
	}
}

func (i *Incoming) lock(file *os.File, name string) (size int64, current bool, err error) {
	if err := lockFile(file); err != nil {
		return 0, false, err
	}
	opened, err := file.Stat()
	if err != nil {
		return 0, false, diskFault(err)
	}
	named, err := i.root.Stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, false, diskFault(err)
	}
	if err != nil || !os.SameFile(opened, named) {
		return 0, false, nil
	}
	if opened.Size() == 0 { // it may be new
		if err := syncDirectory(i.dir); err != nil {
			return 0, false, diskFault(err)
		}
	}
	return opened.Size(), true, nil
}

// Discard removes an upload that is no longer needed. It returns [ErrUploadBusy] while a request
// writes to it.
func (i *Incoming) Discard(id string) error {
	if _, err := i.root.Stat(id + uploadSuffix); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	partial, err := i.Open(id)
	if err != nil {
		return err
	}
	return errors.Join(partial.Remove(), partial.Close())
}

// Tidy removes the uploads that were last written to before the given time.
func (i *Incoming) Tidy(before time.Time) error {
	entries, err := fs.ReadDir(i.root.FS(), ".")
	if err != nil {
		return fmt.Errorf("tidy uploads: %w", err)
	}
	for _, entry := range entries {
		id, found := strings.CutSuffix(entry.Name(), uploadSuffix)
		info, err := entry.Info()
		if !found || err != nil || !info.ModTime().Before(before) {
			continue
		}
		if err := i.remove(id, before); err != nil && !errors.Is(err, ErrUploadBusy) {
			return fmt.Errorf("tidy uploads: %w", err)
		}
	}
	return nil
}

// remove checks the time again under the lock: the upload may have been written to meanwhile.
func (i *Incoming) remove(id string, before time.Time) error {
	partial, err := i.Open(id)
	if err != nil {
		return err
	}
	info, err := partial.file.Stat()
	if err == nil && info.ModTime().Before(before) {
		err = partial.Remove()
	}
	return errors.Join(err, partial.Close())
}

// Partial is an upload that is open for writing. It is not safe for concurrent use.
type Partial struct {
	incoming *Incoming
	id       string
	file     *os.File
	size     int64
	sum      hash.Hash // of the first summed bytes, so that an upload in one request is not read again
	summed   int64
}

// Size returns the number of bytes received.
func (p *Partial) Size() int64 { return p.size }

// uploadBuffer is the buffer of an upload. It is small because thousands of slow uploads may hold
// one each.
const uploadBuffer = 16 << 10

var uploadBuffers = sync.Pool{New: func() any { return new([uploadBuffer]byte) }}

// Append adds the bytes of a reader, at most limit. It returns how many were added; these are
// durable, even if an error is returned. Errors of the reader are returned as they are; [ErrNoRoom]
// and other kinds of [ErrUnavailable] are errors of the disk.
func (p *Partial) Append(ctx context.Context, r io.Reader, limit int64) (n int64, err error) {
	before := p.size
	err = p.copy(io.LimitReader(interruptible{ctx, r}, limit))
	if syncErr := p.file.Sync(); syncErr != nil {
		// It is unknown which of these bytes are on disk.
		err = errors.Join(err, diskFault(syncErr), p.cut(before))
	}
	if p.incoming.noted(err) != nil {
		err = fmt.Errorf("receive upload %s: %w", p.id, err)
	}
	return p.size - before, err
}

func (p *Partial) copy(r io.Reader) error {
	buffer := uploadBuffers.Get().(*[uploadBuffer]byte)
	defer uploadBuffers.Put(buffer)
	for due := p.size; ; {
		if p.size >= due { // a check costs about as much as writing a buffer
			if err := p.incoming.hasRoom(); err != nil {
				return err
			}
			due = p.size + roomInterval
		}
		n, err := r.Read(buffer[:])
		written, writeErr := p.file.WriteAt(buffer[:n], p.size)
		if p.summed == p.size {
			p.sum.Write(buffer[:written])
			p.summed += int64(written)
		}
		p.size += int64(written)
		switch {
		case writeErr != nil:
			return diskFault(writeErr)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// Cut truncates the upload to a size.
func (p *Partial) Cut(size int64) error {
	if err := p.cut(min(size, p.size)); err != nil {
		return fmt.Errorf("cut upload %s: %w", p.id, err)
	}
	return nil
}

func (p *Partial) cut(size int64) error {
	if err := p.file.Truncate(size); err != nil {
		return diskFault(err)
	}
	p.size, p.summed = size, 0
	p.sum.Reset()
	return nil
}

// Finish returns the path of the complete file, which is on disk, and the hash of its bytes. The
// file may be read until [Partial.Close]. Finish may be called again.
func (p *Partial) Finish() (path string, hash sortie.Hash, err error) {
	if err := p.file.Sync(); err != nil {
		return "", sortie.Hash{}, fmt.Errorf("finish upload %s: %w", p.id, diskFault(err))
	}
	read, err := io.Copy(p.sum, io.NewSectionReader(p.file, p.summed, p.size-p.summed))
	p.summed += read
	if err == nil && p.summed != p.size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", sortie.Hash{}, fmt.Errorf("finish upload %s: %w", p.id, diskFault(err))
	}
	return filepath.Join(p.incoming.dir, p.id+uploadSuffix), sortie.Hash(p.sum.Sum(nil)), nil
}

// Remove deletes the upload and closes it. On a closed upload it does nothing.
func (p *Partial) Remove() error {
	if p.file == nil {
		return nil
	}
	if err := p.incoming.root.Remove(p.id + uploadSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove upload %s: %w", p.id, diskFault(err))
	}
	return p.Close()
}

// Close closes the upload and keeps its bytes. Closing again does nothing.
func (p *Partial) Close() error {
	if p.file == nil {
		return nil
	}
	err := errors.Join(unlockFile(p.file), p.file.Close())
	p.file = nil
	p.incoming.leave(p.id)
	if err != nil {
		return fmt.Errorf("close upload %s: %w", p.id, diskFault(err))
	}
	return nil
}
