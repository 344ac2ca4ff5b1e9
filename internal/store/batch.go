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

	maxConnectionWait = 5 * time.Second // for the job queue to give the connection back
)

// batcher is the one writer of an SQLite database. A durable commit costs a flush of the disk, so
// the transactions that come in while one commit is under way share the next: each runs in a
// savepoint of its own inside one SQL transaction, and all are acknowledged after its commit. There
// is no timer; a lone writer waits for nobody.
//
// A function runs on its caller's goroutine, when its turn comes, so that a panic unwinds where it
// belongs.
type batcher struct {
	writer  *sql.DB // one connection, which the job queue uses too
	session *session
	walPath string

	queue   chan *turn
	stopped chan struct{}

	connectionWait time.Duration
	logLimit       int64
	nextCheckpoint int64 // size of the log at which one is due

	lastFailure atomic.Pointer[error] // of the last commit; nil when it succeeded

	attempts atomic.Int64 // to commit, that are over

	writes, commits, largest, overloads, failures, walBytes atomic.Int64
}

// turn is one transaction on its way through the batcher.
type turn struct {
	claimed atomic.Bool   // by the batcher, to run it, or by its caller, to give up
	begin   chan *session // from the batcher: go
	ran     chan error    // from the caller: how it went
	result  chan error    // from the batcher: committed, or why not
}

func (t *turn) claim() bool { return t.claimed.CompareAndSwap(false, true) }

// errAborted stands for a function that never returned: it panicked, or ended its goroutine.
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

// stop runs what is queued and ends the writer. Nothing may be added any more.
func (b *batcher) stop() {
	close(b.queue)
	<-b.stopped
}

// write is the caller's side: wait for a turn, run fn, wait for the commit.
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
	case err := <-t.result: // the batch failed before this turn came
		return err
	case <-ctx.Done():
		if t.claim() {
			return fmt.Errorf("wait for a turn to write: %w", ctx.Err())
		}
		select { // too late: the turn is coming
		case session = <-t.begin:
		case err := <-t.result:
			return err
		}
	}
	// From here on the caller can no longer leave: others in the batch depend on it.
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

// run is the writer's side: commit what is waiting, and again.
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

// join adds the turns that came while the batch ran. Callers that are ready to come go first: where
// the processors are busy, a batch that does not let them would be committed nearly empty, and a
// commit costs more than a turn.
func (b *batcher) join(batch []*turn) []*turn {
	runtime.Gosched()
	return b.drain(batch)
}

// commit runs a batch in one SQL transaction and tells every member that was not refused by its own
// function what became of it. When the commit fails, nobody is acknowledged.
func (b *batcher) commit(batch []*turn) {
	members, err := b.transact(batch)
	b.attempts.Add(1) // also after a failure, of which nobody knows how much is on the disk
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

// transact returns the turns that wait for the result. After an error these are all that were not
// told their own.
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

// connection waits until the job queue gives the connection back. Should it never do so, this
// writer must not wait with it: the queue itself may be waiting for a write.
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

// release gives the connection back, or closes it after a failure: what SQLite cached in it is no
// longer trusted. The next batch opens another.
func release(conn *sql.Conn, failure error) {
	if failure != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = conn.Close() // of a closed one: nothing
}

// runInSavepoint gives a turn to its caller. It keeps what the function wrote, or takes back
// exactly that. An error means that the SQL transaction itself is lost: SQLite ends it, savepoints
// and all, on some I/O errors.
func (b *batcher) runInSavepoint(ctx context.Context, session *session, t *turn) (kept bool, err error) {
	if _, err := session.exec(ctx, savepoint); err != nil {
		return true, err // its function has not run: the caller waits for the result
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

// boundLog keeps the write-ahead log from growing for as long as there are readers. SQLite's own
// checkpoints start the log over only when they happen to meet no reader of it; this one waits for
// them. Where even that does not help, it tries again when the log has grown as much again.
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
		return 0 // not there
	}
	return info.Size()
}
