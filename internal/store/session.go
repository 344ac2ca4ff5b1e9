package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// session runs statements on one engine, inside a transaction or not. It converts engine errors to
// the errors of this package.
//
// A statement that has begun runs to its end, even if its caller no longer waits: it takes
// microseconds, and interrupting it would affect others. SQLite would roll back the whole batch;
// PostgreSQL's driver would close the connection. The contexts of statements are therefore detached
// from the caller's.
type session struct {
	runner   runner
	prepared map[string]*sql.Stmt // statements parsed once; others are parsed each time. nil if the driver prepares them itself
	explain  func(error) error    // converts an engine's error to one of this package

	returnsSeq bool // the engine returns the number of a new row only with RETURNING

	conn    *sql.Conn            // the connection of tx; nil on SQLite and outside transactions
	tx      *sql.Tx              // nil outside transactions
	bound   map[string]*sql.Stmt // prepared statements bound to tx, shared by all sessions in it
	failure error                // of the first failed statement of this transaction; no later statement runs
	changed bool                 // a statement of this transaction has changed rows
}

// runner is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// begun returns the session inside a transaction.
func (s *session) begun(tx *sql.Tx) *session {
	return &session{runner: tx, prepared: s.prepared, explain: s.explain, returnsSeq: s.returnsSeq, conn: s.conn, tx: tx, bound: make(map[string]*sql.Stmt)}
}

// another returns a session in the same transaction without this one's failure.
func (s *session) another() *session {
	fresh := *s
	fresh.failure = nil
	return &fresh
}

// exec runs a statement that returns no rows and returns how many rows it changed.
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

// insert runs a statement that adds one row and returns the number that the engine gave it in the
// column seq. If the row was not added, it fails with [ErrNotFound], which does not fail the
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

// byteBudget bounds the bytes of large columns that a statement reads, because clients choose their
// size. 0 is no bound.
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

// each calls scan for every row, until scan returns errEnough.
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

// one calls scan for the first row. Without a row it fails with [ErrNotFound], which does not fail
// a transaction.
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
// rolled it back, and later statements would run outside of it; PostgreSQL refuses statements after
// any error. The rule is the same for both.
func (s *session) fail(err error) error {
	if err == nil {
		return nil
	}
	return s.refuse(s.explain(err))
}

// refuse makes a transaction fail with err, even if its function returns nil.
func (s *session) refuse(err error) error {
	if s.tx != nil && s.failure == nil {
		s.failure = err
	}
	return err
}
