package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteEngine is one database file with one writing connection and a pool of reading ones. Only
// one process uses it.
type sqliteEngine struct {
	*batcher
	readers  *sql.DB
	readOnly *session
	lock     io.Closer
}

var errLocked = errors.New("another process is using it")

func openSQLite(ctx context.Context, path string, options Options) (engine, error) {
	file, err := databaseFile(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	lock, err := lockFile(file + ".lock")
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("open database %s: %w: stop it, or give this one another database", file, err)
	} else if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	engine, err := connectSQLite(ctx, file, options)
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("open database %s: %w", file, err)
	}
	engine.lock = lock
	return engine, nil
}

// databaseFile ensures that the file exists, readable only by its owner, and returns its canonical
// name, so that processes that use different links share one lock. An existing file is not opened
// here: closing it would release the locks of an SQLite connection in this process.
func databaseFile(path string) (string, error) {
	if path == "" || path == ":memory:" || strings.ContainsAny(path, "?#") {
		return "", errors.New("want sqlite:PATH with the path of a file and nothing after it")
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case err == nil:
		err = file.Close()
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("the directory %s does not exist: create it, or give another path", filepath.Dir(path))
	case errors.Is(err, fs.ErrExist):
		var info fs.FileInfo
		if info, err = os.Stat(path); err == nil && info.IsDir() {
			err = fmt.Errorf("%s is a directory: give the path of a file", path)
		}
	}
	if err != nil {
		return "", err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

func connectSQLite(ctx context.Context, file string, options Options) (e *sqliteEngine, err error) {
	connections := options.Connections
	if connections <= 0 {
		connections = max(4, 2*runtime.GOMAXPROCS(0))
	}
	writer, readers := openPool(file, writerPragmas, 1), openPool(file, readerPragmas, connections)
	defer func() {
		if err != nil {
			_, _ = readers.Close(), writer.Close()
			err = explainSQLite(err)
		}
	}()
	err = migrator{db: writer, engine: "sqlite", clock: options.Clock, onStatement: options.onMigrated}.run(ctx)
	if err != nil {
		return nil, err
	}
	onWriter, err := prepareAll(ctx, writer, slices.Concat(writeStatements, readStatements))
	if err != nil {
		return nil, err
	}
	onReaders, err := prepareAll(ctx, readers, readStatements)
	if err != nil {
		return nil, err
	}
	return &sqliteEngine{
		batcher:  startBatcher(writer, &session{prepared: onWriter, explain: explainSQLite}, file+"-wal", options.MaxWaiting),
		readers:  readers,
		readOnly: &session{runner: readers, prepared: onReaders, explain: explainSQLite},
	}, nil
}

func openPool(file string, pragmas []pragma, connections int) *sql.DB {
	pool := sql.OpenDB(sqliteConnector{dsn: sqliteDSN(file, pragmas), pragmas: pragmas})
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return pool
}

func prepareAll(ctx context.Context, db *sql.DB, queries []string) (map[string]*sql.Stmt, error) {
	prepared := make(map[string]*sql.Stmt, len(queries))
	for _, query := range queries {
		stmt, err := db.PrepareContext(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("prepare %s: %w", query, err)
		}
		prepared[query] = stmt
	}
	return prepared, nil
}

func (e *sqliteEngine) read(ctx context.Context, fn func(context.Context, *session) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return fn(context.WithoutCancel(ctx), e.readOnly)
}

func (e *sqliteEngine) ping(ctx context.Context) error {
	if failure := e.lastFailure.Load(); failure != nil {
		return *failure
	}
	if err := e.readers.PingContext(ctx); err != nil {
		return explainSQLite(err)
	}
	return nil
}

func (e *sqliteEngine) generation() (commits int64, all bool) { return e.attempts.Load(), true }

func (e *sqliteEngine) stats() Stats {
	return Stats{
		Engine:       "sqlite",
		Waiting:      len(e.queue),
		MaxWaiting:   cap(e.queue),
		Writes:       e.writes.Load(),
		Commits:      e.commits.Load(),
		LargestBatch: e.largest.Load(),
		Overloads:    e.overloads.Load(),
		Failures:     e.failures.Load(),
		WALBytes:     e.walBytes.Load(),
		ReadersInUse: e.readers.Stats().InUse,
	}
}

// queuePool returns the writing connection itself, which the pool lends in turn. A second
// connection would find the database locked and could write only when the writer happens to pause.
func (e *sqliteEngine) queuePool() QueuePool { return QueuePool{SQLite: e.writer} }

func (e *sqliteEngine) close() error {
	e.stop()
	return errors.Join(e.readers.Close(), e.writer.Close(), e.lock.Close())
}

// pragma is a setting and the value that SQLite must report afterwards.
type pragma struct{ name, set, want string }

// The settings of every connection. SQLite reports no error for a setting that it cannot apply
// (such as a write-ahead log on a network disk), so each is read back.
var (
	writerPragmas = []pragma{
		{"busy_timeout", "5000", "5000"}, // first: the others may find a lock
		{"journal_mode", "WAL", "wal"},
		{"synchronous", "FULL", "2"}, // flush at every commit
		{"fullfsync", "ON", "1"},     // macOS: flush the drive too
		{"checkpoint_fullfsync", "ON", "1"},
		{"foreign_keys", "ON", "1"},
		{"trusted_schema", "OFF", "0"},
		{"wal_autocheckpoint", "1000", "1000"},       // pages: 4 MB
		{"journal_size_limit", "8388608", "8388608"}, // the log is truncated to this size when it starts over
		{"temp_store", "MEMORY", "2"},                // no files outside of the database's directory
	}
	readerPragmas = slices.Concat(writerPragmas, []pragma{{"query_only", "ON", "1"}})
)

func sqliteDSN(file string, pragmas []pragma) string {
	query := url.Values{"_txlock": {"immediate"}, "_error_rc": {"1"}, "_dqs": {"0"}}
	for _, p := range pragmas {
		query.Add("_pragma", p.name+"("+p.set+")")
	}
	return "file:" + (&url.URL{Path: file}).EscapedPath() + "?" + query.Encode()
}

// sqliteConnector refuses a connection whose settings were not applied.
type sqliteConnector struct {
	dsn     string
	pragmas []pragma
}

func (c sqliteConnector) Driver() driver.Driver { return &sqlite.Driver{} }

func (c sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.dsn)
	if err != nil {
		return nil, err
	}
	for _, p := range c.pragmas {
		got, err := readPragma(ctx, conn, p.name)
		if err == nil && got != p.want {
			err = fmt.Errorf("SQLite has %s=%s here, but this service needs %s: is the file on a local disk?", p.name, got, p.want)
		}
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

func readPragma(ctx context.Context, conn driver.Conn, name string) (string, error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, "PRAGMA "+name, nil)
	if err != nil {
		return "", fmt.Errorf("read pragma %s: %w", name, err)
	}
	defer func() { _ = rows.Close() }()
	value := make([]driver.Value, 1)
	if err := rows.Next(value); err != nil {
		return "", fmt.Errorf("read pragma %s: %w", name, err)
	}
	return fmt.Sprint(value[0]), nil
}

// explainSQLite distinguishes failures of disk and file, which pass or need an operator, and rows
// that were written first by others from faults in statements.
func explainSQLite(err error) error {
	var failure *sqlite.Error
	if !errors.As(err, &failure) {
		return err
	}
	if code := failure.Code(); code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	hint := ""
	switch failure.Code() & 0xff { // the rest of the code is detail
	case sqlite3.SQLITE_FULL:
		hint = "free disk space"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		hint = "check the owner and mode of the file and its directory, and that the disk is mounted for writing"
	case sqlite3.SQLITE_IOERR:
		hint = "check the space on the disk, the disk and the kernel log"
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		hint = "the file is damaged or no SQLite database: restore a backup"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		hint = "another program holds the file: close it"
	case sqlite3.SQLITE_NOMEM:
		hint = "out of memory"
	default:
		return err
	}
	return fmt.Errorf("%w (%s): %w", ErrUnavailable, hint, err)
}
