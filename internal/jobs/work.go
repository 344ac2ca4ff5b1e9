package jobs

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// Work is what jobs do. Jobs whose function is nil are left for other processes.
type Work struct {
	Refund    func(ctx context.Context, draftID string) error
	Reconcile func(ctx context.Context) error
	Check     func(ctx context.Context, submissionID string) error
}

const (
	refundQueue    = "refund"
	reconcileQueue = "reconcile"
	checkQueue     = "check"
	refundWorkers  = 4
	checkWorkers   = 2 // each has a child process compute

	reconcileTimeout  = 10 * time.Minute
	reconcileAttempts = 3 // then the next round has its turn
	checkTimeout      = 3 * time.Minute
)

// pace is how quickly things happen. Tests are in more of a hurry than the service.
type pace struct {
	reconcileEvery        time.Duration
	jobTimeout            time.Duration
	rescueAfter           time.Duration // a job begun so long ago, and longer than it may take, is River's to rescue
	heartbeat             time.Duration // between signs of life of a process that works jobs on PostgreSQL
	deadAfter             time.Duration // without a sign of life, after which others take the jobs of a process
	firstRetry, lastRetry time.Duration
	patience              int           // failures of a job that are stored with it; later ones are not stored
	refundPoll            time.Duration // between looks for refunds, where nothing tells of them
	reconcilePoll         time.Duration
	checkPoll             time.Duration
	fetchCooldown         time.Duration
	softStop              time.Duration // what jobs under way may take after a stop; then they are told to end, and start over another time
	hurried               bool          // no random delays at the start
}

var steady = pace{
	reconcileEvery: 10 * time.Minute,
	jobTimeout:     15 * time.Second,
	rescueAfter:    20 * time.Second,
	heartbeat:      2 * time.Second,
	deadAfter:      8 * time.Second,
	firstRetry:     time.Second,
	lastRetry:      5 * time.Minute,
	patience:       20,
	refundPoll:     2 * time.Second,
	reconcilePoll:  5 * time.Second,
	checkPoll:      time.Second, // a contributor waits for the answer
	fetchCooldown:  100 * time.Millisecond,
	softStop:       5 * time.Second,
}

// NextRetry doubles the wait after every failure, up to the last. A tenth of it is random, so that
// what failed together does not come back together.
func (p pace) NextRetry(job *rivertype.JobRow) time.Time {
	wait := p.lastRetry
	if failures := len(job.Errors); failures < 30 {
		wait = min(wait, p.firstRetry<<failures)
	}
	return time.Now().Add(wait + rand.N(wait/10+1))
}

// Run works jobs until ctx ends. Several processes may do so on one database: each job is worked by
// one of them.
func (q *Queue) Run(ctx context.Context, work Work) error {
	config := q.config(work)
	if len(config.Queues) == 0 {
		<-ctx.Done()
		return nil
	}
	return q.engine.work(ctx, config, q.pace)
}

func (q *Queue) config(work Work) *river.Config {
	config := &river.Config{
		ID:                   newWorkerID(),
		Logger:               slog.New(warnings{q.outcomes.log.Handler()}),
		Queues:               make(map[string]river.QueueConfig),
		Workers:              river.NewWorkers(),
		ErrorHandler:         &q.outcomes,
		RetryPolicy:          q.pace,
		JobTimeout:           q.pace.jobTimeout,
		RescueStuckJobsAfter: q.pace.rescueAfter,
		SoftStopTimeout:      q.pace.softStop,
		FetchCooldown:        q.pace.fetchCooldown,
		TestOnly:             q.pace.hurried,
	}
	q.addWorkers(config.Workers, work)
	if work.Refund != nil {
		config.Queues[refundQueue] = river.QueueConfig{MaxWorkers: refundWorkers, FetchPollInterval: q.pace.refundPoll}
	}
	if work.Reconcile != nil {
		config.Queues[reconcileQueue] = river.QueueConfig{MaxWorkers: 1, FetchPollInterval: q.pace.reconcilePoll}
		config.PeriodicJobs = []*river.PeriodicJob{q.periodicReconcile()}
	}
	if work.Check != nil {
		config.Queues[checkQueue] = river.QueueConfig{MaxWorkers: checkWorkers, FetchPollInterval: q.pace.checkPoll}
	}
	return config
}

// addWorkers makes every kind of job known, also those that this process leaves for others: it may
// be the one that looks after the jobs of dead processes, and River throws away those of a kind it
// does not know.
func (q *Queue) addWorkers(workers *river.Workers, work Work) {
	river.AddWorker(workers, &untilDone[refundArgs]{
		work:     func(ctx context.Context, args refundArgs) error { return work.Refund(ctx, args.DraftID) },
		outcomes: &q.outcomes, pace: q.pace,
	})
	river.AddWorker(workers, &untilDone[checkArgs]{
		work:     func(ctx context.Context, args checkArgs) error { return work.Check(ctx, args.SubmissionID) },
		outcomes: &q.outcomes, pace: q.pace, timeout: checkTimeout,
	})
	river.AddWorker(workers, &reconcileWorker{reconcile: work.Reconcile, outcomes: &q.outcomes})
}

// refundArgs are how a refund is kept in the queue.
type refundArgs struct {
	DraftID string `json:"draftId"`
	After   int64  `json:"after,omitempty"` // the job that was being worked when this was asked for
}

func (refundArgs) Kind() string { return "refund" }

func (refundArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: refundQueue, MaxAttempts: math.MaxInt16, UniqueOpts: whileUnfinished}
}

// whileUnfinished refuses a second job with the same arguments until the first has ended.
var whileUnfinished = river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
}}

// checkArgs are how the check of a submission is kept in the queue.
type checkArgs struct {
	SubmissionID string `json:"submissionId"`
	After        int64  `json:"after,omitempty"`
}

func (checkArgs) Kind() string { return "check" }

func (checkArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: checkQueue, MaxAttempts: math.MaxInt16, UniqueOpts: whileUnfinished}
}

// untilDone works jobs that are never given up: they concern money or a contribution.
type untilDone[Args river.JobArgs] struct {
	river.WorkerDefaults[Args]
	work     func(ctx context.Context, args Args) error
	outcomes *outcomes
	pace     pace
	timeout  time.Duration // that of every job, if 0
}

func (w *untilDone[Args]) Timeout(*river.Job[Args]) time.Duration { return w.timeout }

func (w *untilDone[Args]) Work(ctx context.Context, job *river.Job[Args]) error {
	err := w.work(ctx, job.Args)
	switch {
	case err == nil:
		w.outcomes.done.Add(1)
	case len(job.Errors) >= w.pace.patience && ctx.Err() == nil:
		w.outcomes.HandleError(ctx, job.JobRow, err)
		return river.JobSnooze(w.pace.lastRetry)
	}
	return err
}

// reconcileArgs are how a reconcile is kept in the queue.
type reconcileArgs struct {
	After int64 `json:"after,omitempty"`
}

func (reconcileArgs) Kind() string { return "reconcile" }

func (reconcileArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: reconcileQueue, MaxAttempts: reconcileAttempts, UniqueOpts: whileUnfinished}
}

// periodicReconcile is asked for at every start, too, because a process that is restarted often
// would otherwise never come to it; one a period is enough for all processes.
func (q *Queue) periodicReconcile() *river.PeriodicJob {
	every := q.pace.reconcileEvery
	return river.NewPeriodicJob(river.PeriodicInterval(every),
		func() (river.JobArgs, *river.InsertOpts) {
			return reconcileArgs{}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByPeriod: every}}
		},
		&river.PeriodicJobOpts{RunOnStart: true})
}

type reconcileWorker struct {
	river.WorkerDefaults[reconcileArgs]
	reconcile func(ctx context.Context) error
	outcomes  *outcomes
}

func (w *reconcileWorker) Timeout(*river.Job[reconcileArgs]) time.Duration { return reconcileTimeout }

func (w *reconcileWorker) Work(ctx context.Context, job *river.Job[reconcileArgs]) error {
	err := w.reconcile(ctx)
	if err == nil {
		w.outcomes.done.Add(1)
	}
	return err
}

// outcomes counts what became of attempts and tells of failures: the queue's users never see them
// otherwise.
type outcomes struct {
	log          *slog.Logger
	done, failed atomic.Int64
}

// HandleError is called by River for an attempt that failed, unless it was ended by a stop.
func (o *outcomes) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	o.failed.Add(1)
	o.log.WarnContext(ctx, "job failed and will be tried again", "job", job.Kind, "args", string(job.EncodedArgs), "attempt", job.Attempt, "error", err)
	return nil
}

// HandlePanic is called by River for an attempt that panicked.
func (o *outcomes) HandlePanic(ctx context.Context, job *rivertype.JobRow, value any, trace string) *river.ErrorHandlerResult {
	o.failed.Add(1)
	o.log.ErrorContext(ctx, "job panicked", "job", job.Kind, "args", string(job.EncodedArgs), "attempt", job.Attempt, "panic", value, "trace", trace)
	return nil
}

// warnings leaves out what River tells of itself in good times.
type warnings struct{ slog.Handler }

func (h warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

// Handle leaves out what River says about statements that a stop has ended.
func (h warnings) Handle(ctx context.Context, record slog.Record) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}

func (h warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{h.Handler.WithAttrs(attrs)}
}
func (h warnings) WithGroup(name string) slog.Handler { return warnings{h.Handler.WithGroup(name)} }
