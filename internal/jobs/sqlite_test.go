package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/store"
)

// TestSQLiteUnderLoad checks that concurrent writes of the queue and the store never fail because
// of a locked database.
func TestSQLiteUnderLoad(t *testing.T) {
	t.Parallel()
	url := sqliteURL(t)
	var logged bytes.Buffer
	b := &testDB{T: t, url: url, db: openDatabase(t, url), log: slog.New(slog.NewTextHandler(&logged, nil))}
	queue := b.open()
	work := newRecorder()
	stop := b.run(queue, Work{Refund: work.refund})

	const refunds, writers = 100, 8
	var writes, ended atomic.Int64
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() {
			for i := 0; ended.Load() == 0; i++ {
				err := b.db.Tx(context.Background(), func(tx *store.Tx) error {
					_, err := tx.Setting(fmt.Sprintf("%d-%d", writer, i), []byte("value"))
					return err
				})
				if err != nil {
					t.Errorf("write: %v", err)
					return
				}
				writes.Add(1)
			}
		})
	}
	for i := range refunds {
		b.refund(queue, draftID(i))
	}
	for range refunds {
		await(t, work.more, "a refund")
	}
	ended.Store(1)
	group.Wait()
	b.awaitEmpty()
	stop()
	if logged.Len() > 0 {
		t.Errorf("got log of the queue %q, want none", logged.String())
	}
	if failures := b.db.Stats().Failures; failures > 0 {
		t.Errorf("got %d failed commits, want 0", failures)
	}
	if n := writes.Load(); n > 100*refunds {
		t.Errorf("got %d other writes before %d refunds were done: the queue is starved", n, refunds)
	}
}

// TestSQLiteRestart checks that a restarted process runs the job of a killed process at once: no
// other process can be running it.
func TestSQLiteRestart(t *testing.T) {
	t.Parallel()
	url := sqliteURL(t)
	b := &testDB{T: t, url: url, db: openDatabase(t, url), log: slog.New(failOnLog{t})}
	queue := b.open()
	b.check(queue, "sub_a")
	b.exec(`UPDATE river_job SET state = 'running', attempt = 1, attempted_at = datetime('now', 'subsec'), attempted_by = jsonb('["dead"]')`)
	work := newRecorder()
	b.run(queue, Work{Check: work.refund})
	await(t, work.more, "the check")
	b.awaitEmpty()
}

// TestIdleSQLiteWritesNothing checks that polling for jobs does not change the write-ahead log.
func TestIdleSQLiteWritesNothing(t *testing.T) {
	t.Parallel()
	url := sqliteURL(t)
	b := &testDB{T: t, url: url, db: openDatabase(t, url), log: slog.New(slog.DiscardHandler)}
	queue := b.open()
	queue.timing.refundPoll, queue.timing.reconcilePoll = time.Millisecond, time.Millisecond
	work := newRecorder()
	b.run(queue, Work{Refund: work.refund, Reconcile: work.reconcile})
	await(t, work.more, "the reconcile at the start")
	b.awaitEmpty()

	wal := strings.TrimPrefix(url, "sqlite:") + "-wal"
	before := mustRead(t, wal)
	<-time.After(300 * time.Millisecond) // hundreds of polls
	if after := mustRead(t, wal); !bytes.Equal(before, after) {
		t.Errorf("write-ahead log without jobs: got a change to %d bytes, want it unchanged with %d", len(after), len(before))
	}
	b.refund(queue, "draft_a")
	b.awaitEmpty()
	for _, table := range []string{"river_leader", "river_notification"} {
		var rows int
		if err := b.db.QueuePool().SQLite.QueryRow("SELECT COUNT(*) FROM " + table).Scan(&rows); err != nil || rows != 0 {
			t.Errorf("table %s: got %d rows (%v), want 0", table, rows, err)
		}
	}
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return content
}
