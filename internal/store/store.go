// Package store stores the service's data in SQLite or PostgreSQL. It owns the schema, every SQL
// statement and the transactions: what [DB.Tx] acknowledged survives the loss of the process and of
// the machine.
//
// Writes exist only on [Tx], inside [DB.Tx]; most reads exist on [DB], some on both. Rules that
// concurrent callers could break are part of the write: unique indexes, and updates conditional on
// the version that was read. A lost race is a typed error or the winner's row, never a partial
// write.
//
// Both engines share the statements, one file per noun. sqlite.go, batch.go and postgres.go contain
// the differences. The job queue has its own tables in the same database; queue.go is its access.
//
// The package makes no decisions about missions (package mission does), knows no HTTP and starts no
// background work.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/setting"
)

// The errors of the store. Every returned error wraps one of them, the error of the
// caller's own function, the context's error, or an unexpected engine error.
var (
	ErrNotFound   = onchain.ErrNotFound
	ErrConflict   = onchain.ErrConflict
	ErrDraftLimit = errors.New("too many unfunded drafts")
	ErrIDTaken    = errors.New("draft id, mission id or submission id is in use: make new ones")

	ErrMissionFull      = errors.New("every slot of the mission is taken or reserved")
	ErrMissionClosed    = errors.New("the mission does not take submissions now")
	ErrContributorLimit = errors.New("the contributor has the maximum number of submissions for the mission")
	ErrNewcomersFull    = errors.New("contributors without a final acceptance hold their whole share of the mission")
	ErrContributorBytes = errors.New("the files that the contributor has declared and not uploaded are too large in sum")
	ErrNetworkBytes     = errors.New("the files that were declared from the network and not uploaded are too large in sum")
	ErrNewcomerBytes    = errors.New("the files that contributors without a final acceptance have declared and not uploaded are too large in sum")
	ErrReservedBytes    = errors.New("the files that are declared and not uploaded are too large in sum")

	ErrOverloaded  = errors.New("too many writes are waiting: try again later")
	ErrUnavailable = errors.New("the database cannot be used now: try again later")
	ErrClosed      = errors.New("the database is closed")
)

// Options configures a database. The zero value is ready for production.
type Options struct {
	Clock       func() time.Time // nil: time.Now
	Logger      *slog.Logger     // nil: slog.Default()
	Connections int              // readers of SQLite, or all connections to PostgreSQL; 0: chosen by engine
	MaxWaiting  int              // maximum number of waiting writes; more fail with ErrOverloaded; 0: 1024

	// TransactionTimeout bounds a transaction on PostgreSQL, which takes milliseconds, in case the
	// server no longer answers; 0: 30 seconds. A COMMIT that waits for a synchronous standby
	// continues after it, without its caller.
	TransactionTimeout time.Duration

	onMigrated func(version int64, statement int) // tests interrupt migrations with it
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxWaiting <= 0 {
		o.MaxWaiting = 1024
	}
	if o.TransactionTimeout <= 0 {
		o.TransactionTimeout = 30 * time.Second
	}
	return o
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	engine engine
	clock  func() time.Time
	served servedCache

	lifetime sync.RWMutex // held for reading by every transaction and read, so that Close waits for them
	closed   bool
}

// engine is what differs between the two databases.
type engine interface {
	// read runs fn, whose statements see what was committed before each of them. They must use the
	// context that fn is given; the same holds for write.
	read(ctx context.Context, fn func(context.Context, *session) error) error
	// write runs fn in a transaction and returns nil only when it is committed and durable. It may
	// run fn again after a rollback.
	write(ctx context.Context, fn func(context.Context, *session) error) error
	// generation counts the commits, and reports whether it includes those of other processes. It
	// has grown when write returns.
	generation() (commits int64, all bool)
	// ping reports whether reads and, as far as known, writes work.
	ping(ctx context.Context) error
	stats() Stats
	queuePool() QueuePool
	// close is called once, when no write is under way.
	close() error
}

// Open opens the database at url, sqlite:PATH or postgres://..., and brings its schema up to date.
// An error is one line that says what to do and never contains a password.
func Open(ctx context.Context, url string, options Options) (*DB, error) {
	options = options.withDefaults()
	engine, err := openEngine(ctx, url, options)
	if err != nil {
		return nil, err
	}
	return &DB{engine: engine, clock: options.Clock}, nil
}

func openEngine(ctx context.Context, url string, options Options) (engine, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		return openSQLite(ctx, rest, options)
	case "postgres", "postgresql":
		return openPostgres(ctx, url, options)
	}
	// The error does not repeat the value: it may contain a password.
	return nil, &setting.Error{Name: setting.Database, Err: errors.New("want sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE")}
}

// Close waits for the transactions that have begun or are queued, and closes the database. Later
// transactions fail with [ErrClosed].
func (db *DB) Close() error {
	db.lifetime.Lock()
	defer db.lifetime.Unlock()
	if db.closed {
		return nil
	}
	db.closed = true
	if err := db.engine.close(); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}

// Ping reports whether the database can be used; otherwise it fails with [ErrUnavailable]. A
// database whose last write failed for lack of disk space stays unavailable until a write succeeds.
func (db *DB) Ping(ctx context.Context) error { return db.engine.ping(ctx) }

// Stats describes the work of a database since it was opened.
type Stats struct {
	Engine       string // sqlite or postgres
	Waiting      int    // waiting writes; on PostgreSQL also running ones
	MaxWaiting   int
	Writes       int64 // committed transactions
	Commits      int64 // commits that made them durable; fewer than Writes where commits are shared
	LargestBatch int64 // most transactions made durable by one commit
	Overloads    int64 // transactions refused because too many were waiting
	Retries      int64 // transactions run again after a deadlock or a serialization failure
	Failures     int64 // commits that failed
	WALBytes     int64 // size of SQLite's write-ahead log
	ReadersInUse int   // connections that run a statement; on PostgreSQL those of writes included
	Unconfirmed  int   // commits that wait for a synchronous standby after their callers gave up; PostgreSQL only
}

// Stats returns the counters for metrics.
func (db *DB) Stats() Stats { return db.engine.stats() }
