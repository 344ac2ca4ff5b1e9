package store

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

func postgresOf(db *DB) *postgresEngine { return db.engine.(*postgresEngine) }

func withParameter(t *testing.T, address, name, value string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := parsed.Query()
	query.Set(name, value)
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

func TestPostgresMustCommitDurably(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	for _, mode := range []string{"off", "local", "remote_write"} {
		checkRefused(t, withParameter(t, address, "synchronous_commit", mode), "synchronous_commit="+mode, "set it to on")
	}
	_ = open(t, withParameter(t, address, "synchronous_commit", "remote_apply"), Options{})
}

func TestPostgresMustSpeakUnicode(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	db := open(t, address, Options{})
	name := strings.ToLower(t.Name())
	if _, err := postgresOf(db).pool.Exec("CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := postgresOf(open(t, address, Options{})).pool.Exec("DROP DATABASE " + name); err != nil {
			t.Error(err)
		}
	})
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	parsed.Path = "/" + name
	checkRefused(t, parsed.String(), "SQL_ASCII", "UTF8")
}

func TestPostgresConnectionsHaveTimeouts(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	db := open(t, withParameter(t, address, "lock_timeout", "7s"), Options{})
	for setting, want := range map[string]string{
		"statement_timeout": "30s", "idle_in_transaction_session_timeout": "30s", "application_name": "sortie", "lock_timeout": "7s",
	} {
		var got string
		if err := postgresOf(db).pool.QueryRow("SHOW " + setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, want %q (%v)", setting, got, want, err)
		}
	}
}

// TestPostgresRunsDeadlockedTransactionsAgain lets two transactions add events to two wallets in
// opposite order.
func TestPostgresRunsDeadlockedTransactionsAgain(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.Database(t), Options{})
	drafts := []Draft{mustCreate(t, db, alice, "a"), mustCreate(t, db, bob, "b")}
	var bothHoldOne sync.WaitGroup
	bothHoldOne.Add(2)
	mustAll(t, together(2, func(i int) error {
		attempts := 0
		return db.Tx(context.Background(), func(tx *Tx) error {
			attempts++
			for step := range 2 {
				draft := drafts[(i+step)%2]
				if err := tx.AppendEvent(draft.Wallet, draft.ID, created); err != nil {
					return errors.New("hidden cause") // the store has recorded the failure
				}
				if step == 0 && attempts == 1 {
					bothHoldOne.Done()
					bothHoldOne.Wait()
				}
			}
			return nil
		})
	}))
	if retries := db.Stats().Retries; retries == 0 {
		t.Error("no transaction was run again: the test proves nothing")
	}
	for _, draft := range drafts {
		if events, err := db.EventsAfter(context.Background(), draft.Wallet, 0, 10); err != nil || len(events) != 3 {
			t.Errorf("a wallet has %d events, %v; want that of its draft and two more", len(events), err)
		}
		checkCounters(t, db, draft.Wallet)
	}
}

func TestPostgresLostConnections(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	db := open(t, address, Options{})
	operator := open(t, address, Options{})
	draft := mustCreate(t, db, alice, "key")
	err := db.Tx(context.Background(), func(tx *Tx) error {
		moved, err := tx.TransitionDraft(draft, Transition{State: mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionNone}}, created)
		if err != nil {
			return err
		}
		if _, err := postgresOf(operator).pool.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
			t.Fatal(err)
		}
		_, err = tx.TransitionDraft(moved, Transition{State: moved.State}, created)
		return err
	})
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("Tx on a lost connection: %v, want ErrUnavailable", err)
	}
	if got, err := db.DraftByID(context.Background(), alice, draft.ID); err != nil || got.Version != 1 {
		t.Errorf("the draft has version %d, %v; want it unmoved", got.Version, err)
	}
	if err := db.Ping(context.Background()); err != nil {
		t.Errorf("Ping: %v", err)
	}
	mustCreate(t, db, alice, "the next one works")
}

func TestPostgresReadOnlyServer(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	mustCreate(t, open(t, address, Options{}), alice, "key")
	db := open(t, address, Options{})
	err := db.Tx(context.Background(), func(tx *Tx) error {
		if _, err := tx.exec("SET TRANSACTION READ ONLY"); err != nil { // as after a failover
			return err
		}
		_, _, err := tx.CreateDraft(drawDraft(alice, "other"), 10, created)
		return err
	})
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("Tx on a read-only server: %v, want ErrUnavailable", err)
	}
	if _, err := db.DraftByKey(context.Background(), alice, "key"); err != nil {
		t.Errorf("a read: %v", err)
	}
}
