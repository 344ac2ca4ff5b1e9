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

// riverEngine is River on a database with transactions of type TTx. The databases differ in the
// driver and in access to the store's transaction.
type riverEngine[TTx any] struct {
	driver         riverdriver.Driver[TTx]
	inserter       *river.Client[TTx]                                                   // only inserts jobs
	within         func(*store.Tx, func(TTx) error) error                               // passes the driver's transaction of a store.Tx
	lockMigrations func(ctx context.Context, migrate func(context.Context) error) error // one process migrates at a time
	// startWorker takes over the jobs of dead processes and stores heartbeats until stop is called.
	// It returns after the first takeover.
	startWorker func(ctx context.Context, id string, timing timing) (stop func(), err error)
}

func newRiverEngine[TTx any](e riverEngine[TTx], log *slog.Logger) (*riverEngine[TTx], error) {
	var err error
	e.inserter, err = river.NewClient(e.driver, &river.Config{Logger: log})
	return &e, err
}

func (e *riverEngine[TTx]) migrate(ctx context.Context, log *slog.Logger) error {
	migrator, err := rivermigrate.New(e.driver, &rivermigrate.Config{Logger: log})
	if err != nil {
		return err
	}
	return e.lockMigrations(ctx, func(ctx context.Context) error {
		applied, err := migrator.ExistingVersions(ctx)
		if err != nil {
			return fmt.Errorf("read the version of the queue's tables: %w: if a newer release created them, upgrade the sortie binary", err)
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

func (e *riverEngine[TTx]) insert(tx *store.Tx, args river.JobArgs) (result *rivertype.JobInsertResult, err error) {
	err = e.within(tx, func(below TTx) (err error) {
		result, err = e.inserter.InsertTx(tx.Context(), below, args, nil)
		return err
	})
	return result, err
}

func (e *riverEngine[TTx]) work(ctx context.Context, config *river.Config, timing timing) error {
	client, err := river.NewClient(e.driver, config)
	if err != nil {
		return fmt.Errorf("run jobs: %w", err)
	}
	stop, err := e.startWorker(ctx, client.ID(), timing)
	if err == nil {
		defer stop() // after the client: its jobs may still run
		err = client.Start(ctx)
	}
	if err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("run jobs: %w", err)
	}
	<-client.Stopped()
	return nil
}
