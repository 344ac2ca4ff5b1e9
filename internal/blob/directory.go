package blob

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// incoming is the directory of files that are being written. It is on the file system of the
// objects, so that they can be renamed into place.
const incoming = "incoming"

// condemned is the directory of objects that a sweep is removing.
const condemned = "condemned"

// directory stores objects as files. It uses only names that it made.
type directory struct {
	root      string
	onChecked func() // called by tests between the check of an object and its removal
}

func openDirectory(path string) (*directory, error) {
	if path == "" {
		return nil, errors.New("the directory has no name: want file:DIR")
	}
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	d := &directory{root: root, onChecked: func() {}}
	for _, dir := range []string{keyPrefix, incoming, condemned} {
		if err := os.MkdirAll(d.path(dir), 0o700); err != nil {
			return nil, err
		}
	}
	return d, syncDirectory(d.root)
}

func (d *directory) path(key string) string { return filepath.Join(d.root, filepath.FromSlash(key)) }

func (d *directory) close() error { return nil }

func (d *directory) probe(context.Context) error { return probeDirectory(d.path(incoming)) }

func (d *directory) put(ctx context.Context, key string, source io.Reader, _ int64, verify func() error) (err error) {
	file, err := os.CreateTemp(d.path(incoming), "*.part")
	if err != nil {
		return storeFault(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close(), os.Remove(file.Name()))
		}
	}()
	if _, err := io.Copy(file, interruptible{ctx, source}); err != nil {
		return storeFault(err)
	}
	if err := verify(); err != nil {
		return err
	}
	if err := errors.Join(file.Chmod(0o600), file.Sync()); err != nil {
		return storeFault(err)
	}
	if err := d.install(file.Name(), d.path(key)); err != nil {
		return storeFault(err)
	}
	return file.Close()
}

// install renames a written file into place, durably.
func (d *directory) install(from, to string) error {
	dir := filepath.Dir(to)
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = syncDirectory(filepath.Dir(dir))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncDirectory(dir)
}

// syncDirectory makes the names in a directory survive a power cut.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (d *directory) file(key string) (*os.File, error) {
	file, err := openFile(d.path(key))
	if err != nil {
		return nil, storeFault(err)
	}
	return file, nil
}

func (d *directory) open(_ context.Context, key string, offset, length int64) (io.ReadCloser, int64, error) {
	file, err := d.file(key)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(storeFault(err), file.Close())
	}
	if length < 0 {
		length = max(0, info.Size()-offset)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, offset, length), file}, info.Size(), nil
}

func (d *directory) stat(_ context.Context, key string) (Object, error) {
	info, err := os.Stat(d.path(key))
	if err != nil {
		return Object{}, storeFault(err)
	}
	return Object{Size: info.Size(), KeptAt: info.ModTime()}, nil
}

func (d *directory) remove(_ context.Context, key string) error {
	if err := os.Remove(d.path(key)); err != nil {
		return storeFault(err)
	}
	return nil
}

// sweep moves the object away before it checks its time again. A put of the same bytes after the
// move, also by another process, makes a new file; a put just before the move makes the moved file
// new, which is then restored. Readers in other processes miss it for that moment, but it is not
// lost.
func (d *directory) sweep(ctx context.Context, key string, before time.Time) (bool, error) {
	object, err := d.stat(ctx, key)
	if err != nil || !object.KeptAt.Before(before) {
		return false, err
	}
	d.onChecked()
	taken := path.Join(condemned, path.Base(key)+"."+rand.Text()) // a unique name
	if err := os.Rename(d.path(key), d.path(taken)); err != nil {
		return false, storeFault(err)
	}
	object, err = d.stat(ctx, taken)
	if err == nil && object.KeptAt.Before(before) {
		if err = d.remove(ctx, taken); err == nil {
			return true, nil
		}
	}
	return false, errors.Join(err, d.restore(taken))
}

// restore moves a condemned object back and makes it new: it may replace one that was put
// meanwhile, which must not become older.
func (d *directory) restore(taken string) error {
	digits, _, _ := strings.Cut(path.Base(taken), ".")
	key := keyPrefix + digits[:min(2, len(digits))] + "/" + digits
	if _, ours := parseKey(key); !ours {
		return nil
	}
	now := time.Now()
	err := os.Chtimes(d.path(taken), now, now)
	if err == nil {
		err = d.install(d.path(taken), d.path(key))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may have restored it
		return storeFault(err)
	}
	return nil
}

// list reads one of the 256 directories at a time.
func (d *directory) list(ctx context.Context, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		shards, err := os.ReadDir(d.path(keyPrefix)) // sorted
		if err != nil {
			yield("", storeFault(err))
			return
		}
		for _, shard := range shards {
			prefix := keyPrefix + shard.Name() + "/"
			if !shard.IsDir() || after != "" && prefix < after[:len(keyPrefix)+2] {
				continue
			}
			entries, err := os.ReadDir(d.path(prefix))
			if err = errors.Join(err, ctx.Err()); err != nil {
				yield("", storeFault(err))
				return
			}
			for _, entry := range entries {
				if key := prefix + entry.Name(); key > after && !yield(key, nil) {
					return
				}
			}
		}
	}
}

// tidy removes files of interrupted writes and restores objects of interrupted sweeps, which may
// have been put again.
func (d *directory) tidy(_ context.Context, before time.Time) error {
	var faults []error
	entries, err := os.ReadDir(d.path(incoming))
	faults = append(faults, err)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue
		}
		if err := os.Remove(filepath.Join(d.path(incoming), entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, err)
		}
	}
	entries, err = os.ReadDir(d.path(condemned))
	faults = append(faults, err)
	for _, entry := range entries {
		faults = append(faults, d.restore(path.Join(condemned, entry.Name())))
	}
	if err := cmp.Or(faults...); err != nil { // the first is enough
		return storeFault(err)
	}
	return nil
}

// storeFault classifies an error of the file system.
func storeFault(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrObjectNotFound, err)
	}
	return diskFault(err)
}

// diskFault classifies an error of the disk.
func diskFault(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// probeDirectory writes a small file and removes it.
func probeDirectory(dir string) (err error) {
	file, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return diskFault(err)
	}
	_, err = file.Write(make([]byte, 64<<10))
	if err = errors.Join(err, file.Close(), os.Remove(file.Name())); err != nil {
		return diskFault(err)
	}
	return nil
}

// interruptible is a reader that fails when its context ends.
type interruptible struct {
	ctx    context.Context
	source io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.source.Read(p)
}
