package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/api"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/blob"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/verify"
)

// mediaConfig is where submitted files are kept and how they are decided about.
type MediaConfig struct {
	Store        string // file:DIR or s3://...; empty: nobody can submit anything
	Uploads      string // directory of uploads that are not whole yet, and of files that are being looked at
	FFmpeg       string // empty: videos have no thumbnails
	Isolation    ingest.Isolation
	Verification verify.Mode
	Hold         time.Duration
	Reservations app.ReservationLimits
}

const (
	dueInterval     = time.Second
	renewInterval   = 5 * time.Second
	mediaInterval   = 5 * time.Second // between looks at a media store that did not work
	linkKeyInterval = time.Minute
	sweepInterval   = time.Hour
	firstTime       = time.Minute
	// leftoverAge is after how long without a change an upload is not finished any more, and a
	// result not removed by its owner: reservations last an hour at most.
	leftoverAge = 2 * time.Hour
)

// mediaWork is what a process does with submissions beside answering requests.
type mediaWork struct {
	app      *app.App
	ledger   *app.Ledger
	objects  *blob.Objects // nil: nobody can submit anything, or this process has nothing to do with it
	incoming *blob.Incoming
	ingester *ingest.Ingester
	log      *slog.Logger

	exposed []string // layers of isolation that are missing

	works         bool         // this process does what is due
	checking      atomic.Int64 // files that are being looked at
	unsigned      atomic.Bool  // there are receipts that could not be signed
	removedDrafts atomic.Int64 // that were never funded
	lastDue       atomic.Int64 // when everything that was due was last done, in Unix seconds
}

// openMediaWork opens the places that keep files, in a process that reads or writes them.
func openMediaWork(ctx context.Context, config Config) (_ *mediaWork, err error) {
	w := &mediaWork{log: config.Logger, works: config.Roles.Worker}
	w.lastDue.Store(time.Now().Unix())
	if config.Media.Store == "" || !config.Roles.API && !config.Roles.Worker {
		return w, nil
	}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.objects, err = blob.OpenObjects(ctx, config.Media.Store); err != nil {
		return nil, fmt.Errorf("--media: %w", err)
	}
	if !w.objects.Working() {
		w.log.Warn("the media store cannot be reached; uploads and media wait for it: check its host, network and credentials", "error", w.objects.Fault())
	}
	if w.incoming, err = blob.OpenIncoming(config.Media.Uploads); err != nil {
		return nil, fmt.Errorf("--uploads: %w", err)
	}
	// Files are looked at on the disk of the uploads: the system's directory for temporary files is
	// often in memory.
	temporary := filepath.Join(config.Media.Uploads, "work")
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return nil, fmt.Errorf("--uploads: %w", err)
	}
	w.objects.TempDir = temporary
	return w, w.openIngester(ctx, config, temporary)
}

// openIngester makes what looks at files. A process that will use it first finds out what it is
// isolated by.
func (w *mediaWork) openIngester(ctx context.Context, config Config, temporary string) (err error) {
	settings := ingest.Config{TempDir: temporary, FFmpeg: config.Media.FFmpeg, Isolation: config.Media.Isolation}
	w.ingester = ingest.New(settings)
	if !config.Roles.Worker {
		return nil
	}
	if w.exposed, err = w.ingester.CheckIsolation(ctx); errors.Is(err, ingest.ErrNotIsolated) {
		return fmt.Errorf(`--media-isolation required: %w: use Linux 5.13 or newer on amd64 or arm64, with Landlock among its security modules and with seccomp and landlock_* allowed by the container's profile; without Landlock alone, --ffmpeg "" is enough; --media-isolation best-effort runs without what is missing`, err)
	}
	if err != nil {
		return err
	}
	for _, layer := range w.exposed {
		w.log.Warn("the processes that read submitted files are not fully isolated", "missing", layer, "isolation", settings.Isolation.String())
	}
	if settings.FFmpeg == "" {
		return nil
	}
	if err := w.ingester.CheckFFmpeg(ctx); err != nil {
		w.log.Warn("videos get no thumbnails: ffmpeg does not run where it is isolated; name the program itself in --ffmpeg, not a script", "error", err)
		settings.FFmpeg = ""
		w.ingester = ingest.New(settings)
	}
	return nil
}

// configure gives the use cases what they need of this.
func (w *mediaWork) configure(use *app.Config, config Config, baseURL string) {
	use.Media, use.Incoming, use.Ingester = w.objects, w.incoming, w.ingester
	use.Verification = verify.New(verify.Config{Mode: config.Media.Verification})
	use.AcceptanceHold, use.Reservations = config.Media.Hold, config.Media.Reservations
	if len(config.PublicURLs) > 0 {
		baseURL = config.PublicURLs[0]
	}
	use.Links = api.LinksUnder(baseURL)
	if config.Settler != nil {
		use.SettlerAddress = config.Settler.Address()
		use.Settler = func(ctx context.Context, domain sortie.Domain, settlement sortie.Settlement) (sortie.Bytes, error) {
			settler, err := funding.NewSettler(domain, config.Settler)
			if err != nil {
				return nil, err
			}
			return settler.SignSettlement(ctx, settlement)
		}
	}
}

// check is the job that looks at a submission.
func (w *mediaWork) check(ctx context.Context, submissionID string) error {
	w.checking.Add(1)
	defer w.checking.Add(-1)
	return w.app.CheckSubmission(ctx, submissionID)
}

// run does what its roles have to do from time to time until ctx ends.
func (w *mediaWork) run(ctx context.Context, roles Roles) error {
	group, ctx := errgroup.WithContext(ctx)
	repeat := func(every time.Duration, what string, do func(context.Context) error) {
		group.Go(func() error { w.repeat(ctx, every, what, do); return nil })
	}
	if roles.Worker {
		repeat(dueInterval, "do what is due", w.due)
		repeat(dueInterval, "sign receipts", w.sign)
		repeat(dueInterval, "move payouts on", w.ledger.Settle)
		repeat(renewInterval, "sign receipts of former settlers again", w.ledger.RenewReceipts)
		repeat(sweepInterval, "rotate link keys", w.app.RotateLinkKeys)
		repeat(sweepInterval, "remove drafts that were never funded", w.removeDrafts)
	}
	if roles.API || roles.Worker {
		repeat(linkKeyInterval, "read the link keys again", w.app.ReloadLinkKeys)
	}
	if w.objects != nil {
		repeat(mediaInterval, "use the media store", w.probe)
		repeat(sweepInterval, "tidy uploads", func(context.Context) error { return w.incoming.Tidy(time.Now().Add(-leftoverAge)) })
	}
	if w.objects != nil && roles.Worker {
		repeat(sweepInterval, "remove unused files", w.sweep)
	}
	return group.Wait()
}

// repeat does something again and again. The first time comes soon, also of what is rare, since
// some processes never get old; but not at once, since a start is to be quick. A failure is told at
// once, and then once a minute while it lasts.
func (w *mediaWork) repeat(ctx context.Context, every time.Duration, what string, do func(context.Context) error) {
	timer := time.NewTimer(min(every, firstTime))
	defer timer.Stop()
	var told time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		err := do(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && time.Since(told) >= time.Minute:
			told = time.Now()
			w.log.WarnContext(ctx, "could not "+what+"; it is tried again", "error", err)
		case err == nil && !told.IsZero():
			told = time.Time{}
			w.log.InfoContext(ctx, "could "+what+" again")
		}
		timer.Reset(every)
	}
}

func (w *mediaWork) due(ctx context.Context) error {
	if err := w.ledger.DueByTime(ctx); err != nil {
		return err
	}
	if !w.unsigned.Load() {
		w.lastDue.Store(time.Now().Unix())
	}
	return nil
}

// removeDrafts has no file to do with, but the same pace as what is removed here.
func (w *mediaWork) removeDrafts(ctx context.Context) error {
	removed, err := w.app.RemoveUnfundedDrafts(ctx)
	if w.removedDrafts.Add(int64(removed)); removed > 0 {
		w.log.InfoContext(ctx, "removed drafts that were never funded", "drafts", removed)
	}
	return err
}

// sign is beside what is due by time, which does not wait for a signer.
func (w *mediaWork) sign(ctx context.Context) error {
	err := w.ledger.SignReceipts(ctx)
	w.unsigned.Store(err != nil)
	return err
}

func (w *mediaWork) sweep(ctx context.Context) error {
	removed, err := w.app.SweepMedia(ctx)
	if removed > 0 {
		w.log.InfoContext(ctx, "removed unused files", "files", removed)
	}
	return errors.Join(err, w.ingester.Tidy(time.Now().Add(-leftoverAge)))
}

// probe tries what did not work when it was last used: nobody else might, once clients are told
// that it does not work.
func (w *mediaWork) probe(ctx context.Context) (err error) {
	if !w.objects.Working() {
		err = w.objects.Probe(ctx)
	}
	if !w.incoming.Working() {
		err = errors.Join(err, w.incoming.Probe())
	}
	return err
}

// isolationHealth is one word for how the processes that read files are isolated.
func (w *mediaWork) isolationHealth() string {
	switch {
	case w.ingester == nil || !w.works:
		return "off" // this process reads no files
	case len(w.exposed) > 0:
		return "partial"
	}
	return "ok"
}

// health is one word for whether files can be kept and served.
func (w *mediaWork) health() string {
	switch {
	case w.objects == nil:
		return "off"
	case !w.objects.Working() || !w.incoming.Working():
		return "unavailable"
	}
	return "ok"
}

func (w *mediaWork) close() {
	if w.incoming != nil {
		if err := w.incoming.Close(); err != nil {
			w.log.Error("close the directory of uploads", "error", err)
		}
	}
	if w.objects != nil {
		if err := w.objects.Close(); err != nil {
			w.log.Error("close the media store", "error", err)
		}
	}
}
