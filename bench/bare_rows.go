package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	_ "modernc.org/sqlite" // the product's driver
)

// bareRows is a copy of the product's database, with its tables, indexes and durability.
type bareRows struct {
	selectDraft, selectPage, selectDeliverables, insertDraft *sql.Stmt

	writer  *sql.DB
	pending chan pendingInsert
}

type pendingInsert struct {
	values []any
	done   chan error
}

const (
	// All columns that the product reads, so that both do the same read.
	bareSelectDraft = `SELECT draft_id, mission_id, mission, seq, wallet, idempotency_key, fingerprint, title, token, token_address, chain_id,
	factory_address, reward, target_count, nonce, created_at, depth, decision, refunded, quote_deadline, updated_at, version
FROM drafts WHERE wallet = $1 AND draft_id = $2`

	// Only the columns that are sent: a page could be stored as fragments.
	bareSelectPage = `SELECT draft_id, mission_id, mission FROM drafts WHERE wallet = $1 ORDER BY seq DESC LIMIT 100`

	// Values that differ between drafts are parameters; the first state is the same for all drafts.
	bareInsert = `INSERT INTO drafts (draft_id, mission_id, wallet, idempotency_key, fingerprint, mission, title, token, token_address, chain_id,
	factory_address, reward, target_count, nonce, created_at, depth, decision, refunded, list_status, updated_at, version)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 'none', 'none', 0, 'pending_funding', $15, 1)`
)

// durableDSN opens a database with the product's durability.
func durableDSN(path string) string {
	return "file:" + path + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)"
}

func openBareRows(ctx context.Context, path string) (*bareRows, error) {
	dsn := durableDSN(path)
	readers, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	readers.SetMaxOpenConns(4)
	readers.SetMaxIdleConns(4)
	r := &bareRows{pending: make(chan pendingInsert, callers)}
	if r.writer, err = sql.Open("sqlite", dsn); err != nil {
		return nil, err
	}
	r.writer.SetMaxOpenConns(1)
	var errs [4]error
	r.selectDraft, errs[0] = readers.PrepareContext(ctx, bareSelectDraft)
	r.selectPage, errs[1] = readers.PrepareContext(ctx, bareSelectPage)
	r.insertDraft, errs[2] = r.writer.PrepareContext(ctx, bareInsert)
	r.selectDeliverables, errs[3] = readers.PrepareContext(ctx, barePage)
	go r.commitTogether()
	return r, errors.Join(errs[:]...)
}

// each calls use for the rows of a statement. A row is valid during the call only.
func (r *bareRows) each(statement *sql.Stmt, use func(row []sql.RawBytes), args ...any) error {
	rows, err := statement.Query(args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err tells the same
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	row, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
	for i := range row {
		into[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		use(row)
	}
	return rows.Err()
}

// insert inserts a draft, in one commit with concurrent inserts. It returns when the draft is
// durable.
func (r *bareRows) insert(values ...any) error {
	pending := pendingInsert{values, make(chan error, 1)}
	r.pending <- pending
	return <-pending.done
}

func (r *bareRows) commitTogether() {
	for first := range r.pending {
		batch := []pendingInsert{first}
		for len(r.pending) > 0 {
			batch = append(batch, <-r.pending)
		}
		err := r.transact(batch...)
		for _, member := range batch {
			member.done <- err
		}
	}
}

// insertAlone inserts a draft in its own transaction.
func (r *bareRows) insertAlone(values ...any) error { return r.transact(pendingInsert{values: values}) }

func (r *bareRows) transact(batch ...pendingInsert) error {
	tx, err := r.writer.Begin()
	if err != nil {
		return err
	}
	insert := tx.Stmt(r.insertDraft)
	for _, member := range batch {
		if _, err := insert.Exec(member.values...); err != nil {
			return fmt.Errorf("insert: %w", errors.Join(err, tx.Rollback()))
		}
	}
	return tx.Commit()
}
