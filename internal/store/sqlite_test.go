package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func sqliteFile(url string) string { return strings.TrimPrefix(url, "sqlite:") }

func sqliteOf(db *DB) *sqliteEngine { return db.engine.(*sqliteEngine) }

func TestSQLiteSettingsAreReadBack(t *testing.T) {
	t.Parallel()
	url := sqliteURL(t)
	db := open(t, url, Options{})
	for _, setting := range []struct{ name, reader, writer string }{
		{"journal_mode", "wal", "wal"},
		{"synchronous", "2", "2"},
		{"foreign_keys", "1", "1"},
		{"busy_timeout", "5000", "5000"},
		{"query_only", "1", "0"},
	} {
		var reader, writer string
		err1 := sqliteOf(db).readers.QueryRow("PRAGMA " + setting.name).Scan(&reader)
		err2 := sqliteOf(db).writer.QueryRow("PRAGMA " + setting.name).Scan(&writer)
		if err := errors.Join(err1, err2); err != nil || reader != setting.reader || writer != setting.writer {
			t.Errorf("%s is %s for readers and %s for the writer, want %s and %s (%v)",
				setting.name, reader, writer, setting.reader, setting.writer, err)
		}
	}
	if _, err := sqliteOf(db).readers.Exec("DELETE FROM drafts"); err == nil {
		t.Error("a reader can write")
	}

	ignored := []pragma{{"synchronous", "NORMAL", "2"}} // what a SQLite that does not obey looks like
	_, err := sqliteConnector{dsn: sqliteDSN(sqliteFile(url), ignored), pragmas: ignored}.Connect(context.Background())
	if err == nil || !strings.Contains(err.Error(), "synchronous=1") {
		t.Errorf("a connection with another setting: %v, want it refused", err)
	}
}

func TestSQLiteFileBelongsToItsOwner(t *testing.T) {
	t.Parallel()
	url := sqliteURL(t)
	mustCreate(t, open(t, url, Options{}), alice, "key")
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		info, err := os.Stat(sqliteFile(url) + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o, want 600", info.Name(), info.Mode().Perm())
		}
	}
}

func TestSQLitePathsAreTakenAsTheyAre(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "50% off & more + ü.db")
	mustCreate(t, open(t, "sqlite:"+path, Options{}), alice, "key")
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Error(err)
	}
}

func TestOpenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	garbage := filepath.Join(directory, "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ url, say string }{
		{"", "database: want sqlite:PATH or postgres:"},
		{"mysql://root:hunter2@localhost/x", "database: want sqlite:PATH or postgres:"},
		{"sqlite:", "sqlite:PATH"},
		{"sqlite::memory:", "sqlite:PATH"},
		{"sqlite:" + directory + "/x.db?_pragma=synchronous(off)", "sqlite:PATH"},
		{"sqlite:" + directory, "is a directory"},
		{"sqlite:" + directory + "/absent/x.db", "does not exist: create it"},
		{"sqlite:" + garbage, "no SQLite database: restore a backup"},
		{"postgres://sortie:hunter2@localhost:port/x", "percent-encoded"},
		{"postgres://sortie:hunter2#@localhost/x", "percent-encoded"},
		{"postgres://sortie:hunter2?@localhost/x", "percent-encoded"},
		{"postgres://sortie:hunter2%zz@localhost/x", "percent-encoded"},
		{"postgres://sortie:1#hunter2@localhost/x", "percent-encoded"},
		{"postgres://sortie:hunter2@localhost/x?sslmode=maybe", "sslmode"},
		{"postgres://sortie:hunter2@localhost:1/x", "connection refused"},
		{"postgres://sortie:hunter2@localhost:1,localhost:2/x", "connection refused"},
		{"postgres://localhost:1/x?user=sortie&password=hunter2", "connection refused"},
	} {
		db, err := Open(context.Background(), test.url, Options{})
		if err == nil {
			_ = db.Close()
			t.Errorf("Open(%q): got no error, want one", test.url)
			continue
		}
		if text := err.Error(); !strings.Contains(text, test.say) || strings.Contains(text, "hunter2") || strings.Contains(text, "\n") {
			t.Errorf("Open(%q): %q; want one line with %q and without the password", test.url, text, test.say)
		}
	}
}

func TestSQLiteBelongsToOneProcess(t *testing.T) {
	t.Parallel()
	url := sqliteURL(t)
	holder := startChild(t, "hold", "URL="+url)
	if line := holder.line(); line != "open" {
		t.Fatalf("first line of the child: got %q", line)
	}
	checkRefused(t, url, sqliteFile(url), fmt.Sprintf("another process is using it (process %d)", holder.cmd.Process.Pid), "stop it")

	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(sqliteFile(url), link); err != nil {
		t.Fatal(err)
	}
	checkRefused(t, "sqlite:"+link, "another process is using it")

	holder.kill()
	holder.awaitKilled()
	db := open(t, url, Options{})
	mustCreate(t, db, alice, "the lock died with its holder")
	checkRefused(t, url, "another process is using it") // this one
}

// TestSQLiteSharesCommits holds the writer until others wait, and checks the outcome of their
// shared commit for each of them.
func TestSQLiteSharesCommits(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t), Options{})
	ctx := context.Background()
	running, release := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- db.Tx(ctx, func(*Tx) error {
			close(running)
			<-release
			return nil
		})
	}()
	<-running

	const callers = 40
	refusal := errors.New("no")
	outcomes := make(chan []error)
	go func() {
		outcomes <- together(callers, func(i int) (err error) {
			defer func() {
				if panicked := recover(); panicked != nil {
					err = refusal
				}
			}()
			return db.Tx(ctx, func(tx *Tx) error {
				if _, _, err := tx.CreateDraft(drawDraft(alice, key(i)), manyDrafts, created); err != nil {
					return err
				}
				switch i % 4 {
				case 1:
					return refusal
				case 2:
					panic("out of order")
				case 3: // a statement that fails, and a function that does not care
					_, _ = tx.exec("INSERT INTO drafts (draft_id) VALUES (NULL)")
				}
				return nil
			})
		})
	}()
	for db.Stats().Waiting < callers {
		runtime.Gosched()
	}
	close(release)
	errs := <-outcomes
	if err := <-first; err != nil {
		t.Error(err)
	}
	for i, err := range errs {
		_, stored := db.DraftByKey(ctx, alice, key(i))
		switch i % 4 {
		case 0:
			if err != nil || stored != nil {
				t.Errorf("caller %d: %v, its draft: %v; want both well", i, err, stored)
			}
		case 1, 2:
			if err != refusal || !errors.Is(stored, ErrNotFound) {
				t.Errorf("caller %d: %v, its draft: %v; want its refusal and no draft", i, err, stored)
			}
		case 3:
			if err == nil || !errors.Is(stored, ErrNotFound) {
				t.Errorf("caller %d: %v, its draft: %v; want the statement's error and no draft", i, err, stored)
			}
		}
	}
	if stats := db.Stats(); stats.Commits != 1 || stats.LargestBatch != callers/4+1 || stats.Writes != callers/4+1 {
		t.Errorf("the statistics are %+v, want 1 commit of %d: those who came while the first one ran join it", stats, callers/4+1)
	}
	checkCounters(t, db, alice)
}

// TestSQLiteLogIsBounded writes much while readers always read an old state.
func TestSQLiteLogIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 8 << 20
	db := open(t, sqliteURL(t), Options{})
	engine := sqliteOf(db)
	engine.logLimit, engine.nextCheckpoint = limit, limit
	ctx := context.Background()
	stop, readers := make(chan struct{}), make(chan error, 1)
	go func() { readers <- relayReaders(ctx, engine.readers, stop) }()

	var largest int64
	value := make([]byte, 256<<10)
	for i := range 4 * limit / len(value) {
		if err := db.Tx(ctx, func(tx *Tx) error {
			_, err := tx.Setting(key(i), value)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, fileSize(engine.walPath))
	}
	close(stop)
	if err := <-readers; err != nil {
		t.Fatal(err)
	}
	if largest > 2*limit {
		t.Errorf("size of the write-ahead log: got %d MB, want it bounded", largest>>20)
	}
	t.Logf("the log grew to %d MB while %d MB were written", largest>>20, 4*limit>>20)
}

// relayReaders begins each read before the previous one ends, so that SQLite's own checkpoints
// never find the log unused.
func relayReaders(ctx context.Context, db *sql.DB, stop <-chan struct{}) error {
	var last *sql.Tx
	for {
		next, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		var rows int64
		if err := next.QueryRowContext(ctx, "SELECT COUNT(*) FROM settings").Scan(&rows); err != nil {
			return err
		}
		if last != nil {
			if err := last.Rollback(); err != nil {
				return err
			}
		}
		last = next
		select {
		case <-stop:
			return last.Rollback()
		default:
		}
	}
}

func TestSQLiteErrorsAreToldApart(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t), Options{})
	none := func(scanner) error { return nil }
	if err := query(db, "DELETE FROM drafts", nil, none); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "mounted for writing") {
		t.Errorf("a write where writing is not possible: %v, want ErrUnavailable and what to check", err)
	}
	if err := query(db, "SELEKT", nil, none); err == nil || errors.Is(err, ErrUnavailable) {
		t.Errorf("error of a wrong statement: got %v, want it not to be ErrUnavailable", err)
	}
}
