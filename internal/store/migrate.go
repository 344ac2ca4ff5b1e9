package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// The schema is made by numbered files, the same in both folders: 0001_drafts.sql and so on. They
// are never changed after a release, and there is no way back. Statements are separated by blank
// lines.
//
//go:embed migrations
var migrationFiles embed.FS

// migrator brings a schema up to date. Each migration is one transaction, together with the row
// that records it: a process that is killed leaves the old schema or the new one. Processes that
// start at the same time take turns.
type migrator struct {
	db          *sql.DB
	engine      string   // the folder of its files
	takeTurn    []string // statements at the start of a transaction that lock out other processes
	clock       func() time.Time
	onStatement func(version int64, statement int) // nil: nothing
}

type migration struct {
	version    int64
	name       string
	checksum   string
	statements []string
}

func (m migrator) run(ctx context.Context) error {
	known, err := loadMigrations(m.engine)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	for {
		if done, err := m.step(ctx, known); done || err != nil {
			return err
		}
	}
}

// step applies the next migration, if there is one.
func (m migrator) step(ctx context.Context, known []migration) (done bool, err error) {
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	for _, statement := range append(m.takeTurn, createMigrationTable) {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return false, fmt.Errorf("migrate: %w", err)
		}
	}
	applied, err := verifyApplied(ctx, tx, known)
	if err != nil || applied == len(known) {
		return true, err
	}
	next := known[applied]
	for i, statement := range next.statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return false, fmt.Errorf("migration %s, statement %d: %w", next.name, i+1, err)
		}
		if m.onStatement != nil {
			m.onStatement(next.version, i+1)
		}
	}
	if _, err := tx.ExecContext(ctx, insertMigration, next.version, next.name, next.checksum, m.clock().UnixMicro()); err != nil {
		return false, fmt.Errorf("record migration %s: %w", next.name, err)
	}
	if err := tx.Commit(); err != nil {
		return false, fmt.Errorf("commit migration %s: %w", next.name, err)
	}
	return false, nil
}

const (
	createMigrationTable = `CREATE TABLE IF NOT EXISTS schema_migrations (
	version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)`
	listMigrations  = `SELECT version, name, checksum FROM schema_migrations ORDER BY version`
	insertMigration = `INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)`
)

// verifyApplied counts the applied migrations, and refuses a database whose history is not the
// beginning of the known one.
func verifyApplied(ctx context.Context, tx *sql.Tx, known []migration) (applied int, err error) {
	rows, err := tx.QueryContext(ctx, listMigrations)
	if err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for ; rows.Next(); applied++ {
		var has migration
		if err := rows.Scan(&has.version, &has.name, &has.checksum); err != nil {
			return 0, fmt.Errorf("read schema version: %w", err)
		}
		if applied == len(known) {
			return 0, fmt.Errorf("its schema has version %d and this program supports %d: upgrade the sortie binary", has.version, len(known))
		}
		if want := known[applied]; has.version != want.version || has.checksum != want.checksum {
			return 0, fmt.Errorf("its migration %s differs from this program's (%s): run the release that made the database", has.name, want.name)
		}
	}
	return applied, rows.Err()
}

// loadMigrations reads the embedded files of an engine in the order of their numbers.
func loadMigrations(engine string) ([]migration, error) {
	folder := "migrations/" + engine
	entries, err := fs.ReadDir(migrationFiles, folder) // sorted by name
	if err != nil {
		return nil, err
	}
	migrations := make([]migration, 0, len(entries))
	for i, entry := range entries {
		content, err := fs.ReadFile(migrationFiles, folder+"/"+entry.Name())
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(entry.Name(), ".sql")
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || version != int64(i+1) {
			return nil, fmt.Errorf("%s/%s: want number %04d at the start of its name", folder, entry.Name(), i+1)
		}
		sum := sha256.Sum256(content)
		migrations = append(migrations, migration{
			version: version, name: name, checksum: hex.EncodeToString(sum[:]),
			statements: strings.Split(strings.TrimSpace(string(content)), "\n\n"),
		})
	}
	return migrations, nil
}
