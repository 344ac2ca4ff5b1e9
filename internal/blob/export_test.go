package blob

import (
	"context"
	"errors"
	"time"

	"github.com/sortie-labs/sortie"
)

// SetPatience says how long a bucket may be silent.
func (o *Objects) SetPatience(d time.Duration) { o.store.(*bucket).patience = d }

// MayPut reports whether a put would begin at once.
func (o *Objects) MayPut(hash sortie.Hash) bool {
	putting := &o.putting[hash[0]]
	if !putting.TryRLock() {
		return false
	}
	putting.RUnlock()
	return true
}

// OnLooked has a function called when a sweep of a directory has looked at an object that it will
// remove.
func (o *Objects) OnLooked(fn func()) { o.store.(*directory).looked = fn }

// Has reports whether an object is kept.
func (o *Objects) Has(ctx context.Context, hash sortie.Hash) (bool, error) {
	_, err := o.Stat(ctx, hash)
	if errors.Is(err, ErrObjectNotFound) {
		return false, nil
	}
	return err == nil, err
}
