package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	maxBatch   = 256      // transactions that share one commit
	maxLogSize = 64 << 20 // bytes of write-ahead log after which writes wait for the readers of old pages

	maxConnectionWait = 5 * time.Second // for the job queue to return the connection
)

// batcher is the only writer of an SQLite database. A durable commit costs a flush of the disk, so
// the transactions that arrive during one commit share the next: each runs in its own savepoint
// inside one SQL transaction, and all are acknowledged after its commit. There is no timer: a
// single writer does not wait.
//
// A function runs on its caller's goroutine, so that a panic unwinds there.
type batcher struct {
	writer  *sql.DB // one connection, which the job queue uses too
	session *session
	walPath string

	queue   chan *turn
	stopped chan struct{}

	connectionWait time.Duration
	logLimit       int64
	nextCheckpoint int64 // size of the log at which the next one is due

	lastFailure atomic.Pointer[error] // of the last commit; nil when it succeeded

	attempts atomic.Int64 // finished attempts to commit

	writes, commits, largest, overloads, failures, walBytes atomic.Int64
}

// turn is one transaction in the batcher.
type turn struct {
	claimed atomic.Bool   // by the batcher, to run it, or by its caller, to give up
	begin   chan *session // from the batcher: run now
	ran     chan error    // from the caller: the function's result
	result  chan error    // from the batcher: the result of the commit
}

func (t *turn) claim() bool { return t.claimed.CompareAndSwap(false, true) }

// errAborted is the result of a function that did not return: it panicked, or ended its goroutine.
var errAborted = errors.New("transaction aborted")

func startBatcher(writer *sql.DB, session *session, walPath string, maxWaiting int) *batcher {
	b := &batcher{
		writer: writer, session: session, walPath: walPath,
		queue: make(chan *turn, maxWaiting), stopped: make(chan struct{}),
		connectionWait: maxConnectionWait, logLimit: maxLogSize, nextCheckpoint: maxLogSize,
	}
	go b.run()
	return b
}

// stop runs what is queued and ends the writer. No write may be added afterwards.
func (b *batcher) stop() {
	close(b.queue)
	<-b.stopped
}

// write is the caller's side: it waits for a turn, runs fn and waits for the commit.
func (b *batcher) write(ctx context.Context, fn func(context.Context, *session) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &turn{begin: make(chan *session), ran: make(chan error), result: make(chan error, 1)}
	select {
	case b.queue <- t:
	default:
		b.overloads.Add(1)
		return ErrOverloaded
	}

	var session *session
	select {
	case session = <-t.begin:
	case err := <-t.result: // the batch failed before this turn
		return err
	case <-ctx.Done():
		if t.claim() {
			return fmt.Errorf("wait for a turn to write: %w", ctx.Err())
		}
		select { // too late: the batcher has claimed the turn
		case session = <-t.begin:
		case err := <-t.result:
			return err
		}
	}
	// The caller can no longer give up: others in the batch depend on it.
	if err := t.run(context.WithoutCancel(ctx), session, fn); err != nil {
		return err
	}
	return <-t.result
}

func (t *turn) run(ctx context.Context, session *session, fn func(context.Context, *session) error) error {
	outcome := errAborted
	defer func() { t.ran <- outcome }()
	outcome = fn(ctx, session)
	return outcome
}

// run is the writer's side: it commits the waiting transactions, batch after batch.
func (b *batcher) run() {
	defer close(b.stopped)
	batch := make([]*turn, 0, maxBatch)
	for first := range b.queue {
		batch = b.drain(append(batch[:0], first))
		b.commit(batch)
		b.boundLog()
	}
}

func (b *batcher) drain(batch []*turn) []*turn {
	for len(batch) < maxBatch {
		select {
		case next, open := <-b.queue:
			if !open {
				return batch
			}
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

// join adds the turns that arrived while the batch ran. It yields to callers that are ready to add
// one: on busy processors the batch would otherwise be committed nearly empty, and a commit costs
// more than a turn.
func (b *batcher) join(batch []*turn) []*turn {
	runtime.Gosched()
	return b.drain(batch)
}

// commit runs a batch in one SQL transaction and sends the result to every member whose function
// did not fail. If the commit fails, no member is acknowledged.
func (b *batcher) commit(batch []*turn) {
	members, err := b.transact(batch)
	b.attempts.Add(1) // also after a failure, which may have left part of it on the disk
	if err == nil {
		b.lastFailure.Store(nil)
		b.commits.Add(1)
		b.writes.Add(int64(len(members)))
		b.largest.Store(max(b.largest.Load(), int64(len(members))))
	} else {
		b.lastFailure.Store(&err)
		b.failures.Add(1)
	}
	for _, t := range members {
		t.result <- err
	}
}

// transact returns the turns that wait for the result: after an error, all that did not get their
// own.
func (b *batcher) transact(batch []*turn) (members []*turn, err error) {
	ctx := context.Background()
	members = batch[:0:0]
	claimRest := func(rest []*turn) {
		for _, t := range rest {
			if t.claim() {
				members = append(members, t)
			}
		}
	}
	conn, err := b.connection(ctx)
	if err != nil {
		claimRest(batch)
		return members, err
	}
	defer func() { release(conn, err) }()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		claimRest(batch)
		return members, b.session.explain(err)
	}
	begun := b.session.begun(tx)
	for i := 0; ; i++ {
		if i == len(batch) {
			batch = b.join(batch)
		}
		if i == len(batch) {
			break
		}
		t := batch[i]
		if !t.claim() {
			continue
		}
		kept, err := b.runInSavepoint(ctx, begun.another(), t)
		if kept {
			members = append(members, t)
		}
		if err != nil {
			_ = tx.Rollback() // the connection is closed in any case
			claimRest(batch[i+1:])
			return members, b.session.explain(err)
		}
	}
	if err := tx.Commit(); err != nil {
		return members, b.session.explain(err)
	}
	return members, nil
}

// connection waits until the job queue returns the connection. The wait is bounded, because the
// queue itself may wait for a write.
func (b *batcher) connection(ctx context.Context) (*sql.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, b.connectionWait)
	defer cancel()
	conn, err := b.writer.Conn(ctx)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, fmt.Errorf("%w (the job queue keeps the connection that writes): %w", ErrUnavailable, err)
	case err != nil:
		return nil, b.session.explain(err)
	}
	return conn, nil
}

// release returns the connection, or closes it after a failure: its caches are no longer trusted.
// The next batch opens another.
func release(conn *sql.Conn, failure error) {
	if failure != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = conn.Close() // does nothing if it is already closed
}

// runInSavepoint lets a turn's caller run its function. It keeps or rolls back exactly what the
// function wrote. An error means that the SQL transaction itself is lost: SQLite ends it, with all
// savepoints, on some I/O errors.
func (b *batcher) runInSavepoint(ctx context.Context, session *session, t *turn) (kept bool, err error) {
	if _, err := session.exec(ctx, savepoint); err != nil {
		return true, err // the function has not run: its caller waits for the result
	}
	t.begin <- session
	if refusal := <-t.ran; refusal != nil {
		control := session.another() // this one may have failed
		if _, err := control.exec(ctx, rollbackToSavepoint); err != nil {
			return false, err
		}
		_, err := control.exec(ctx, releaseSavepoint)
		return false, err
	}
	_, err = session.exec(ctx, releaseSavepoint)
	return true, err
}

var (
	savepoint           = preparedWrite("SAVEPOINT turn")
	rollbackToSavepoint = preparedWrite("ROLLBACK TO turn")
	releaseSavepoint    = preparedWrite("RELEASE turn")
)

// boundLog keeps the write-ahead log from growing while there are readers. SQLite's own checkpoints
// restart the log only when no reader uses it; this one waits for the readers. If that fails too,
// it tries again when the log has grown by the same size.
func (b *batcher) boundLog() {
	size := fileSize(b.walPath)
	if size >= b.nextCheckpoint {
		_, _ = b.writer.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)") // a failed one loses nothing
		size = fileSize(b.walPath)
		b.nextCheckpoint = size + b.logLimit
	}
	b.walBytes.Store(size)
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0 // does not exist
	}
	return info.Size()
}
