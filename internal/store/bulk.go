package store

import (
	"strconv"
	"strings"
)

// bulk is an INSERT of many rows at once: what a row costs beside its values, finding the statement and running it, is shared.
type bulk struct {
	columns int
	sizes   []bulkSize
}

// bulkSize is the statement for a fixed number of rows. The numbers are few, so that each statement is parsed once.
type bulkSize struct {
	rows      int
	statement string
}

// Both engines allow more parameters in a statement (32,766 and 65,535); beyond these sizes there is nothing left to gain.
var bulkRows = []int{256, 32, 1}

func newBulk(insert string, columns int) bulk {
	b := bulk{columns: columns}
	for _, rows := range bulkRows {
		var statement strings.Builder
		statement.WriteString(insert)
		for i := range rows * columns {
			switch {
			case i == 0:
				statement.WriteString("($")
			case i%columns == 0:
				statement.WriteString("), ($")
			default:
				statement.WriteString(", $")
			}
			statement.WriteString(strconv.Itoa(i + 1))
		}
		statement.WriteString(")")
		b.sizes = append(b.sizes, bulkSize{rows: rows, statement: statement.String()})
	}
	return b
}

// insertRows inserts all rows; values appends those of one.
func insertRows[T any](tx *Tx, b bulk, rows []T, values func(*T, []any) []any) error {
	args := make([]any, 0, min(len(rows), b.sizes[0].rows)*b.columns)
	for _, size := range b.sizes {
		for len(rows) >= size.rows {
			args = args[:0]
			for i := range size.rows {
				args = values(&rows[i], args)
			}
			if _, err := tx.session.exec(tx.ctx, size.statement, args...); err != nil {
				return err
			}
			rows = rows[size.rows:]
		}
	}
	return nil
}
