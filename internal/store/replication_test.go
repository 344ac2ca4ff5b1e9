package store

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

// replicated is a database on a server whose standby can be lost, with deadlines that a test lets
// pass.
type replicated struct {
	*testing.T
	db      *DB
	primary *pgtest.Primary
	expired context.CancelFunc // lets the deadline of the transactions pass that have begun
}

func openReplicated(t *testing.T, wrap func(url string) string, options Options) *replicated {
	t.Helper()
	primary := pgtest.StartPrimary(t)
	address := primary.URL
	if wrap != nil {
		address = wrap(address)
	}
	db := open(t, withParameter(t, address, "lock_timeout", "200ms"), options)
	t.Cleanup(primary.RestoreStandby) // before the database is closed
	return &replicated{T: t, db: db, primary: primary}
}

// expiring makes transactions whose deadline passes when expired is called.
func (r *replicated) expiring() {
	deadline, expired := context.WithCancelCause(context.Background())
	r.expired = func() { expired(context.DeadlineExceeded) }
	postgresOf(r.db).detached = func(context.Context) (context.Context, context.CancelFunc) { return context.WithCancel(deadline) }
}

// patient gives transactions their usual deadline again.
func (r *replicated) patient() { postgresOf(r.db).detached = detached(time.Minute) }

func (r *replicated) create(wallet sortie.Address, key string) (created bool, err error) {
	_, created, err = create(r.db, drawDraft(wallet, key), manyDrafts)
	return created && err == nil, err
}

// abandonCommit has the caller of a COMMIT that waits give up.
func (r *replicated) abandonCommit(key string) {
	r.Helper()
	r.expiring()
	outcome := make(chan error, 1)
	go func() {
		_, err := r.create(alice, key)
		outcome <- err
	}()
	r.primary.AwaitCommitsWaiting(1)
	r.expired()
	if err := <-outcome; !errors.Is(err, ErrUnavailable) || !errors.Is(err, errCommitWaits) {
		r.Fatalf("a commit without a standby at the deadline: %v, want %v because %v", err, ErrUnavailable, errCommitWaits)
	}
	r.patient()
}

func (r *replicated) checkVisible(key string, want error) {
	r.Helper()
	if draft, err := r.db.DraftByKey(context.Background(), alice, key); !errors.Is(err, want) {
		r.Errorf("reading the draft: %q, %v, want %v", draft.ID, err, want)
	}
}

// TestCommitIsNotCancelledWhileAStandbyIsAway lets the deadline of a transaction pass while its
// COMMIT waits for a standby.
func TestCommitIsNotCancelledWhileAStandbyIsAway(t *testing.T) {
	t.Parallel()
	r := openReplicated(t, nil, Options{})
	r.primary.LoseStandby()
	r.abandonCommit("key")
	for try := 2; try <= 4; try++ {
		if created, err := r.create(alice, "key"); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("try %d without a standby: created %t, error %v, want %v", try, created, err, ErrUnavailable)
		}
		r.checkVisible("key", ErrNotFound)
	}
	r.primary.AwaitCommitsWaiting(1) // that of the first try: the others waited for its lock
	if got := r.db.Stats().Unconfirmed; got != 1 {
		t.Errorf("%d unconfirmed commits, want 1", got)
	}
	r.primary.RestoreStandby()
	awaitCondition(t, "no unconfirmed commit", func() bool { return r.db.Stats().Unconfirmed == 0 })
	if created, err := r.create(alice, "key"); err != nil || created {
		t.Errorf("with a standby: created %t, error %v, want the draft of the first try and no error", created, err)
	}
}

// TestACancelledWaitIsNoCommit cancels the wait for a standby from outside, which makes its row
// visible.
func TestACancelledWaitIsNoCommit(t *testing.T) {
	t.Parallel()
	r := openReplicated(t, nil, Options{})
	r.primary.LoseStandby()
	outcome := make(chan error, 1)
	go func() {
		_, err := r.create(alice, "key")
		outcome <- err
	}()
	r.primary.AwaitCommitsWaiting(1)
	r.primary.CancelCommits()
	if err := <-outcome; !errors.Is(err, ErrUnavailable) || !errors.Is(err, errUnreplicated) {
		t.Errorf("the cancelled commit: %v, want %v because %v", err, ErrUnavailable, errUnreplicated)
	}
	r.checkVisible("key", nil) // PostgreSQL shows it, although no standby has it
	r.abandonCommit("key")     // a repeat reads that row and writes nothing: it waits all the same
	r.primary.RestoreStandby()
	if created, err := r.create(alice, "key"); err != nil || created {
		t.Errorf("a repeat with a standby: created %t, error %v, want the draft and no error", created, err)
	}
}

// TestWaitingCommitsLeaveConnectionsForReads fills the database with commits that wait.
func TestWaitingCommitsLeaveConnectionsForReads(t *testing.T) {
	t.Parallel()
	r := openReplicated(t, nil, Options{Connections: 8, TransactionTimeout: time.Second}) // for which writes wait for a connection
	known := mustCreate(t, r.db, alice, "known")
	r.primary.LoseStandby()
	r.expiring()
	outcomes := make(chan []error, 1)
	go func() {
		outcomes <- together(40, func(i int) error {
			_, err := r.create(sortie.Address{byte(i + 1)}, "key")
			return err
		})
	}()
	r.primary.AwaitCommitsWaiting(6)
	if got, err := r.db.DraftByKey(context.Background(), alice, "known"); err != nil || got.ID != known.ID {
		t.Errorf("a read while 40 writes wait: %q, %v, want %q", got.ID, err, known.ID)
	}
	r.expired()
	r.patient()
	for i, err := range <-outcomes {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("write %d without a standby: %v, want %v", i, err, ErrUnavailable)
		}
	}
	if got := r.db.Stats().Unconfirmed; got != 6 {
		t.Errorf("%d unconfirmed commits on 8 connections, want 6", got)
	}
	if _, err := r.create(bob, "key"); !errors.Is(err, errTooManyWait) {
		t.Errorf("a write after those: %v, want %v", err, errTooManyWait)
	}
	if got, err := r.db.DraftByKey(context.Background(), alice, "known"); err != nil || got.ID != known.ID {
		t.Errorf("a read after those: %q, %v, want %q", got.ID, err, known.ID)
	}
}

// TestCloseDoesNotWaitForAStandby closes a database one of whose commits waits.
func TestCloseDoesNotWaitForAStandby(t *testing.T) {
	t.Parallel()
	r := openReplicated(t, nil, Options{})
	r.primary.LoseStandby()
	r.abandonCommit("key")
	if err := r.db.Close(); err != nil {
		t.Errorf("Close: %v, want nil", err)
	}
	if got := r.primary.Int("SELECT COUNT(*) FROM drafts"); got != 0 {
		t.Errorf("%d drafts are visible after the close, want 0 until a standby has them", got)
	}
	r.primary.RestoreStandby()
	r.primary.AwaitCommitsWaiting(0)
	if got := r.primary.Int("SELECT COUNT(*) FROM drafts"); got != 1 {
		t.Errorf("%d drafts with a standby, want 1", got)
	}
}

// TestALostConnectionDoesNotCancelItsCommit cuts the connection of a COMMIT that waits.
func TestALostConnectionDoesNotCancelItsCommit(t *testing.T) {
	t.Parallel()
	var network cuttable
	r := openReplicated(t, func(url string) string { return network.between(t, url) }, Options{})
	r.primary.LoseStandby()
	r.abandonCommit("key")
	network.cut()
	awaitCondition(t, "no unconfirmed commit after its connection was cut", func() bool { return r.db.Stats().Unconfirmed == 0 })
	r.primary.AwaitCommitsWaiting(1) // the server's side still waits
	r.checkVisible("key", ErrNotFound)
}

// cuttable is a network between a database and its server.
type cuttable struct {
	mutex sync.Mutex
	ends  []net.Conn
}

// between gives the URL that leads to the server through this network.
func (c *cuttable) between(t *testing.T, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(parsed.Query().Get("host"), ".s.PGSQL.5432")
	directory, err := os.MkdirTemp("", "pgnet") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	listener, err := net.Listen("unix", filepath.Join(directory, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			c.join(client, server)
		}
	}()
	return withParameter(t, address, "host", directory)
}

func (c *cuttable) join(client, server net.Conn) {
	c.mutex.Lock()
	c.ends = append(c.ends, client, server)
	c.mutex.Unlock()
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			_, _ = client.Close(), server.Close()
		}()
	}
}

// cut ends every connection of now.
func (c *cuttable) cut() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, end := range c.ends {
		_ = end.Close()
	}
}

func awaitCondition(t *testing.T, what string, met func() bool) {
	t.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	timeout := time.After(time.Minute)
	for !met() {
		select {
		case <-again.C:
		case <-timeout:
			t.Fatalf("wait for %s: got a timeout after a minute", what)
		}
	}
}
