package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

const (
	spareSlots    = 1_000_000 // for submissions of the run
	firstCopy     = 2
	copyIDPattern = "sub_%026d" // ids as the service makes them, in the order of acceptance
)

// copySubmission makes a mission's only submission one of many, all accepted in turn. The first
// copies show the files. Through the doors of the product a million would take minutes; what the
// doors write is copied column by column, whatever the columns are.
func copySubmission(ctx context.Context, database, submissionID string, count int, files []shownFile) (err error) {
	// This database need not survive a power cut.
	db, err := sql.Open("sqlite", "file:"+database+"?_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)&_pragma=cache_size(-400000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect after the commit
	if err := copyRows(tx, submissionID, series{first: firstCopy, last: count}); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	for i, file := range files {
		if _, err := tx.Exec(`UPDATE submissions SET served_hash = $1, served_size = $2 WHERE submission_id = $3`,
			file.hash.String(), file.size, fmt.Sprintf(copyIDPattern, i+firstCopy)); err != nil {
			return fmt.Errorf("show files: %w", err)
		}
	}
	_, slots := tx.Exec(`UPDATE mission_slots SET accepted = $1, accept_seq = $1, target_count = $2, per_contributor = $2`, count, count+spareSlots)
	_, active := tx.Exec(`UPDATE contributors SET active = $1`, count)
	if err := errors.Join(slots, active); err != nil {
		return fmt.Errorf("count: %w", err)
	}
	return tx.Commit()
}

// copies says for each table what makes a copy's row its own. All else in it is equal.
var copies = []struct {
	table string
	own   map[string]string // by column; id, i and shift are the copy's, t is the row that is copied
}{
	{"submissions", map[string]string{"submission_id": "id", "idempotency_key": "id", "seq": "t.seq + i + shift", "accept_seq": "i"}},
	{"deliverables", map[string]string{"submission_id": "id", "accept_seq": "i",
		"fragment": "CAST(replace(CAST(t.fragment AS TEXT), t.submission_id, id) AS BLOB)"}},
}

// series is a number of copies. Their places in the order of acceptance are from first to last;
// shift tells the ids of several series apart.
type series struct {
	first, last, shift int
	own                map[string]string // in addition to that of the table
}

func copyRows(tx *sql.Tx, submissionID string, copied series) error {
	for _, rows := range copies {
		columns, err := columnsOf(tx, rows.table)
		if err != nil {
			return err
		}
		values := make([]string, len(columns))
		for i, column := range columns {
			values[i] = "t." + column
			if rows.own[column] != "" {
				values[i] = rows.own[column]
			}
			if copied.own[column] != "" {
				values[i] = copied.own[column]
			}
		}
		// From a table of its own: SQLite would first gather all that it inserts into the table it
		// reads.
		if _, err := tx.Exec(`CREATE TEMPORARY TABLE one_`+rows.table+` AS SELECT * FROM `+rows.table+` WHERE submission_id = $1`, submissionID); err != nil {
			return fmt.Errorf("%s: %w", rows.table, err)
		}
		if _, err := tx.Exec(fmt.Sprintf(`WITH RECURSIVE
	numbers(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM numbers WHERE i < $1),
	ids(i, id, shift) AS (SELECT i, printf('%s', i + $2), $2 FROM numbers)
INSERT INTO %s (%s) SELECT %s FROM ids, one_%[3]s AS t`,
			copied.first, copyIDPattern, rows.table, strings.Join(columns, ", "), strings.Join(values, ", ")), copied.last, copied.shift); err != nil {
			return fmt.Errorf("%s: %w", rows.table, err)
		}
		if _, err := tx.Exec(`DROP TABLE one_` + rows.table); err != nil {
			return fmt.Errorf("%s: %w", rows.table, err)
		}
	}
	return nil
}

func columnsOf(tx *sql.Tx, table string) (columns []string, err error) {
	rows, err := tx.Query(`SELECT name FROM pragma_table_info($1)`, table)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		columns = append(columns, name)
	}
	return columns, rows.Err()
}
