package blob

import (
	"context"
	"errors"
	"time"

	"github.com/sortie-labs/sortie"
)

// SetPatience sets how long a bucket may be silent.
func (o *Objects) SetPatience(d time.Duration) { o.store.(*bucket).patience = d }

// MayPut reports whether a put of the hash would begin at once.
func (o *Objects) MayPut(hash sortie.Hash) bool {
	putting := &o.putting[hash[0]]
	if !putting.TryRLock() {
		return false
	}
	putting.RUnlock()
	return true
}

// OnChecked sets a function that a sweep of a directory calls between the check of an object and
// its removal.
func (o *Objects) OnChecked(fn func()) { o.store.(*directory).onChecked = fn }

// Has reports whether an object is stored.
func (o *Objects) Has(ctx context.Context, hash sortie.Hash) (bool, error) {
	_, err := o.Stat(ctx, hash)
	if errors.Is(err, ErrObjectNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Delete removes an object. A missing object is not an error.
func (o *Objects) Delete(ctx context.Context, hash sortie.Hash) error {
	var err error
	switch store := o.store.(type) {
	case *directory:
		err = store.remove(ctx, objectKey(hash))
	case *bucket:
		err = store.remove(ctx, objectKey(hash))
	}
	if errors.Is(err, ErrObjectNotFound) {
		return nil
	}
	return err
}
