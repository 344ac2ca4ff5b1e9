package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/sortie-labs/sortie/internal/store"
)

// onRiver is River on a database whose transactions are TTx. The two databases differ in the driver
// and in how it gets at the transaction of the store.
type onRiver[TTx any] struct {
	driver   riverdriver.Driver[TTx]
	inserter *river.Client[TTx]                                                   // runs nothing of its own
	within   func(*store.Tx, func(TTx) error) error                               // lends the transaction below the store's
	takeTurn func(ctx context.Context, migrate func(context.Context) error) error // one process migrates at a time
	// tend takes back the jobs that dead processes began, and lets other processes know that this
	// one lives until stop is called. It returns after the first time.
	tend func(ctx context.Context, id string, pace pace) (stop func(), err error)
}

func newOnRiver[TTx any](e onRiver[TTx], log *slog.Logger) (*onRiver[TTx], error) {
	var err error
	e.inserter, err = river.NewClient(e.driver, &river.Config{Logger: log})
	return &e, err
}

func (e *onRiver[TTx]) migrate(ctx context.Context, log *slog.Logger) error {
	migrator, err := rivermigrate.New(e.driver, &rivermigrate.Config{Logger: log})
	if err != nil {
		return err
	}
	return e.takeTurn(ctx, func(ctx context.Context) error {
		applied, err := migrator.ExistingVersions(ctx)
		if err != nil {
			return fmt.Errorf("read the version of its tables: %w: if a newer release made them, upgrade the sortie binary", err)
		}
		if len(applied) == len(migrator.AllVersions()) {
			return nil
		}
		if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		return nil
	})
}

func (e *onRiver[TTx]) insert(tx *store.Tx, args river.JobArgs) (result *rivertype.JobInsertResult, err error) {
	err = e.within(tx, func(below TTx) (err error) {
		result, err = e.inserter.InsertTx(tx.Context(), below, args, nil)
		return err
	})
	return result, err
}

func (e *onRiver[TTx]) work(ctx context.Context, config *river.Config, pace pace) error {
	client, err := river.NewClient(e.driver, config)
	if err != nil {
		return fmt.Errorf("work jobs: %w", err)
	}
	stop, err := e.tend(ctx, client.ID(), pace)
	if err == nil {
		defer stop() // jobs may be under way until the client has stopped
		err = client.Start(ctx)
	}
	if err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("work jobs: %w", err)
	}
	<-client.Stopped()
	return nil
}
