package blob

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
)

const (
	// sweepBatch is the number of objects in one call of used.
	sweepBatch = 500
	// sweepFaults is the number of errors that a sweep returns at most.
	sweepFaults = 5
)

// Sweep removes the objects that were last put before the given time and are not used, and files of
// interrupted writes. used reports for each hash whether the object is used. A failed removal is
// part of the error and does not stop the sweep.
//
// An object is put first and used afterwards, so before must be earlier than now by more than both
// take together. Callers of [Objects.Put] bound that to minutes. S3 counts from the beginning of a
// put, and clocks differ: an hour is enough.
func (o *Objects) Sweep(ctx context.Context, before time.Time, used func(context.Context, []sortie.Hash) ([]bool, error)) (removed int, err error) {
	sweep := &sweep{objects: o, before: before, used: used}
	if err := o.store.tidy(ctx, before); err != nil {
		sweep.fault(err)
	}
	if err := sweep.all(ctx); err != nil {
		sweep.fault(err)
	}
	return sweep.removed, sweep.err()
}

type sweep struct {
	objects *Objects
	before  time.Time
	used    func(context.Context, []sortie.Hash) ([]bool, error)

	removed int
	faults  []error
	omitted int
}

func (s *sweep) fault(err error) {
	if len(s.faults) < sweepFaults {
		s.faults = append(s.faults, err)
	} else {
		s.omitted++
	}
}

func (s *sweep) err() error {
	if len(s.faults) == 0 {
		return nil
	}
	err := fmt.Errorf("sweep objects: %w", s.faults[0])
	for _, fault := range s.faults[1:] {
		err = fmt.Errorf("%w; %w", err, fault)
	}
	if s.omitted > 0 {
		err = fmt.Errorf("%w; and %d more", err, s.omitted)
	}
	return err
}

// all sweeps all objects. It fails if the sweep cannot continue.
func (s *sweep) all(ctx context.Context) error {
	batch := make([]sortie.Hash, 0, sweepBatch)
	for hash, err := range s.objects.List(ctx, sortie.Hash{}) {
		if err != nil {
			return err
		}
		if batch = append(batch, hash); len(batch) == cap(batch) {
			if err := s.some(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return s.some(ctx, batch)
}

func (s *sweep) some(ctx context.Context, batch []sortie.Hash) error {
	if len(batch) == 0 {
		return nil
	}
	inUse, err := s.used(ctx, batch)
	if err != nil {
		return fmt.Errorf("check which objects are used: %w", err)
	}
	if len(inUse) != len(batch) {
		return fmt.Errorf("check which objects are used: got %d answers, want %d", len(inUse), len(batch))
	}
	for i, hash := range batch {
		if inUse[i] {
			continue
		}
		removed, err := s.one(ctx, hash)
		switch {
		case removed:
			s.removed++
		case err == nil || errors.Is(err, ErrObjectNotFound):
		case ctx.Err() != nil || errors.Is(err, errSilent): // every other removal would time out, too
			return err
		default:
			s.fault(fmt.Errorf("remove object %s: %w", hash, err))
		}
	}
	return nil
}

// one removes an object unless it is new. used was called before: a later put of the same bytes
// makes the object new, and a new use follows a put. The lock keeps this process from putting it
// between the check and the removal; the store guards against other processes as well as it can.
func (s *sweep) one(ctx context.Context, hash sortie.Hash) (removed bool, err error) {
	putting := &s.objects.putting[hash[0]]
	if !putting.TryLock() { // this object is being put, or one of the same lock: the next sweep removes it
		return false, nil
	}
	defer putting.Unlock()
	return s.objects.store.sweep(ctx, objectKey(hash), s.before)
}
