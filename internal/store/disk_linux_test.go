package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The disk of these tests fails in a child process: a limit on the size of files applies to
// the whole process, and a small disk is mounted where no other process sees it.

func init() {
	children["failing disk"] = childFailingDisk
	children["full disk"] = childFullDisk
}

func TestSQLiteFailingDisk(t *testing.T) {
	t.Parallel()
	awaitDone(startChild(t, "failing disk", "URL="+sqliteURL(t)))
}

func TestSQLiteFullDisk(t *testing.T) {
	t.Parallel()
	self := exec.Command(os.Args[0])
	self.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := exec.Command("unshare", "--user", "--mount", "true").Run(); err != nil {
		t.Skipf("this kernel lets no user mount a disk of his own: %v", err)
	}
	awaitDone(launchChild(t, self, "full disk", "DIR="+t.TempDir()))
}

func awaitDone(c *child) {
	c.t.Helper()
	for line := c.line(); line != ""; line = c.line() {
		c.t.Log(line)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("child process: got %v, want it to end without an error", err)
	}
}

// must ends a child whose expectation failed.
func must(holds bool, format string, args ...any) {
	if !holds {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
		os.Exit(1)
	}
}

// checkRefusing writes to a database on a full disk, from many callers at once.
func checkRefusing(db *DB, existing Draft, round string) {
	ctx := context.Background()
	failures := db.Stats().Failures
	for i, err := range together(64, func(i int) error {
		_, _, err := create(db, drawDraft(alice, round+key(i)), manyDrafts)
		return err
	}) {
		must(errors.Is(err, ErrUnavailable), "caller %d got %v, want ErrUnavailable", i, err)
	}
	must(db.Stats().Failures > failures, "no commit failed")
	must(sqliteOf(db).writer.Stats().OpenConnections == 0, "the connection whose commit failed is still in use")
	must(errors.Is(db.Heartbeat(ctx), ErrUnavailable), "the heart beats on a disk that takes nothing")
	must(errors.Is(db.Ping(ctx), ErrUnavailable), "Ping: %v, want ErrUnavailable", db.Ping(ctx))
	for i := range 64 {
		_, err := db.DraftByKey(ctx, alice, round+key(i))
		must(errors.Is(err, ErrNotFound), "a draft that was not acknowledged: %v, want ErrNotFound", err)
	}
	got, err := db.DraftByID(ctx, alice, existing.ID)
	must(err == nil && got.Nonce == existing.Nonce, "a read while the disk takes nothing: %v", err)
}

func checkRecovered(db *DB, key string) Draft {
	draft, wasCreated, err := create(db, drawDraft(alice, key), manyDrafts)
	must(err == nil && wasCreated, "the first write after the disk recovered: %v", err)
	must(db.Ping(context.Background()) == nil, "Ping: %v", db.Ping(context.Background()))
	return draft
}

// childFailingDisk makes every write at the end of the log fail with an I/O error, twice, and lets
// it succeed again.
func childFailingDisk() {
	signal.Ignore(syscall.SIGXFSZ) // so that writing fails instead
	db := childOpen(Options{})
	draft := checkRecovered(db, "before")
	var limit syscall.Rlimit
	must(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit) == nil, "getrlimit")
	for round := range 2 {
		end := uint64(fileSize(sqliteOf(db).walPath))
		must(end > 0, "there is no log")
		must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: end, Max: limit.Max}) == nil, "setrlimit")
		checkRefusing(db, draft, fmt.Sprint("round ", round))
		must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) == nil, "setrlimit")
		must(db.Heartbeat(context.Background()) == nil && db.Ping(context.Background()) == nil, "a heartbeat did not find the disk recovered")
		draft = checkRecovered(db, fmt.Sprint("after round ", round))
	}
	must(db.Close() == nil, "close")
	checkStoredAgain(draft, 3)
}

// childFullDisk fills a disk of 4 MB while the database is open, and again before it is opened.
func childFullDisk() {
	disk := os.Getenv("DIR")
	must(syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m") == nil, "mount")
	must(os.Setenv("URL", "sqlite:"+filepath.Join(disk, "sortie.db")) == nil, "setenv")
	ballast := filepath.Join(disk, "ballast")

	db := childOpen(Options{})
	draft := checkRecovered(db, "before")
	fill(ballast)
	checkRefusing(db, draft, "full")
	must(os.Remove(ballast) == nil, "remove")
	checkRecovered(db, "after")
	must(db.Close() == nil, "close")

	// What is there can be read from a full disk, or the refusal says what to do.
	fill(ballast)
	if db, err := Open(context.Background(), os.Getenv("URL"), Options{}); err == nil {
		fmt.Println("opened on a full disk")
		checkRefusing(db, draft, "restarted")
		must(db.Close() == nil, "close")
	} else {
		fmt.Println("refused on a full disk:", err)
		must(errors.Is(err, ErrUnavailable) && !strings.Contains(err.Error(), "\n"), "Open on a full disk: %v", err)
	}
	must(os.Remove(ballast) == nil, "remove")
	checkStoredAgain(draft, 2)
}

func fill(path string) {
	file, err := os.Create(path)
	must(err == nil, "create: %v", err)
	block := make([]byte, 4096)
	for err == nil {
		_, err = file.Write(block)
	}
	must(errors.Is(err, syscall.ENOSPC), "filling the disk ended with %v", err)
	_ = file.Close()
}

func checkStoredAgain(draft Draft, drafts int) {
	db := childOpen(Options{})
	got, err := db.DraftByID(context.Background(), alice, draft.ID)
	must(err == nil && got.Nonce == draft.Nonce, "after a restart: %v", err)
	all, err := db.ListDrafts(context.Background(), alice, DraftFilter{Limit: 1000})
	must(err == nil && len(all) == drafts, "after a restart there are %d drafts, want %d (%v)", len(all), drafts, err)
	must(db.Close() == nil, "close")
}
