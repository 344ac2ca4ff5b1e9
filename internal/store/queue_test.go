package store

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// testQueueInTransaction adds a job as the job queue does: in a transaction of the store, and on
// its own.
func testQueueInTransaction(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	pool := db.QueuePool()
	if (pool.Postgres == nil) == (pool.SQLite == nil) {
		t.Fatalf("the pool is %+v, want one of the two", pool)
	}
	onItsOwn := func(statement string) (err error) {
		if pool.Postgres != nil {
			_, err = pool.Postgres.Exec(ctx, statement)
		} else {
			_, err = pool.SQLite.ExecContext(ctx, statement)
		}
		return err
	}
	if err := onItsOwn("CREATE TABLE jobs (name TEXT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	add := func(tx *Tx, name string) error {
		if pool.Postgres == nil {
			_, err := tx.SQL().ExecContext(tx.Context(), "INSERT INTO jobs (name) VALUES ($1)", name)
			return err
		}
		return tx.PgxConn(func(conn *pgx.Conn) error {
			_, err := conn.Exec(tx.Context(), "INSERT INTO jobs (name) VALUES ($1)", name)
			return err
		})
	}
	refusal := errors.New("no")
	for _, outcome := range []error{nil, refusal} {
		err := db.Tx(ctx, func(tx *Tx) error {
			if _, _, err := tx.CreateDraft(drawDraft(alice, key(len(outcomeName(outcome)))), manyDrafts, created); err != nil {
				return err
			}
			if err := add(tx, outcomeName(outcome)); err != nil {
				return err
			}
			if err := tx.AddAudit(AuditEntry{Action: outcomeName(outcome)}); err != nil { // the connection is the store's again
				return err
			}
			return outcome
		})
		if !errors.Is(err, outcome) {
			t.Fatalf("Tx: %v, want %v", err, outcome)
		}
	}
	if kept, lost := count(t, db, "SELECT COUNT(*) FROM jobs WHERE name = 'kept'"), count(t, db, "SELECT COUNT(*) FROM jobs WHERE name <> 'kept'"); kept != 1 || lost != 0 {
		t.Errorf("%d jobs of committed transactions and %d of others, want 1 and 0", kept, lost)
	}
	err := db.Tx(ctx, func(tx *Tx) error {
		err := add(tx, "kept")
		if pool.Postgres != nil && !errors.Is(err, ErrConflict) {
			t.Errorf("the same job again: %v, want ErrConflict", err)
		}
		return err
	})
	if err == nil {
		t.Error("a job that could not be added did not fail the transaction")
	}
	if err := errors.Join(onItsOwn("DELETE FROM jobs"), db.Heartbeat(ctx)); err != nil {
		t.Error(err)
	}
}

func outcomeName(err error) string {
	if err == nil {
		return "kept"
	}
	return "taken back"
}

func TestPgxConnIsForPostgreSQL(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t), Options{})
	if err := db.Tx(context.Background(), func(tx *Tx) error { return tx.PgxConn(nil) }); err == nil {
		t.Error("SQLite has a PostgreSQL connection")
	}
}

// TestSQLiteQueueGetsItsTurn writes without pause and expects the job queue to get in between, in
// each of its ways.
func TestSQLiteQueueGetsItsTurn(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t), Options{})
	ctx := context.Background()
	queue := db.QueuePool().SQLite
	if _, err := queue.ExecContext(ctx, "CREATE TABLE jobs (id INTEGER PRIMARY KEY, name TEXT)"); err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	writers := make(chan []error)
	go func() {
		writers <- together(8, func(int) error {
			for !done.Load() {
				if err := db.Heartbeat(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	for range 50 {
		var longest int64
		before := db.Stats().Commits
		measure := func() {
			longest, before = max(longest, db.Stats().Commits-before), db.Stats().Commits
		}
		tx, err := queue.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		measure()
		if _, err := tx.ExecContext(ctx, "INSERT INTO jobs (name) VALUES ('a')"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		var id int64
		if err := queue.QueryRowContext(ctx, "INSERT INTO jobs (name) VALUES ('b') RETURNING id").Scan(&id); err != nil {
			t.Fatal(err)
		}
		measure()
		if _, err := queue.ExecContext(ctx, "UPDATE jobs SET name = 'c' WHERE id = $1", id); err != nil {
			t.Fatal(err)
		}
		measure()
		if longest > 50 { // in its turn it waits for one; a busy machine may let it come late
			t.Errorf("wait of the queue: got %d commits, want few", longest)
		}
	}
	done.Store(true)
	mustAll(t, <-writers)
	if rows := count(t, db, "SELECT COUNT(*) FROM jobs WHERE name IN ('a', 'c')"); rows != 100 {
		t.Errorf("%d jobs are stored, want 100", rows)
	}
	if stats := db.Stats(); stats.Failures != 0 {
		t.Errorf("failed commits: got %d, want 0", stats.Failures)
	}
}

// TestSQLiteQueueCannotBlockForever keeps a transaction of the job queue open, and lets one fail at
// its end.
func TestSQLiteQueueCannotBlockForever(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t), Options{})
	sqliteOf(db).connectionWait = time.Millisecond
	ctx := context.Background()
	queue := db.QueuePool().SQLite
	tx, err := queue.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Heartbeat(ctx); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a write while the queue writes: %v, want ErrUnavailable", err)
	}
	if err := db.Ping(ctx); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Ping: %v, want ErrUnavailable", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := queue.BeginTx(cancelled, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a queue that gave up: %v", err)
	}

	// A violation that SQLite finds at the commit leaves the transaction open.
	if _, err := tx.ExecContext(ctx, "PRAGMA defer_foreign_keys = ON"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO reviews (draft_id, decision, operator, reason, decided_at) VALUES ('none', '', '', '', 0)"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err == nil {
		t.Error("a review of no draft was committed")
	}
	sqliteOf(db).connectionWait = time.Minute
	if err := errors.Join(db.Heartbeat(ctx), db.Ping(ctx)); err != nil {
		t.Errorf("after the queue let go: %v", err)
	}
	if _, err := queue.ExecContext(ctx, "CREATE TABLE jobs (id INTEGER PRIMARY KEY)"); err != nil {
		t.Errorf("the queue after its failure: %v", err)
	}
	if rows := count(t, db, "SELECT COUNT(*) FROM reviews"); rows != 0 {
		t.Errorf("%d reviews are stored, want none", rows)
	}
}
