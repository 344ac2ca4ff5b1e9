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

// Work has the function of each kind of job. Jobs whose function is nil are left for other
// processes.
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
	checkWorkers   = 2 // each starts a child process

	reconcileTimeout  = 10 * time.Minute
	reconcileAttempts = 3 // then the next period's job follows
	checkTimeout      = 3 * time.Minute
)

// timing has the intervals and timeouts of the queue. Tests use shorter ones.
type timing struct {
	reconcileEvery        time.Duration
	jobTimeout            time.Duration
	rescueAfter           time.Duration // River restarts a job that exceeded its timeout and this age
	heartbeat             time.Duration // interval of heartbeats on PostgreSQL
	deadAfter             time.Duration // age of a heartbeat at which other processes take over the jobs
	firstRetry, lastRetry time.Duration
	storedErrors          int           // how many failures of a job are stored with it
	refundPoll            time.Duration // interval of the search for refunds, without notifications
	reconcilePoll         time.Duration
	checkPoll             time.Duration
	fetchCooldown         time.Duration
	softStop              time.Duration // time for running jobs after a stop; then they are canceled and run again later
	noStartDelay          bool          // without random delays at the start
}

var defaultTiming = timing{
	reconcileEvery: 10 * time.Minute,
	jobTimeout:     15 * time.Second,
	rescueAfter:    20 * time.Second,
	heartbeat:      2 * time.Second,
	deadAfter:      8 * time.Second,
	firstRetry:     time.Second,
	lastRetry:      5 * time.Minute,
	storedErrors:   20,
	refundPoll:     2 * time.Second,
	reconcilePoll:  5 * time.Second,
	checkPoll:      time.Second, // a contributor waits for the result
	fetchCooldown:  100 * time.Millisecond,
	softStop:       5 * time.Second,
}

// NextRetry doubles the delay after each failure, up to lastRetry. It adds up to a tenth at random,
// so that jobs that failed together do not retry together.
func (p timing) NextRetry(job *rivertype.JobRow) time.Time {
	wait := p.lastRetry
	if failures := len(job.Errors); failures < 30 {
		wait = min(wait, p.firstRetry<<failures)
	}
	return time.Now().Add(wait + rand.N(wait/10+1))
}

// Run runs jobs until ctx ends. Several processes may run jobs of one database: each job is run by
// one of them.
func (q *Queue) Run(ctx context.Context, work Work) error {
	config := q.config(work)
	if len(config.Queues) == 0 {
		<-ctx.Done()
		return nil
	}
	return q.engine.work(ctx, config, q.timing)
}

func (q *Queue) config(work Work) *river.Config {
	config := &river.Config{
		ID:                   newWorkerID(),
		Logger:               slog.New(warningsOnly{q.outcomes.log.Handler()}),
		Queues:               make(map[string]river.QueueConfig),
		Workers:              river.NewWorkers(),
		ErrorHandler:         &q.outcomes,
		RetryPolicy:          q.timing,
		JobTimeout:           q.timing.jobTimeout,
		RescueStuckJobsAfter: q.timing.rescueAfter,
		SoftStopTimeout:      q.timing.softStop,
		FetchCooldown:        q.timing.fetchCooldown,
		TestOnly:             q.timing.noStartDelay,
	}
	q.addWorkers(config.Workers, work)
	if work.Refund != nil {
		config.Queues[refundQueue] = river.QueueConfig{MaxWorkers: refundWorkers, FetchPollInterval: q.timing.refundPoll}
	}
	if work.Reconcile != nil {
		config.Queues[reconcileQueue] = river.QueueConfig{MaxWorkers: 1, FetchPollInterval: q.timing.reconcilePoll}
		config.PeriodicJobs = []*river.PeriodicJob{q.periodicReconcile()}
	}
	if work.Check != nil {
		config.Queues[checkQueue] = river.QueueConfig{MaxWorkers: checkWorkers, FetchPollInterval: q.timing.checkPoll}
	}
	return config
}

// addWorkers registers every kind of job, including those that this process leaves to others: the
// process that River elects to rescue jobs discards jobs of unknown kinds.
func (q *Queue) addWorkers(workers *river.Workers, work Work) {
	river.AddWorker(workers, &retryWorker[refundArgs]{
		work:     func(ctx context.Context, args refundArgs) error { return work.Refund(ctx, args.DraftID) },
		outcomes: &q.outcomes, timing: q.timing,
	})
	river.AddWorker(workers, &retryWorker[checkArgs]{
		work:     func(ctx context.Context, args checkArgs) error { return work.Check(ctx, args.SubmissionID) },
		outcomes: &q.outcomes, timing: q.timing, timeout: checkTimeout,
	})
	river.AddWorker(workers, &reconcileWorker{reconcile: work.Reconcile, outcomes: &q.outcomes})
}

// refundArgs are the stored arguments of a refund job.
type refundArgs struct {
	DraftID string `json:"draftId"`
	After   int64  `json:"after,omitempty"` // the running job that this one must follow
}

func (refundArgs) Kind() string { return "refund" }

func (refundArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: refundQueue, MaxAttempts: math.MaxInt16, UniqueOpts: oneUnfinished}
}

// oneUnfinished permits one unfinished job with the same arguments.
var oneUnfinished = river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
}}

// checkArgs are the stored arguments of a check job.
type checkArgs struct {
	SubmissionID string `json:"submissionId"`
	After        int64  `json:"after,omitempty"`
}

func (checkArgs) Kind() string { return "check" }

func (checkArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: checkQueue, MaxAttempts: math.MaxInt16, UniqueOpts: oneUnfinished}
}

// retryWorker runs jobs that are retried until they succeed: they concern money or a submission.
type retryWorker[Args river.JobArgs] struct {
	river.WorkerDefaults[Args]
	work     func(ctx context.Context, args Args) error
	outcomes *outcomes
	timing   timing
	timeout  time.Duration // 0: jobTimeout
}

func (w *retryWorker[Args]) Timeout(*river.Job[Args]) time.Duration { return w.timeout }

func (w *retryWorker[Args]) Work(ctx context.Context, job *river.Job[Args]) error {
	err := w.work(ctx, job.Args)
	switch {
	case err == nil:
		w.outcomes.done.Add(1)
	case len(job.Errors) >= w.timing.storedErrors && ctx.Err() == nil:
		w.outcomes.HandleError(ctx, job.JobRow, err)
		return river.JobSnooze(w.timing.lastRetry)
	}
	return err
}

// reconcileArgs are the stored arguments of a reconcile job.
type reconcileArgs struct {
	After int64 `json:"after,omitempty"`
}

func (reconcileArgs) Kind() string { return "reconcile" }

func (reconcileArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: reconcileQueue, MaxAttempts: reconcileAttempts, UniqueOpts: oneUnfinished}
}

// periodicReconcile also runs at each start, because a process that restarts often would never
// reach the end of a period. ByPeriod limits it to one job in a period for all processes.
func (q *Queue) periodicReconcile() *river.PeriodicJob {
	every := q.timing.reconcileEvery
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

// outcomes counts the attempts by result and logs failures.
type outcomes struct {
	log          *slog.Logger
	done, failed atomic.Int64
}

// HandleError is called by River for each failed attempt, except those that a stop canceled.
func (o *outcomes) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	o.failed.Add(1)
	o.log.WarnContext(ctx, "job failed and will be tried again", "job", job.Kind, "args", string(job.EncodedArgs), "attempt", job.Attempt, "error", err)
	return nil
}

// HandlePanic is called by River for each attempt that panicked.
func (o *outcomes) HandlePanic(ctx context.Context, job *rivertype.JobRow, value any, trace string) *river.ErrorHandlerResult {
	o.failed.Add(1)
	o.log.ErrorContext(ctx, "job panicked", "job", job.Kind, "args", string(job.EncodedArgs), "attempt", job.Attempt, "panic", value, "trace", trace)
	return nil
}

// warningsOnly passes on warnings and errors of River and drops the rest.
type warningsOnly struct{ slog.Handler }

func (h warningsOnly) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

// Handle drops errors of statements that a stop canceled.
func (h warningsOnly) Handle(ctx context.Context, record slog.Record) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}

func (h warningsOnly) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warningsOnly{h.Handler.WithAttrs(attrs)}
}
func (h warningsOnly) WithGroup(name string) slog.Handler {
	return warningsOnly{h.Handler.WithGroup(name)}
}
