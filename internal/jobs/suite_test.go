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

// runSuite is what both engines must do alike.
func runSuite(t *testing.T, newURL func(testing.TB) string) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"a job is born with its transaction or not at all", testBornWithTransaction},
		{"every job takes effect once", testOnce},
		{"a refund that waits serves for all who ask", testOneWaits},
		{"a refund asked for while one is worked comes after it", testAfter},
		{"a refund may be asked for again after it ended", testAgain},
		{"a failed job is tried again, later and later", testBackoff},
		{"a refund is never given up", testNeverGivenUp},
		{"a check is tried until it is done", testCheck},
		{"a panic costs one attempt", testPanic},
		{"a job that a dead process began is begun again", testRescue},
		{"a job that a dead process began is kept for a process that can do it", testRescueOthers},
		{"a stop lets the job under way end", testStopWaits},
		{"a job that a stop interrupted starts over", testStopInterrupts},
		{"missions are reconciled at the start, once a period, and on demand", testReconcile},
		{"jobs without a function are left for others", testOthersJobs},
		{"a queue is opened again", testReopen},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url := newURL(t)
			test.run(t, &bench{T: t, url: url, db: openDatabase(t, url), log: slog.New(complaints{t})})
		})
	}
}

// complaints fails a test when River complains. What jobs do wrong on purpose is told by this
// package, under other words.
type complaints struct{ t *testing.T }

func (complaints) Enabled(context.Context, slog.Level) bool { return true }
func (c complaints) WithAttrs([]slog.Attr) slog.Handler     { return c }
func (c complaints) WithGroup(string) slog.Handler          { return c }

func (c complaints) Handle(_ context.Context, record slog.Record) error {
	if !strings.HasPrefix(record.Message, "job ") {
		record.Attrs(func(a slog.Attr) bool { record.Message += " " + a.String(); return true })
		c.t.Errorf("River complains: %s", record.Message)
	}
	return nil
}

// bench is a database to try queues on.
type bench struct {
	*testing.T
	url string
	db  *store.DB
	log *slog.Logger
}

var hurry = pace{
	reconcileEvery: time.Hour,
	jobTimeout:     patienceOfTests,
	rescueAfter:    2 * patienceOfTests, // testRescue and its like wait for less
	heartbeat:      5 * time.Millisecond,
	deadAfter:      30 * time.Second,
	firstRetry:     20 * time.Millisecond,
	lastRetry:      200 * time.Millisecond,
	patience:       4,
	refundPoll:     5 * time.Millisecond,
	reconcilePoll:  5 * time.Millisecond,
	checkPoll:      5 * time.Millisecond,
	fetchCooldown:  time.Millisecond,
	softStop:       patienceOfTests,
	hurried:        true,
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

func (b *bench) open() *Queue {
	b.Helper()
	queue, err := Open(context.Background(), b.db, b.log)
	if err != nil {
		b.Fatalf("Open: %v", err)
	}
	queue.pace = hurry
	return queue
}

// run works jobs until the test ends or stop is called. stop returns when nothing runs any more.
func (b *bench) run(queue *Queue, work Work) (stop func()) {
	b.Helper()
	return b.start(func(ctx context.Context) error { return queue.Run(ctx, work) })
}

func (b *bench) start(run func(context.Context) error) (stop func()) {
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

// refund asks for a refund in a transaction of its own.
func (b *bench) refund(queue *Queue, draftID string) {
	b.Helper()
	if err := b.db.Tx(context.Background(), func(tx *store.Tx) error { return queue.Refund(tx, draftID) }); err != nil {
		b.Fatalf("Refund: %v", err)
	}
}

func (b *bench) check(queue *Queue, submissionID string) {
	b.Helper()
	if err := b.db.Tx(context.Background(), func(tx *store.Tx) error { return queue.Check(tx, submissionID) }); err != nil {
		b.Fatalf("Check: %v", err)
	}
}

// killWorkers leaves every job as a process leaves it that was killed in the middle, a minute ago.
func (b *bench) killWorkers() {
	b.Helper()
	if b.db.Stats().Engine == "postgres" {
		b.exec(`UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now() - interval '1 minute', attempted_by = '{"dead"}'`)
	} else {
		b.exec(`UPDATE river_job SET state = 'running', attempt = 1, attempted_at = datetime('now', '-1 minute', 'subsec'), attempted_by = jsonb('["dead"]')`)
	}
}

func (b *bench) reconcile(queue *Queue) {
	b.Helper()
	if err := b.db.Tx(context.Background(), queue.Reconcile); err != nil {
		b.Fatalf("Reconcile: %v", err)
	}
}

// count counts jobs in the database, not through the queue.
func (b *bench) count(where string) (n int) {
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

func (b *bench) exec(statement string) {
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
func (b *bench) awaitEmpty() {
	b.Helper()
	b.awaitNone("state <> 'completed'")
}

// awaitNone polls until there are no such jobs.
func (b *bench) awaitNone(where string) {
	b.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(patienceOfTests)
	for b.count(where) > 0 {
		select {
		case <-again.C:
		case <-deadline:
			b.Fatalf("jobs are left after %s where %s", patienceOfTests, where)
		}
	}
}

const patienceOfTests = 2 * time.Minute

// recorder is work that writes down what it did.
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
	case <-time.After(patienceOfTests):
		t.Fatalf("%s did not happen within %s", what, patienceOfTests)
	}
	return value
}

func draftID(i int) string { return fmt.Sprintf("draft_%06d", i) }
