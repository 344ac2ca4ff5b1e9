// Package store keeps what the service must not forget, in SQLite or PostgreSQL. It owns the
// schema, every SQL statement, transactions, and the promise behind them: what [DB.Tx] acknowledged
// survives the death of the process and of the machine.
//
// Writes exist only on [Tx], inside [DB.Tx]; reads exist on [DB] too. Rules that concurrent callers
// could break live in the write itself: unique indexes, conditional updates on the version that was
// read. A lost race is a typed error or the winner's row, never a half-done write.
//
// The statements are shared by both engines, one file per noun. sqlite.go, batch.go and postgres.go
// hold what differs. The job queue keeps tables of its own in the same database; queue.go is its
// door.
//
// The package decides nothing about missions (that is package mission), knows no HTTP and starts no
// work of its own.
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

// The ways in which the store refuses. Everything it returns wraps one of them, the error of the
// caller's own function, the context's error, or an engine error that nobody planned for.
var (
	ErrNotFound   = onchain.ErrNotFound
	ErrConflict   = onchain.ErrConflict
	ErrDraftLimit = errors.New("too many unfunded drafts")
	ErrIDTaken    = errors.New("draft id, mission id or submission id is in use: draw new ones")

	ErrMissionFull      = errors.New("every place of the mission is taken or reserved")
	ErrMissionClosed    = errors.New("the mission does not take submissions now")
	ErrContributorLimit = errors.New("the contributor has as many submissions for the mission as are allowed")
	ErrNewcomersFull    = errors.New("contributors without a final acceptance hold their share of the mission")
	ErrContributorBytes = errors.New("the files that the contributor has declared and not uploaded are too large in sum")
	ErrNetworkBytes     = errors.New("the files that were declared from the network and not uploaded are too large in sum")
	ErrNewcomerBytes    = errors.New("the files that contributors without a final acceptance have declared and not uploaded are too large in sum")
	ErrReservedBytes    = errors.New("the files that are declared and not uploaded are too large in sum")

	ErrOverloaded  = errors.New("too many writes are waiting: try again later")
	ErrUnavailable = errors.New("the database cannot be used now: try again later")
	ErrClosed      = errors.New("the database is closed")
)

// Options adjust a database. The zero value is ready for production.
type Options struct {
	Clock       func() time.Time // nil: time.Now
	Logger      *slog.Logger     // nil: slog.Default()
	Connections int              // readers of SQLite, or all connections to PostgreSQL; 0: chosen by engine
	MaxWaiting  int              // writes that may wait before more are refused with ErrOverloaded; 0: 1024

	// TransactionTimeout bounds a transaction on PostgreSQL, which takes milliseconds, for a server
	// that no longer answers; 0: 30 seconds. A COMMIT that waits for a synchronous standby
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
	served servedMemory

	lifetime sync.RWMutex // held for reading by every transaction and read, so that Close waits for them
	closed   bool
}

// engine is what the two databases do differently.
type engine interface {
	// read runs fn, whose statements see what was committed before each of them. The context it
	// hands on is the one that they must use; here and in write.
	read(ctx context.Context, fn func(context.Context, *session) error) error
	// write runs fn in a transaction of its own and returns nil only when it is committed and
	// durable. It may run fn again after a transaction that was rolled back.
	write(ctx context.Context, fn func(context.Context, *session) error) error
	// generation counts the commits, and tells whether it counts all there are: those of other
	// processes too. It has grown when write returns.
	generation() (commits int64, all bool)
	// ping tells whether reads and, as far as known, writes work.
	ping(ctx context.Context) error
	stats() Stats
	queuePool() QueuePool
	// close is called once, when no write is under way.
	close() error
}

// Open opens the database at url, sqlite:PATH or postgres://..., and brings its schema up to date.
// Its errors are one line that says what to do and never holds a password.
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
	// The value is not repeated: whatever it is, it may hold a password.
	return nil, &setting.Error{Name: setting.Database, Err: errors.New("want sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE")}
}

// Close waits for the transactions that were begun, the queued ones included, and closes the
// database. Transactions that come later fail with [ErrClosed].
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

// Ping reports whether the database can be used, with [ErrUnavailable] when not. A database whose
// last write failed for want of disk stays unavailable until a write succeeds.
func (db *DB) Ping(ctx context.Context) error { return db.engine.ping(ctx) }

// Stats describe the work of a database since it was opened.
type Stats struct {
	Engine       string // sqlite or postgres
	Waiting      int    // writes that wait for their turn; on PostgreSQL those that run, too
	MaxWaiting   int
	Writes       int64 // transactions that were committed
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
