package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/pgtest"
	"github.com/sortie-labs/sortie/internal/store"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childVariable); url != "" {
		if err := beginForever(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(pgtest.Main(m))
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	runSuite(t, sqliteURL)
}

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	runSuite(t, func(t testing.TB) string { return pgtest.Database(t) })
}

func sqliteURL(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "sortie.db") }

// runSuite runs the tests that both engines must pass.
func runSuite(t *testing.T, newURL func(testing.TB) string) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *testDB)
	}{
		{"a job exists only if its transaction was committed", testBornWithTransaction},
		{"every job takes effect once", testOnce},
		{"a waiting refund is not enqueued again", testOneWaits},
		{"a refund enqueued while one runs follows it", testAfter},
		{"a refund can be enqueued again after it ended", testAgain},
		{"a failed job is retried with growing delays", testBackoff},
		{"a refund is retried until it succeeds", testNeverGivenUp},
		{"a check is retried until it succeeds", testCheck},
		{"a panic costs one attempt", testPanic},
		{"a job of a dead process is run again", testRescue},
		{"a job of a dead process is kept for a process that can run it", testRescueOthers},
		{"a stop waits for the running job", testStopWaits},
		{"a job that a stop canceled is run again", testStopInterrupts},
		{"missions are reconciled at the start, once per period, and on demand", testReconcile},
		{"jobs without a function are left for others", testOthersJobs},
		{"a queue can be opened again", testReopen},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url := newURL(t)
			test.run(t, &testDB{T: t, url: url, db: openDatabase(t, url), log: slog.New(failOnLog{t})})
		})
	}
}

// failOnLog fails a test when River logs a warning. Messages of this package begin with "job ".
type failOnLog struct{ t *testing.T }

func (failOnLog) Enabled(context.Context, slog.Level) bool { return true }
func (c failOnLog) WithAttrs([]slog.Attr) slog.Handler     { return c }
func (c failOnLog) WithGroup(string) slog.Handler          { return c }

func (c failOnLog) Handle(_ context.Context, record slog.Record) error {
	if !strings.HasPrefix(record.Message, "job ") {
		record.Attrs(func(a slog.Attr) bool { record.Message += " " + a.String(); return true })
		c.t.Errorf("got a warning of River, want none: %s", record.Message)
	}
	return nil
}

// testDB is a database for queues.
type testDB struct {
	*testing.T
	url string
	db  *store.DB
	log *slog.Logger
}

var testTiming = timing{
	reconcileEvery: time.Hour,
	jobTimeout:     testTimeout,
	rescueAfter:    2 * testTimeout, // the tests of takeovers set a shorter one
	heartbeat:      5 * time.Millisecond,
	deadAfter:      30 * time.Second,
	firstRetry:     20 * time.Millisecond,
	lastRetry:      200 * time.Millisecond,
	storedErrors:   4,
	refundPoll:     5 * time.Millisecond,
	reconcilePoll:  5 * time.Millisecond,
	checkPoll:      5 * time.Millisecond,
	fetchCooldown:  time.Millisecond,
	softStop:       testTimeout,
	noStartDelay:   true,
}

func openDatabase(t testing.TB, url string) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), url, store.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("open database: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close database: %v", err)
		}
	})
	return db
}

func (b *testDB) open() *Queue {
	b.Helper()
	queue, err := Open(context.Background(), b.db, b.log)
	if err != nil {
		b.Fatalf("Open: %v", err)
	}
	queue.timing = testTiming
	return queue
}

// run runs jobs until the test ends or stop is called. stop returns when no job runs.
func (b *testDB) run(queue *Queue, work Work) (stop func()) {
	b.Helper()
	return b.start(func(ctx context.Context) error { return queue.Run(ctx, work) })
}

func (b *testDB) start(run func(context.Context) error) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("Run: %v", err)
		}
	})
	b.Cleanup(stop)
	return stop
}

// refund enqueues a refund in its own transaction.
func (b *testDB) refund(queue *Queue, draftID string) {
	b.Helper()
	if err := b.db.Tx(context.Background(), func(tx *store.Tx) error { return queue.Refund(tx, draftID) }); err != nil {
		b.Fatalf("Refund: %v", err)
	}
}

func (b *testDB) check(queue *Queue, submissionID string) {
	b.Helper()
	if err := b.db.Tx(context.Background(), func(tx *store.Tx) error { return queue.Check(tx, submissionID) }); err != nil {
		b.Fatalf("Check: %v", err)
	}
}

// killWorkers leaves every job as if its process was killed a minute ago.
func (b *testDB) killWorkers() {
	b.Helper()
	if b.db.Stats().Engine == "postgres" {
		b.exec(`UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now() - interval '1 minute', attempted_by = '{"dead"}'`)
	} else {
		b.exec(`UPDATE river_job SET state = 'running', attempt = 1, attempted_at = datetime('now', '-1 minute', 'subsec'), attempted_by = jsonb('["dead"]')`)
	}
}

func (b *testDB) reconcile(queue *Queue) {
	b.Helper()
	if err := b.db.Tx(context.Background(), queue.Reconcile); err != nil {
		b.Fatalf("Reconcile: %v", err)
	}
}

// count reads the number of jobs from the database, not from the queue.
func (b *testDB) count(where string) (n int) {
	b.Helper()
	statement := "SELECT COUNT(*) FROM river_job WHERE " + where
	var err error
	if pool := b.db.QueuePool(); pool.Postgres != nil {
		err = pool.Postgres.QueryRow(context.Background(), statement).Scan(&n)
	} else {
		err = pool.SQLite.QueryRow(statement).Scan(&n)
	}
	if err != nil {
		b.Fatalf("run %s: %v", statement, err)
	}
	return n
}

func (b *testDB) exec(statement string) {
	b.Helper()
	var err error
	if pool := b.db.QueuePool(); pool.Postgres != nil {
		_, err = pool.Postgres.Exec(context.Background(), statement)
	} else {
		_, err = pool.SQLite.Exec(statement)
	}
	if err != nil {
		b.Fatalf("run %s: %v", statement, err)
	}
}

// awaitEmpty returns when every job was completed.
func (b *testDB) awaitEmpty() {
	b.Helper()
	b.awaitNone("state <> 'completed'")
}

// awaitNone returns when no job matches the condition.
func (b *testDB) awaitNone(where string) {
	b.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(testTimeout)
	for b.count(where) > 0 {
		select {
		case <-again.C:
		case <-deadline:
			b.Fatalf("got jobs after %s, want none where %s", testTimeout, where)
		}
	}
}

const testTimeout = 2 * time.Minute

// recorder has functions for jobs that record their calls.
type recorder struct {
	mu   sync.Mutex
	done []string
	more chan struct{} // one for every job
}

func newRecorder() *recorder { return &recorder{more: make(chan struct{}, 10_000)} }

func (r *recorder) refund(_ context.Context, draftID string) error {
	r.mu.Lock()
	r.done = append(r.done, draftID)
	r.mu.Unlock()
	r.more <- struct{}{}
	return nil
}

func (r *recorder) reconcile(ctx context.Context) error { return r.refund(ctx, "reconcile") }

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.done)
}

func await[T any](t testing.TB, signal <-chan T, what string) (value T) {
	t.Helper()
	select {
	case value = <-signal:
	case <-time.After(testTimeout):
		t.Fatalf("%s did not happen within %s", what, testTimeout)
	}
	return value
}

func draftID(i int) string { return fmt.Sprintf("draft_%06d", i) }
