// Package pgtest gives tests a PostgreSQL server: one temporary cluster per test binary, created
// with the installed programs, and one empty database per test.
//
// It works as root (the server then runs as another user, because PostgreSQL refuses root) and as a
// normal user. If SORTIE_TEST_POSTGRES names a server, databases are created there instead. Without
// either, tests fail with a message about what to install: a skipped engine would look tested.
//
// A package that uses it runs its tests through [Main]:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
package pgtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver
)

// serverVariable is the URL of an existing server whose user may create databases.
const serverVariable = "SORTIE_TEST_POSTGRES"

var (
	startOnce sync.Once
	started   *cluster
	serverURL string
	startErr  error
)

// Main runs the tests of a package and then stops the cluster, if a test started one.
func Main(m *testing.M) (exitCode int) {
	defer func() {
		if started != nil {
			started.stop()
		}
	}()
	return m.Run()
}

// Database creates an empty database that is dropped when the test ends, and returns its URL.
func Database(t testing.TB) string {
	t.Helper()
	skipShort(t)
	startOnce.Do(func() { serverURL, startErr = server() })
	if startErr != nil {
		t.Fatal(startErr)
	}
	name := "sortie_test_" + strings.ToLower(rand.Text())
	admin(t, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8'")
	t.Cleanup(func() { admin(t, "DROP DATABASE "+name+" WITH (FORCE)") })

	address, err := url.Parse(serverURL)
	if err != nil {
		t.Fatalf("%s is not a URL", serverVariable) // without the error, which repeats the password
	}
	address.Path = "/" + name
	return address.String()
}

// skipShort skips a test under -short, which needs only Go.
func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: needs PostgreSQL")
	}
}

// server returns the URL of the server of this test binary: the configured one, or a cluster that
// it starts.
func server() (string, error) {
	if existing := os.Getenv(serverVariable); existing != "" {
		return existing, nil
	}
	var err error
	started, err = startCluster()
	if err != nil {
		return "", fmt.Errorf("start PostgreSQL for tests: %w", err)
	}
	return started.url(), nil
}

func admin(t testing.TB, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open("pgx", serverURL)
	if err != nil {
		t.Fatalf("%s cannot be used: want postgres://USER:PASSWORD@HOST:PORT/DATABASE", serverVariable)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		t.Fatalf("run %s: %v", statement, err)
	}
}
