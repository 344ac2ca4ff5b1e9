package pgtest

import (
	"context"
	"database/sql"
	"testing"
	"time"
)

// Primary is a PostgreSQL server of one test, which can turn its synchronous replication on and
// off. It has no standby: while replication is on, commits wait.
type Primary struct {
	t     testing.TB
	URL   string
	admin *sql.DB
}

// StartPrimary starts a server that is stopped when the test ends. Replication is a setting of the
// whole server, so the test does not share the server of [Database] or SORTIE_TEST_POSTGRES.
func StartPrimary(t testing.TB) *Primary {
	t.Helper()
	skipShort(t)
	server, err := startCluster()
	if err != nil {
		t.Fatalf("start a PostgreSQL server for this test: %v", err)
	}
	t.Cleanup(server.stop)
	p := &Primary{t: t, URL: server.url()}
	if p.admin, err = sql.Open("pgx", p.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.admin.Close() })
	p.Exec("CREATE TABLE pgtest_probe (number BIGINT)")
	return p
}

// Exec runs a statement as the server's administrator.
func (p *Primary) Exec(statement string) {
	p.t.Helper()
	if _, err := p.admin.Exec(statement); err != nil {
		p.t.Fatalf("run %s: %v", statement, err)
	}
}

// Int runs a query that returns one number.
func (p *Primary) Int(query string) (number int) {
	p.t.Helper()
	if err := p.admin.QueryRow(query).Scan(&number); err != nil {
		p.t.Fatalf("query %s: %v", query, err)
	}
	return number
}

// LoseStandby makes every commit wait for a standby that does not exist. It returns when commits
// wait.
func (p *Primary) LoseStandby() {
	p.t.Helper()
	p.Exec("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
	p.Exec("SELECT pg_reload_conf()")
	for { // the setting is in effect when a commit waits
		probed := make(chan error, 1)
		go func() {
			_, err := p.admin.Exec("INSERT INTO pgtest_probe VALUES (1)")
			probed <- err
		}()
		if p.probeWaits(probed) {
			return
		}
	}
}

func (p *Primary) probeWaits(probed <-chan error) bool {
	p.t.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for p.CommitsWaiting("INSERT INTO pgtest_probe%") == 0 {
		select {
		case err := <-probed:
			if err != nil {
				p.t.Fatalf("probe: %v", err)
			}
			return false
		case <-again.C:
		}
	}
	return true
}

// CommitsWaiting counts connections that wait for a standby in a statement that matches the
// pattern.
func (p *Primary) CommitsWaiting(like string) int {
	p.t.Helper()
	return p.Int("SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query ILIKE '" + like + "'")
}

// AwaitCommitsWaiting returns when the given number of connections waits for a standby in a COMMIT.
func (p *Primary) AwaitCommitsWaiting(want int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		got := p.CommitsWaiting("commit%")
		if got == want {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			p.t.Fatalf("%d commits wait for a standby after %s, want %d", got, startTimeout, want)
		}
	}
}

// CancelCommits cancels the wait of every COMMIT, which an operator must never do.
func (p *Primary) CancelCommits() {
	p.t.Helper()
	p.Exec("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query ILIKE 'commit%'")
}

// RestoreStandby ends the wait of every commit, like a standby that has caught up.
func (p *Primary) RestoreStandby() {
	p.t.Helper()
	p.Exec("ALTER SYSTEM RESET synchronous_standby_names")
	p.Exec("SELECT pg_reload_conf()")
}
