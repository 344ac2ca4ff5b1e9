package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	minPostgres = 15
	maxAttempts = 5 // runs of a transaction that PostgreSQL rolls back
)

// The settings of every connection, unless the URL sets them.
var postgresSettings = map[string]string{
	"application_name":                    "sortie",
	"statement_timeout":                   "30s",
	"lock_timeout":                        "10s",
	"idle_in_transaction_session_timeout": "30s",
}

// postgresEngine is a pool of connections to a server, which other processes of the service may use
// too.
type postgresEngine struct {
	connections *pgxpool.Pool // shared with the job queue
	pool        *sql.DB       // the same connections, for statements that both engines share
	maxWaiting  int64
	timeout     time.Duration // for the wait for a write slot
	detached    func(context.Context) (context.Context, context.CancelFunc)
	writers     chan struct{} // one slot for each connection that writes
	log         *slog.Logger

	waiting, writes, overloads, retries, failures atomic.Int64

	unconfirmed atomic.Int64 // commits that continue without their callers
}

func openPostgres(ctx context.Context, address string, options Options) (engine, error) {
	config, err := parsePostgresURL(address)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	config.MaxConns = 16
	if options.Connections > 0 {
		config.MaxConns = int32(min(options.Connections, math.MaxInt32))
	}
	config.BeforeConnect = prepareConnection
	config.AfterConnect = checkCommitDurability
	config.MaxConnIdleTime = 5 * time.Minute
	config.MaxConnLifetime = time.Hour // so that connections move to a new address
	e := &postgresEngine{
		maxWaiting: int64(options.MaxWaiting), timeout: options.TransactionTimeout, detached: detached(options.TransactionTimeout), log: options.Logger,
		writers: make(chan struct{}, max(1, config.MaxConns-max(1, config.MaxConns/4))),
	}
	if e.connections, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("open database: %w", oneLine{err})
	}
	e.pool = stdlib.OpenDBFromPool(e.connections)

	err = checkServer(ctx, e.pool, options.Logger)
	if err == nil {
		err = migrator{db: e.pool, engine: "postgres", takeTurn: postgresTurn, clock: options.Clock, onStatement: options.onMigrated}.run(ctx)
	}
	if err != nil {
		_ = e.close()
		return nil, fmt.Errorf("open database %s on %s: %w", config.ConnConfig.Database, config.ConnConfig.Host, oneLine{explainPostgres(err)})
	}
	return e, nil
}

// parsePostgresURL never repeats the URL in an error: in an invalid URL the password cannot be
// found and removed.
func parsePostgresURL(address string) (*pgxpool.Config, error) {
	parsed, err := url.Parse(address)
	if err != nil || strings.Contains(address, "@") && parsed.User == nil {
		return nil, errors.New("the PostgreSQL URL cannot be read: want postgres://USER:PASSWORD@HOST:PORT/DATABASE with special characters in the password percent-encoded")
	}
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		reason := err
		if parseError := new(pgconn.ParseConfigError); errors.As(err, &parseError) {
			reason = errors.Unwrap(parseError) // the outer error contains the URL
		}
		return nil, fmt.Errorf("the PostgreSQL URL cannot be used: %w", oneLine{reason})
	}
	connection := config.ConnConfig
	if connection.ConnectTimeout == 0 {
		connection.ConnectTimeout = 5 * time.Second
	}
	connection.DialFunc = newDialer(connection.ConnectTimeout).DialContext
	for name, value := range postgresSettings {
		if _, given := connection.RuntimeParams[name]; !given {
			connection.RuntimeParams[name] = value
		}
	}
	return config, nil
}

// checkCommitDurability refuses a connection on which a commit could be acknowledged before it is
// on disk. The setting may differ by role or database, so every connection is checked.
func checkCommitDurability(ctx context.Context, conn *pgx.Conn) error {
	var mode string
	if err := conn.QueryRow(ctx, "SHOW synchronous_commit").Scan(&mode); err != nil {
		return err
	}
	if mode != "on" && mode != "remote_apply" {
		return fmt.Errorf("PostgreSQL has synchronous_commit=%s for this connection, which loses acknowledged drafts in a crash: set it to on", mode)
	}
	return nil
}

func checkServer(ctx context.Context, pool *sql.DB, logger *slog.Logger) error {
	var version, encoding, fsync, fullPageWrites string
	var standby bool
	err := pool.QueryRowContext(ctx, `SELECT current_setting('server_version_num'), current_setting('server_encoding'),
	current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery()`).
		Scan(&version, &encoding, &fsync, &fullPageWrites, &standby)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(version)
	switch {
	case err != nil || number < minPostgres*10_000:
		return fmt.Errorf("the server has version %s: PostgreSQL %d or later is needed", version, minPostgres)
	case encoding != "UTF8":
		return fmt.Errorf("the database has encoding %s: create one with ENCODING 'UTF8'", encoding)
	case standby:
		return errors.New("the server is a read-only standby: give the primary's address")
	}
	if fsync != "on" || fullPageWrites != "on" {
		logger.WarnContext(ctx, "PostgreSQL runs with fsync or full_page_writes off: a power cut destroys acknowledged drafts")
	}
	return nil
}

// postgresTurn lets one process migrate at a time. The others wait without a limit.
var postgresTurn = []string{
	"SET LOCAL statement_timeout = 0",
	"SET LOCAL lock_timeout = 0",
	"SELECT pg_advisory_xact_lock(7236834210041)",
}

// connection waits for a connection. The caller's context applies only to this wait: cancelling a
// statement would cost the connection.
func (e *postgresEngine) connection(ctx context.Context) (*sql.Conn, error) {
	conn, err := e.pool.Conn(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, explainPostgres(err)
	}
	return conn, nil
}

// detached returns the context for statements: they run to their end or to the deadline, also when
// their caller no longer waits.
func detached(timeout time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.WithoutCancel(ctx), timeout)
	}
}

func (e *postgresEngine) read(ctx context.Context, fn func(context.Context, *session) error) error {
	conn, err := e.connection(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // returns it to the pool
	detached, cancel := e.detached(ctx)
	defer cancel()
	return fn(detached, &session{runner: conn, explain: explainPostgres})
}

func (e *postgresEngine) write(ctx context.Context, fn func(context.Context, *session) error) error {
	defer e.waiting.Add(-1)
	if e.waiting.Add(1) > e.maxWaiting {
		e.overloads.Add(1)
		return ErrOverloaded
	}
	conn, err := e.writeConnection(ctx)
	if err != nil {
		return err
	}
	defer conn.release()
	detached, cancel := e.detached(ctx)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := e.attempt(detached, conn, fn)
		if !wantsRetry(err) || attempt == maxAttempts {
			return err
		}
		e.retries.Add(1)
	}
}

func (e *postgresEngine) attempt(ctx context.Context, conn *writeConnection, fn func(context.Context, *session) error) error {
	within := &transactionContext{Context: ctx}
	tx, err := conn.BeginTx(within, nil)
	if err != nil {
		return explainPostgres(err)
	}
	defer func() { _ = tx.Rollback() }() // also after a panic; does nothing after a commit
	session := (&session{explain: explainPostgres, returnsSeq: true, conn: conn.Conn}).begun(tx)
	if err := fn(ctx, session); err != nil {
		if wantsRetry(session.failure) {
			return session.failure
		}
		return err
	}
	if !session.changed {
		if _, err := session.exec(ctx, barrier); err != nil {
			return err
		}
	}
	if err := conn.commit(ctx, within, tx); err != nil {
		e.failures.Add(1)
		return fmt.Errorf("commit: %w: %w", ErrUnavailable, err)
	}
	e.writes.Add(1)
	return nil
}

// wantsRetry reports whether PostgreSQL rolled back a transaction that may succeed if it is run
// again.
func wantsRetry(err error) bool {
	var failure *pgconn.PgError
	return errors.As(err, &failure) && (failure.Code == "40001" || failure.Code == "40P01") // serialization_failure, deadlock_detected
}

func (e *postgresEngine) ping(ctx context.Context) error {
	var standby bool
	if err := e.pool.QueryRowContext(ctx, "SELECT pg_is_in_recovery()").Scan(&standby); err != nil {
		return explainPostgres(err)
	}
	if standby {
		return fmt.Errorf("%w: the server has become a read-only standby", ErrUnavailable)
	}
	return nil
}

// generation does not count the commits of other processes.
func (e *postgresEngine) generation() (commits int64, all bool) { return 0, false }

func (e *postgresEngine) stats() Stats {
	writes := e.writes.Load()
	return Stats{
		Engine:       "postgres",
		Waiting:      int(e.waiting.Load()),
		MaxWaiting:   int(e.maxWaiting),
		Writes:       writes,
		Commits:      writes,
		LargestBatch: min(writes, 1),
		Overloads:    e.overloads.Load(),
		Retries:      e.retries.Load(),
		Failures:     e.failures.Load(),
		ReadersInUse: e.pool.Stats().InUse,
		Unconfirmed:  int(e.unconfirmed.Load()),
	}
}

func (e *postgresEngine) queuePool() QueuePool { return QueuePool{Postgres: e.connections} }

// close does not wait for commits that wait for a standby: their callers already have
// [ErrUnavailable].
func (e *postgresEngine) close() error {
	err := e.pool.Close()
	if waiting := e.unconfirmed.Load(); waiting > 0 {
		e.log.Warn("commits still wait for a synchronous standby and are left to the server", "commits", waiting)
		go e.connections.Close()
		return err
	}
	e.connections.Close()
	return err
}

// explainPostgres distinguishes a server that cannot be used now and rows that were written first
// by others from faults in statements.
func explainPostgres(err error) error {
	var failure *pgconn.PgError
	unavailable := isDisconnect(err)
	if errors.As(err, &failure) {
		switch class := failure.Code[:2]; {
		case class == "08", class == "53", class == "57", class == "58", // connection, resources, operator, system
			class == "40",                                    // rolled back in the last attempt
			failure.Code == "25006", failure.Code == "25P03", // read-only since a failover; idle for too long
			failure.Code == "55P03": // waited too long for a lock
			unavailable = true
		}
	}
	switch {
	case unavailable:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case failure != nil && failure.Code == "23505": // unique_violation
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}

// isDisconnect reports whether the server was not reached or the connection was lost.
func isDisconnect(err error) bool {
	for _, lost := range []error{driver.ErrBadConn, sql.ErrConnDone, sql.ErrTxDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		context.DeadlineExceeded} {
		if errors.Is(err, lost) {
			return true
		}
	}
	var network net.Error
	return errors.As(err, &network) || pgconn.SafeToRetry(err)
}

// oneLine is an error without the line breaks that the driver puts between the hosts it tried.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }
func (e oneLine) Unwrap() error { return e.error }
