package store

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// alter runs a statement without the store's methods.
func alter(t *testing.T, url, statement string) {
	t.Helper()
	db := open(t, url, Options{})
	if err := db.Tx(context.Background(), func(tx *Tx) error {
		_, err := tx.exec(statement)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func checkRefused(t *testing.T, url string, words ...string) {
	t.Helper()
	db, err := Open(context.Background(), url, Options{Logger: quiet})
	if err == nil {
		_ = db.Close()
		t.Fatalf("Open succeeded, want an error with %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("Open: %v; want %q in it", err, word)
		}
	}
	if strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("Open: got error %q, want one line", err)
	}
}

func testNewerSchema(t *testing.T, url string) {
	alter(t, url, "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (9999, '9999_future', '', 0)")
	checkRefused(t, url, "9999", "upgrade the sortie binary")
}

func testAlteredMigration(t *testing.T, url string) {
	alter(t, url, "UPDATE schema_migrations SET checksum = 'other' WHERE version = 1")
	checkRefused(t, url, "0001_drafts")
}

// testKilledMigration kills a process after each statement of each migration, and lets two more
// start at once after it.
func testKilledMigration(t *testing.T, url string) {
	engine := "sqlite"
	if !strings.HasPrefix(url, engine) {
		engine = "postgres"
	}
	migrations, err := loadMigrations(engine)
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, migration := range migrations {
		for i := range migration.statements {
			child := startChild(t, "migrate", "URL="+url, "VERSION="+strconv.FormatInt(migration.version, 10), "STATEMENT="+strconv.Itoa(i+1))
			child.awaitKilled()
			killed++
		}
	}
	if killed < 6 {
		t.Errorf("killed processes: got %d, want one for each statement", killed)
	}
	if engine == "postgres" { // SQLite lets one process in
		mustAll(t, together(4, func(int) error {
			db, err := Open(context.Background(), url, Options{Logger: quiet})
			if err != nil {
				return err
			}
			return db.Close()
		}))
	}
	db := open(t, url, Options{})
	mustCreate(t, db, alice, "key")
	if applied := count(t, db, "SELECT COUNT(*) FROM schema_migrations"); applied != int64(len(migrations)) {
		t.Errorf("%d migrations are recorded, want %d", applied, len(migrations))
	}
}

func TestMigrationsAreNumberedAlike(t *testing.T) {
	t.Parallel()
	sqlite, err := loadMigrations("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	postgres, err := loadMigrations("postgres")
	if err != nil {
		t.Fatal(err)
	}
	if len(sqlite) != len(postgres) {
		t.Fatalf("number of migrations: got %d for SQLite and %d for PostgreSQL, want the same", len(sqlite), len(postgres))
	}
	for i := range sqlite {
		postgres[i].statements = slices.DeleteFunc(postgres[i].statements, func(statement string) bool {
			return strings.Contains(statement, "drafts_of_chain") || // SQLite reads the rows of a table in the order of their numbers
				strings.Contains(statement, "job_workers") // SQLite has one process
		})
		if sqlite[i].name != postgres[i].name || len(sqlite[i].statements) != len(postgres[i].statements) {
			t.Errorf("migration %d: got %s with %d statements for SQLite and %s with %d for PostgreSQL, want the same", i+1,
				sqlite[i].name, len(sqlite[i].statements), postgres[i].name, len(postgres[i].statements))
		}
	}
}
