package media

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
)

// sweepBatch is how many objects are asked about at once.
const sweepBatch = 500

// Sweep removes the objects that were last put before the given time and that nobody uses, and what cut-off writes left behind. used
// gets some hashes and reports, for each, whether something points to it.
//
// An object is put first and pointed to afterwards, so before must lie further back than any upload takes between the two: a day is
// ample.
func (o *Objects) Sweep(ctx context.Context, before time.Time, used func(context.Context, []sortie.Hash) ([]bool, error)) (removed int, err error) {
	if err := o.store.tidy(ctx, before); err != nil {
		return 0, fmt.Errorf("sweep objects: %w", err)
	}
	batch := make([]sortie.Hash, 0, sweepBatch)
	flush := func() error {
		n, err := o.sweepBatch(ctx, batch, before, used)
		removed += n
		batch = batch[:0]
		return err
	}
	for hash, err := range o.List(ctx, sortie.Hash{}) {
		if err != nil {
			return removed, err
		}
		if batch = append(batch, hash); len(batch) == cap(batch) {
			if err := flush(); err != nil {
				return removed, err
			}
		}
	}
	return removed, flush()
}

func (o *Objects) sweepBatch(ctx context.Context, batch []sortie.Hash, before time.Time, used func(context.Context, []sortie.Hash) ([]bool, error)) (removed int, err error) {
	if len(batch) == 0 {
		return 0, nil
	}
	inUse, err := used(ctx, batch)
	if err != nil {
		return 0, fmt.Errorf("sweep objects: ask what is in use: %w", err)
	}
	if len(inUse) != len(batch) {
		return 0, fmt.Errorf("sweep objects: asked about %d and was told about %d", len(batch), len(inUse))
	}
	for i, hash := range batch {
		if inUse[i] {
			continue
		}
		// Looked at last: whoever puts the same bytes again in the meantime makes the object new.
		object, err := o.store.stat(ctx, objectKey(hash))
		if errors.Is(err, ErrObjectNotFound) || err == nil && !object.KeptAt.Before(before) {
			continue
		}
		if err != nil {
			return removed, fmt.Errorf("sweep objects: %w", err)
		}
		if err := o.Delete(ctx, hash); err != nil {
			return removed, fmt.Errorf("sweep objects: %w", err)
		}
		removed++
	}
	return removed, nil
}
