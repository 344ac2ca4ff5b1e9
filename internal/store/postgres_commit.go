package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// A COMMIT under synchronous replication is local first: PostgreSQL writes it to its own disk, then
// waits for a standby. A cancel request ends that wait, not the commit, and the rows become visible
// although no standby has them. A failover loses them, after clients were answered from them.
//
// So nothing here cancels a COMMIT. It has no deadline; at the deadline of the transaction its
// caller gets [ErrUnavailable] and the commit continues on its connection, invisible to readers
// until a standby has it. Keepalive ends dead connections. Cancel requests, which pgx sends when it
// gives a connection up, are refused for a connection that commits.

var (
	errCommitWaits   = errors.New("the commit still waits: is a synchronous standby down?")
	errUnreplicated  = errors.New("the wait for a synchronous standby was cancelled: no standby may have the commit")
	errNotCancelled  = errors.New("a commit is under way and must not be cancelled")
	errTooManyWait   = errors.New("too many commits wait for a synchronous standby: restore one")
	errNoWriteSlot   = errors.New("every connection for writes is in use")
	errNotStdlibConn = errors.New("the connection is not one of pgx")
)

// barrier makes a transaction that changed nothing wait for the standbys too: what it read may have
// become visible through a cancelled wait or a restart of the server. PostgreSQL waits only for
// transactions with a record in the log.
const barrier = `SELECT pg_logical_emit_message(true, 'sortie', '') WHERE current_setting('synchronous_standby_names') <> ''`

// connectionState is what the store knows about one connection.
type connectionState struct {
	committing   atomic.Bool // no cancel request may be sent
	unreplicated atomic.Bool // PostgreSQL reported a cancelled wait
}

const connectionStateKey = "sortie"

// prepareConnection creates the state of a connection before it is dialled.
func prepareConnection(_ context.Context, config *pgx.ConnConfig) error {
	state := new(connectionState)
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if state.committing.Load() { // this dials a cancel request
			return nil, errNotCancelled
		}
		return dial(ctx, network, address)
	}
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
		if notice.Routine == "SyncRepWaitForLSN" { // unlike the message, not translated
			state.unreplicated.Store(true)
		}
	}
	config.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[connectionStateKey] = state
		return nil
	}
	return nil
}

func stateOf(conn *sql.Conn) (state *connectionState, err error) {
	err = conn.Raw(func(driverConn any) error {
		below, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return errNotStdlibConn
		}
		state, ok = below.Conn().PgConn().CustomData()[connectionStateKey].(*connectionState)
		if !ok {
			return errNotStdlibConn
		}
		return nil
	})
	return state, err
}

// transactionContext ends at its deadline until the commit begins, and never afterwards.
// database/sql and pgx use the context that began a transaction also for its COMMIT.
type transactionContext struct {
	context.Context
	committing atomic.Bool
}

func (c *transactionContext) Done() <-chan struct{} {
	if c.committing.Load() {
		return nil
	}
	return c.Context.Done()
}

func (c *transactionContext) Err() error {
	if c.committing.Load() {
		return nil
	}
	return c.Context.Err()
}

func (c *transactionContext) Deadline() (deadline time.Time, ok bool) {
	if c.committing.Load() {
		return time.Time{}, false
	}
	return c.Context.Deadline()
}

// writeConnection is a connection with a write slot. A commit that outlives its caller keeps both.
type writeConnection struct {
	engine *postgresEngine
	*sql.Conn
	state *connectionState
	kept  bool // a commit continues on it
}

// writeConnection waits for a connection and a write slot. There are fewer slots than connections,
// so that writes that wait for a standby leave some for reads.
func (e *postgresEngine) writeConnection(ctx context.Context) (*writeConnection, error) {
	if e.unconfirmed.Load() >= int64(cap(e.writers))/2+1 {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, errTooManyWait)
	}
	deadline := time.NewTimer(e.timeout)
	defer deadline.Stop()
	select {
	case e.writers <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-deadline.C:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, errNoWriteSlot)
	}
	w := &writeConnection{engine: e}
	var err error
	if w.Conn, err = e.connection(ctx); err == nil {
		w.state, err = stateOf(w.Conn)
	}
	if err != nil {
		w.release()
		return nil, err
	}
	return w, nil
}

// release returns the connection to the pool, unless a commit continues on it.
func (w *writeConnection) release() {
	if !w.kept {
		w.giveBack()
	}
}

func (w *writeConnection) giveBack() {
	if w.Conn != nil {
		_ = w.Close() // returns it to the pool
	}
	<-w.engine.writers
}

// commit ends a transaction. When ctx ends first, the commit continues without its caller.
func (w *writeConnection) commit(ctx context.Context, within *transactionContext, tx *sql.Tx) error {
	within.committing.Store(true)
	w.state.committing.Store(true)
	w.state.unreplicated.Store(false)
	done := make(chan error, 1)
	go func() { done <- tx.Commit() }()
	select {
	case err := <-done:
		return w.committed(err)
	case <-ctx.Done():
	}
	w.kept = true
	w.engine.unconfirmed.Add(1)
	go func() {
		err := w.committed(<-done)
		w.giveBack()
		if w.engine.unconfirmed.Add(-1); err != nil {
			w.engine.log.Error("a commit that waited for a standby failed: the outcome is unknown", "error", err)
		}
	}()
	return errCommitWaits
}

// committed returns the outcome of a finished COMMIT.
func (w *writeConnection) committed(err error) error {
	if err == nil {
		w.state.committing.Store(false)
		if w.state.unreplicated.Load() {
			return errUnreplicated
		}
	}
	return err
}
