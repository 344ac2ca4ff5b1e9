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
	"github.com/sortie-labs/sortie/internal/setting"
	"github.com/sortie-labs/sortie/internal/verify"
)

// MediaConfig configures where submitted files are stored and how submissions are verified.
type MediaConfig struct {
	Store        string // file:DIR or s3://...; empty: submissions are off
	Uploads      string // directory of incomplete uploads and of files being checked
	FFmpeg       string // empty: videos have no thumbnails
	Isolation    ingest.Isolation
	Verification verify.Mode
	Hold         time.Duration
	Reservations app.ReservationLimits
}

const (
	dueInterval     = time.Second
	renewInterval   = 5 * time.Second
	mediaInterval   = 5 * time.Second // between probes of a media store that failed
	linkKeyInterval = time.Minute
	sweepInterval   = time.Hour
	firstTime       = time.Minute
	// leftoverAge is the age at which an unfinished upload or a leftover result is removed.
	// Reservations last at most an hour.
	leftoverAge = 2 * time.Hour
)

// mediaWork runs the checks of submissions and the periodic work about them.
type mediaWork struct {
	app      *app.App
	ledger   *app.Ledger
	objects  *blob.Objects // nil: submissions are off, or this process does not handle them
	incoming *blob.Incoming
	ingester *ingest.Ingester
	log      *slog.Logger

	exposed []string // missing layers of isolation

	works         bool         // has the worker role
	checking      atomic.Int64 // files being checked
	unsigned      atomic.Bool  // some receipts could not be signed
	removedDrafts atomic.Int64 // unfunded drafts
	lastDue       atomic.Int64 // Unix time when nothing that was due was left
}

// openMediaWork opens the media store and the uploads, in a process that uses them.
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
		return nil, &setting.Error{Name: setting.Media, Err: err}
	}
	if !w.objects.Working() {
		w.log.Warn("the media store cannot be reached; uploads and media wait for it: check its host, network and credentials", "error", w.objects.Fault())
	}
	if w.incoming, err = blob.OpenIncoming(config.Media.Uploads); err != nil {
		return nil, &setting.Error{Name: setting.Uploads, Err: err}
	}
	// Files are checked on the disk of the uploads: the system's temporary directory is often in
	// memory.
	temporary := filepath.Join(config.Media.Uploads, "work")
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return nil, &setting.Error{Name: setting.Uploads, Err: err}
	}
	w.objects.TempDir = temporary
	return w, w.openIngester(ctx, config, temporary)
}

// isolationAdvice explains how to enable the missing isolation.
const isolationAdvice = "%w: use Linux 5.13 or newer on amd64 or arm64, with Landlock among its security modules and with seccomp and landlock_* " +
	"allowed by the container's profile; if only Landlock is missing, run without ffmpeg; best-effort runs without what is missing"

// openIngester makes the ingester. A process with the worker role checks its isolation.
func (w *mediaWork) openIngester(ctx context.Context, config Config, temporary string) (err error) {
	settings := ingest.Config{TempDir: temporary, FFmpeg: config.Media.FFmpeg, Isolation: config.Media.Isolation}
	w.ingester = ingest.New(settings)
	if !config.Roles.Worker {
		return nil
	}
	if w.exposed, err = w.ingester.CheckIsolation(ctx); errors.Is(err, ingest.ErrNotIsolated) {
		return &setting.Error{Name: setting.MediaIsolation, Value: "required", Err: fmt.Errorf(isolationAdvice, err)}
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
		w.log.Warn("videos get no thumbnails: ffmpeg does not run in isolation; configure the program itself, not a script", "error", err)
		settings.FFmpeg = ""
		w.ingester = ingest.New(settings)
	}
	return nil
}

// configure sets the fields of the use cases about media.
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

// check is the job that checks a submission.
func (w *mediaWork) check(ctx context.Context, submissionID string) error {
	w.checking.Add(1)
	defer w.checking.Add(-1)
	return w.app.CheckSubmission(ctx, submissionID)
}

// run runs the periodic work of the roles until ctx ends.
func (w *mediaWork) run(ctx context.Context, roles Roles) error {
	group, ctx := errgroup.WithContext(ctx)
	repeat := func(every time.Duration, what string, do func(context.Context) error) {
		group.Go(func() error { w.repeat(ctx, every, what, do); return nil })
	}
	if roles.Worker {
		repeat(dueInterval, "do the work that is due", w.due)
		repeat(dueInterval, "sign receipts", w.sign)
		repeat(dueInterval, "settle payouts", w.ledger.Settle)
		repeat(renewInterval, "renew receipts of former settlers", w.ledger.RenewReceipts)
		repeat(sweepInterval, "rotate link keys", w.app.RotateLinkKeys)
		repeat(sweepInterval, "remove unfunded drafts", w.removeDrafts)
	}
	if roles.API || roles.Worker {
		repeat(linkKeyInterval, "reload the link keys", w.app.ReloadLinkKeys)
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

// repeat runs do at each interval. The first run is within a minute, even for a long interval,
// because some processes live briefly; but not immediately, to keep the start fast. The first
// failure is logged, then one each minute.
func (w *mediaWork) repeat(ctx context.Context, every time.Duration, what string, do func(context.Context) error) {
	timer := time.NewTimer(min(every, firstTime))
	defer timer.Stop()
	var logged time.Time
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
		case err != nil && time.Since(logged) >= time.Minute:
			logged = time.Now()
			w.log.WarnContext(ctx, "could not "+what+"; retrying", "error", err)
		case err == nil && !logged.IsZero():
			logged = time.Time{}
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

func (w *mediaWork) removeDrafts(ctx context.Context) error {
	removed, err := w.app.RemoveUnfundedDrafts(ctx)
	if w.removedDrafts.Add(int64(removed)); removed > 0 {
		w.log.InfoContext(ctx, "removed unfunded drafts", "drafts", removed)
	}
	return err
}

// sign signs receipts. It is separate from due, which must not wait for a signer.
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

// probe retries the media store after a failure. Requests do not retry it while it is known to
// fail.
func (w *mediaWork) probe(ctx context.Context) (err error) {
	if !w.objects.Working() {
		err = w.objects.Probe(ctx)
	}
	if !w.incoming.Working() {
		err = errors.Join(err, w.incoming.Probe())
	}
	return err
}

// isolationHealth returns the state of the isolation of the processes that read files.
func (w *mediaWork) isolationHealth() string {
	switch {
	case w.ingester == nil || !w.works:
		return "off" // this process reads no files
	case len(w.exposed) > 0:
		return "partial"
	}
	return "ok"
}

// health returns the health of the media store.
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
