package blob

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
)

const (
	// sweepBatch is how many objects are asked about at once.
	sweepBatch = 500
	// sweepFaults is how many errors are told, of all that a sweep meets.
	sweepFaults = 5
)

// Sweep removes the objects that were last put before the given time and that nobody uses, and what
// cut-off writes left behind. used gets some hashes and reports, for each, whether something points
// to it. What cannot be removed is in the error, and the rest is removed all the same.
//
// An object is put first and pointed to afterwards, so before must lie further back than the two
// take together. Callers of [Objects.Put] bound that to minutes, by the time that they give an
// upload that is whole, and a check. S3 counts from the beginning of the put, and clocks differ: an
// hour is ample.
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
	untold  int
}

func (s *sweep) fault(err error) {
	if len(s.faults) < sweepFaults {
		s.faults = append(s.faults, err)
	} else {
		s.untold++
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
	if s.untold > 0 {
		err = fmt.Errorf("%w; and %d more", err, s.untold)
	}
	return err
}

// all goes through all objects. It fails when there is no sense in going on.
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
		return fmt.Errorf("ask what is in use: %w", err)
	}
	if len(inUse) != len(batch) {
		return fmt.Errorf("asked about %d and was told about %d", len(batch), len(inUse))
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
		case ctx.Err() != nil || errors.Is(err, errSilent): // each of the others would be waited for as long
			return err
		default:
			s.fault(fmt.Errorf("remove object %s: %w", hash, err))
		}
	}
	return nil
}

// one removes an object unless it is new. It was asked about before it is looked at: whoever puts
// the same bytes meanwhile makes it new, and whoever points to it has put it. Nobody in this
// process puts it between the look and the removal; the store sees to others as well as it can.
func (s *sweep) one(ctx context.Context, hash sortie.Hash) (removed bool, err error) {
	putting := &s.objects.putting[hash[0]]
	if !putting.TryLock() { // this one is being put, or one beside it: the next sweep has time for it
		return false, nil
	}
	defer putting.Unlock()
	return s.objects.store.sweep(ctx, objectKey(hash), s.before)
}
