package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// incoming holds files that are being written. It is on the file system of the objects, so that they can be renamed into place.
const incoming = "incoming"

// directory keeps objects in files. It uses names of its own making only.
type directory struct {
	root string
}

func openDirectory(path string) (*directory, error) {
	if path == "" {
		return nil, errors.New("it has no name: want file:DIR")
	}
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	d := &directory{root}
	for _, dir := range []string{keyPrefix, incoming} {
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

// install gives a written file its name, durably.
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

// list reads one of the 256 directories at a time.
func (d *directory) list(ctx context.Context, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		shards, err := os.ReadDir(d.path(keyPrefix)) // in order
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

// tidy removes what writes that were cut short have left behind.
func (d *directory) tidy(_ context.Context, before time.Time) error {
	entries, err := os.ReadDir(d.path(incoming))
	if err != nil {
		return storeFault(err)
	}
	entries = slices.DeleteFunc(entries, func(entry fs.DirEntry) bool {
		info, err := entry.Info()
		return err != nil || !info.ModTime().Before(before)
	})
	for _, entry := range entries {
		if err := os.Remove(filepath.Join(d.path(incoming), entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return storeFault(err)
		}
	}
	return nil
}

// storeFault says what kind of fault an error of the file system is.
func storeFault(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrObjectNotFound, err)
	}
	return diskFault(err)
}

// diskFault says what kind of fault an error of the disk is.
func diskFault(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// probeDirectory writes what a small file needs, and takes it back.
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

// interruptible ends a copy when its context ends.
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
