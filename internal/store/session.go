package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// session runs statements on one engine, inside a transaction or not. It turns engine errors into
// the errors of this package.
//
// Statements run to their end once they began, whether or not their caller still waits: they take
// microseconds, and to interrupt one costs others. SQLite would roll back everybody in the batch;
// PostgreSQL's driver would give up the connection. The contexts they are given are therefore
// detached from the caller's.
type session struct {
	runner   runner
	prepared map[string]*sql.Stmt // statements parsed once; others are parsed each time. nil where the driver does that itself
	explain  func(error) error    // gives an engine's error its place among the errors of this package

	returnsSeq bool // the engine tells the number of a new row only when the statement asks for it

	conn    *sql.Conn            // that tx runs on; nil on SQLite and outside transactions
	tx      *sql.Tx              // nil outside transactions
	bound   map[string]*sql.Stmt // prepared statements as tx knows them, shared by all sessions in it
	failure error                // the first statement that failed in this transaction: nothing after it counts
	changed bool                 // a statement of this transaction is known to have changed rows
}

// runner is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// begun is the same session inside a transaction.
func (s *session) begun(tx *sql.Tx) *session {
	return &session{runner: tx, prepared: s.prepared, explain: s.explain, returnsSeq: s.returnsSeq, conn: s.conn, tx: tx, bound: make(map[string]*sql.Stmt)}
}

// another is a session in the same transaction that knows nothing of this one's failure.
func (s *session) another() *session {
	fresh := *s
	fresh.failure = nil
	return &fresh
}

// exec runs a statement that returns no rows and tells how many it changed.
func (s *session) exec(ctx context.Context, query string, args ...any) (changed int64, err error) {
	result, err := s.run(ctx, query, args)
	if err == nil {
		changed, err = result.RowsAffected()
	}
	s.changed = s.changed || changed > 0
	return changed, s.fail(err)
}

func (s *session) run(ctx context.Context, query string, args []any) (sql.Result, error) {
	if s.failure != nil {
		return nil, s.failure
	}
	if stmt := s.statement(ctx, query); stmt != nil {
		return stmt.ExecContext(ctx, args...)
	}
	return s.runner.ExecContext(ctx, query, args...)
}

// insert runs a statement that adds one row and tells the number that the engine gave it in the
// column named seq. When the row was not added, it is [ErrNotFound], which does not fail a
// transaction.
func (s *session) insert(ctx context.Context, query string, args ...any) (seq int64, err error) {
	if s.returnsSeq {
		err = s.one(ctx, query+" RETURNING seq", args, func(row scanner) error { return row.Scan(&seq) })
		s.changed = s.changed || err == nil
		return seq, err
	}
	result, err := s.run(ctx, query, args)
	if err != nil {
		return 0, s.fail(err)
	}
	added, err := result.RowsAffected()
	if err == nil && added == 0 {
		return 0, ErrNotFound
	}
	if err == nil {
		seq, err = result.LastInsertId()
	}
	return seq, s.fail(err)
}

// errEnough ends [session.each] before the last row. It is not a failure.
var errEnough = errors.New("enough rows")

// byteBudget bounds how many bytes of large columns a statement reads: their size is chosen by
// clients. 0 is no bound.
type byteBudget int

// spend returns errEnough when the budget is used up.
func (b *byteBudget) spend(bytes int) error {
	if *b == 0 {
		return nil
	}
	if *b -= byteBudget(bytes); *b <= 0 {
		*b = -1 // not 0, which is no bound
		return errEnough
	}
	return nil
}

// each hands every row to scan, up to the one for which scan returns errEnough.
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
		if err := scan(rows); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
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
	if stmt := s.bound[query]; stmt != nil {
		return stmt
	}
	stmt := s.prepared[query]
	if stmt != nil && s.tx != nil {
		stmt = s.tx.StmtContext(ctx, stmt)
		s.bound[query] = stmt
	}
	return stmt
}

// fail records that a transaction can no longer be committed. After an I/O error SQLite may have
// rolled it back by itself, and what follows would be written outside of it; PostgreSQL refuses to
// go on after any error. The rule is the same here.
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
