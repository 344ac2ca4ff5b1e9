package store

import (
	"context"
	"database/sql"
	"fmt"
)

// session runs statements on one engine, inside a transaction or not. It turns engine errors into the errors of this package.
//
// Statements run to their end once they began, whether or not their caller still waits: they take microseconds, and to
// interrupt one costs others. SQLite would roll back everybody in the batch; PostgreSQL's driver would give up the connection.
// The contexts they are given are therefore detached from the caller's.
type session struct {
	runner   runner
	prepared map[string]*sql.Stmt // statements parsed once; others are parsed each time. nil where the driver does that itself
	explain  func(error) error    // gives an engine's error its place among the errors of this package

	tx      *sql.Tx // nil outside transactions
	failure error   // the first statement that failed in this transaction: nothing after it counts
}

// runner is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// begun is the same session inside a transaction.
func (s *session) begun(tx *sql.Tx) *session {
	return &session{runner: tx, prepared: s.prepared, explain: s.explain, tx: tx}
}

// exec runs a statement that returns no rows and tells how many it changed.
func (s *session) exec(ctx context.Context, query string, args ...any) (changed int64, err error) {
	if s.failure != nil {
		return 0, s.failure
	}
	var result sql.Result
	if stmt := s.statement(ctx, query); stmt != nil {
		result, err = stmt.ExecContext(ctx, args...)
	} else {
		result, err = s.runner.ExecContext(ctx, query, args...)
	}
	if err == nil {
		changed, err = result.RowsAffected()
	}
	return changed, s.fail(err)
}

// each hands every row to scan.
func (s *session) each(ctx context.Context, query string, args []any, scan func(scanner) error) error {
	if s.failure != nil {
		return s.failure
	}
	var rows *sql.Rows
	var err error
	if stmt := s.statement(ctx, query); stmt != nil {
		rows, err = stmt.QueryContext(ctx, args...)
	} else {
		rows, err = s.runner.QueryContext(ctx, query, args...)
	}
	if err != nil {
		return s.fail(err)
	}
	defer func() { _ = rows.Close() }() // closing repeats the error of rows.Err
	for rows.Next() {
		if err := scan(rows); err != nil {
			return s.fail(fmt.Errorf("read row: %w", err))
		}
	}
	return s.fail(rows.Err())
}

// one hands the first row to scan. No row is [ErrNotFound], which does not fail a transaction.
func (s *session) one(ctx context.Context, query string, args []any, scan func(scanner) error) error {
	found := false
	err := s.each(ctx, query, args, func(row scanner) error {
		found = true
		return scan(row)
	})
	if err == nil && !found {
		return ErrNotFound
	}
	return err
}

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }

func (s *session) statement(ctx context.Context, query string) *sql.Stmt {
	stmt := s.prepared[query]
	if stmt != nil && s.tx != nil {
		return s.tx.StmtContext(ctx, stmt)
	}
	return stmt
}

// fail records that a transaction can no longer be committed. After an I/O error SQLite may have rolled it back by itself,
// and what follows would be written outside of it; PostgreSQL refuses to go on after any error. The rule is the same here.
func (s *session) fail(err error) error {
	if err == nil {
		return nil
	}
	return s.refuse(s.explain(err))
}

// refuse makes a transaction fail with err, whatever its function returns.
func (s *session) refuse(err error) error {
	if s.tx != nil && s.failure == nil {
		s.failure = err
	}
	return err
}
