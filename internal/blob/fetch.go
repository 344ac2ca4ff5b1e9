package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sortie-labs/sortie"
)

// Fetch returns the path of a file with the bytes of an object: the object's own file, or one that
// was downloaded. Call done when it is no longer needed. Do not write to it.
func (o *Objects) Fetch(ctx context.Context, hash sortie.Hash) (path string, done func(), err error) {
	file, err := o.store.file(objectKey(hash))
	switch {
	case err == nil:
		path, done, err = file.Name(), func() {}, file.Close()
	case errors.Is(err, ErrNotLocal):
		path, done, err = o.fetch(ctx, hash)
	}
	if err != nil {
		return "", nil, fmt.Errorf("fetch object %s: %w", hash, err)
	}
	return path, done, nil
}

// fetch downloads an object to a directory that ingest.Ingester.Tidy removes if this process is
// killed first.
func (o *Objects) fetch(ctx context.Context, hash sortie.Hash) (path string, done func(), err error) {
	dir, err := os.MkdirTemp(o.TempDir, TempPattern)
	if err != nil {
		return "", nil, diskFault(err)
	}
	remove := func() { _ = os.RemoveAll(dir) } // Tidy removes it later if this fails
	path = filepath.Join(dir, "object")
	if err := o.download(ctx, hash, path); err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}

func (o *Objects) download(ctx context.Context, hash sortie.Hash, path string) error {
	body, _, err := o.store.open(ctx, objectKey(hash), 0, -1)
	if err != nil {
		return err
	}
	defer body.Close()
	file, err := os.Create(path)
	if err != nil {
		return diskFault(err)
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, sum), body)
	if err = errors.Join(err, file.Close()); err != nil {
		return diskFault(err)
	}
	if sortie.Hash(sum.Sum(nil)) != hash {
		return ErrObjectCorrupt
	}
	return nil
}
