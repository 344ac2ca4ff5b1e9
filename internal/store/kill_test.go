package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sortie-labs/sortie"
)

const roleVariable = "SORTIE_STORE_TEST_ROLE"

// children are what this test binary does when it is started as a process to be killed.
var children = map[string]func(){
	"migrate": childMigrate,
	"write":   childWrite,
	"hold":    childHold,
}

// child is a process of this test binary.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	output *bufio.Scanner
	stdin  io.Closer
}

func startChild(t *testing.T, role string, environment ...string) *child {
	t.Helper()
	return launchChild(t, exec.Command(os.Args[0]), role, environment...)
}

func launchChild(t *testing.T, cmd *exec.Cmd, role string, environment ...string) *child {
	t.Helper()
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role), environment...)
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &child{t: t, cmd: cmd, output: bufio.NewScanner(stdout), stdin: stdin}
}

// line is the next line the child printed, or "" when it ended.
func (c *child) line() string {
	if c.output.Scan() {
		return c.output.Text()
	}
	return ""
}

func (c *child) kill() { _ = c.cmd.Process.Signal(syscall.SIGKILL) }

// awaitKilled checks that the child ended by the signal, and not because it was done or failed.
func (c *child) awaitKilled() {
	c.t.Helper()
	for c.line() != "" {
	}
	_ = c.cmd.Wait()
	if status := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		c.t.Fatalf("the child ended with %s, want it killed", c.cmd.ProcessState)
	}
}

func childOpen(options Options) *DB {
	options.Logger = quiet
	db, err := Open(context.Background(), os.Getenv("URL"), options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return db
}

// childMigrate kills itself after one statement of one migration.
func childMigrate() {
	childOpen(Options{onMigrated: func(version int64, statement int) {
		if strconv.FormatInt(version, 10) == os.Getenv("VERSION") && strconv.Itoa(statement) == os.Getenv("STATEMENT") {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it arrives
		}
	}})
}

// childHold keeps the database open until it is killed.
func childHold() {
	db := childOpen(Options{})
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = db.Close()
}

const writersPerKey = 4 // callers that race for the same key

// childWrite creates drafts, 64 at a time, and prints each that was acknowledged.
func childWrite() {
	db := childOpen(Options{})
	var printing sync.Mutex
	mustNot := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	var callers sync.WaitGroup
	for caller := range 64 {
		callers.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%s-%d-%d", os.Getenv("ROUND"), caller/writersPerKey, i)
				draft, _, err := create(db, drawDraft(alice, key), manyDrafts)
				mustNot(err)
				printing.Lock()
				_, err = fmt.Println(key, draft.ID)
				printing.Unlock()
				mustNot(err)
			}
		})
	}
	callers.Wait()
}

func testKilledWriter(t *testing.T, url string) {
	acknowledged := make(map[string]string)
	for round := range 4 {
		writer := startChild(t, "write", "URL="+url, "ROUND="+strconv.Itoa(round))
		killAfter := 50 + rand.IntN(400)
		for line, lines := writer.line(), 1; line != ""; line, lines = writer.line(), lines+1 {
			key, id, complete := strings.Cut(line, " ")
			if !complete || len(id) != 32 {
				break // cut off by the kill
			}
			if other, known := acknowledged[key]; known && other != id {
				t.Errorf("drafts acknowledged for key %s: got %s and %s, want one", key, other, id)
			}
			acknowledged[key] = id
			if lines == killAfter {
				writer.kill()
			}
		}
		writer.awaitKilled()
		checkAcknowledged(t, url, acknowledged)
	}
	if len(acknowledged) < 50 {
		t.Errorf("acknowledged drafts: got only %d, want more to test", len(acknowledged))
	}
}

func checkAcknowledged(t *testing.T, url string, acknowledged map[string]string) {
	t.Helper()
	db := open(t, url, Options{})
	stored := make(map[string]string)
	for _, draft := range list(t, db, alice, "", 1000) {
		stored[draft.IdempotencyKey] = draft.ID
	}
	for key, id := range acknowledged {
		if stored[key] != id {
			t.Errorf("draft of key %s acknowledged as %s: got %q stored, want the same", key, id, stored[key])
		}
	}
	if union := len(list(t, db, alice, sortie.ListPendingFunding, 1000)); union != len(stored) {
		t.Errorf("drafts in the index by status: got %d, want %d as in the index by wallet", union, len(stored))
	}
	checkCounters(t, db, alice)
	if db.Stats().Engine == "sqlite" {
		checkIntegrity(t, db)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func checkIntegrity(t *testing.T, db *DB) {
	t.Helper()
	var findings []string
	err := query(db, "PRAGMA integrity_check", nil, func(row scanner) error {
		var finding string
		err := row.Scan(&finding)
		findings = append(findings, finding)
		return err
	})
	if err != nil || !slices.Equal(findings, []string{"ok"}) {
		t.Errorf("integrity check: got %q, error %v; want ok", findings, err)
	}
}
