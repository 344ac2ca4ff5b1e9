package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie/internal/store"
)

// commits compares write rates instead of processor time, because a commit waits for the disk. The
// gain of shared commits is measured in the store: over HTTP the signatures keep the processors
// busy before commits saturate a fast disk.
func (a *requestBench) commits(ctx context.Context) error {
	const alone, shared = 5 * callers, 20 * callers
	draft, err := a.sampleDraft(fewDraftsCreator.Address())
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, "sqlite:"+a.path("commits.db"), store.Options{})
	if err != nil {
		return err
	}
	var oneByOne sync.Mutex // writes that never meet share no commit
	costs, err := takeTurns(ctx, a.rounds,
		storeTurn(shared, func() error { return storeCopy(ctx, db, draft) }),
		storeTurn(alone, func() error {
			oneByOne.Lock()
			defer oneByOne.Unlock()
			return storeCopy(ctx, db, draft)
		}),
		a.writes(a.product, shared, pathDrafts).turn,
		a.writes(a.bare, alone, pathCreateAlone).turn)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	compare := func(name string, product, limit cost) result {
		rate := func(c cost) string { return fmt.Sprintf("%.0f /s", 1/c.wall.Seconds()) }
		return result{Name: name, Product: rate(product), Limit: rate(limit), Value: quotient(limit.wall, product.wall)}
	}
	section := fmt.Sprintf("drafts of %d callers, and with a commit for each", callers)
	a.report.add(section, compare("in the store", costs[0], costs[1]).atLeast(2))
	a.report.add(section, compare("over HTTP, and by the bare server", costs[2], costs[3]))
	return nil
}

// storeTurn divides a number of writes among all callers, which write concurrently.
func storeTurn(writes int, write func() error) turn {
	return func(context.Context, int) (cost, error) {
		begin := time.Now()
		var group errgroup.Group
		for range callers {
			group.Go(func() error {
				for range writes / callers {
					if err := write(); err != nil {
						return err
					}
				}
				return nil
			})
		}
		err := group.Wait()
		return cost{wall: time.Since(begin) / time.Duration(writes)}, err
	}
}

func storeCopy(ctx context.Context, db *store.DB, draft store.NewDraft) error {
	return db.Tx(ctx, func(tx *store.Tx) error {
		_, err := insertCopy(tx, draft, false)
		return err
	})
}
