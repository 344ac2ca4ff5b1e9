package store

import (
	"strconv"
	"strings"
)

// bulk inserts many rows with few statements, so that the rows share the cost of a statement. The
// rows have the same value in the first column.
type bulk struct {
	columns int // without the first one
	sizes   []bulkSize
}

// bulkSize is the statement for a fixed number of rows. There are few sizes, so that each statement
// is parsed once.
type bulkSize struct {
	rows               int
	sqlite, postgreSQL string
}

// Both engines allow more parameters in a statement, 32,766 and 65,535, but larger sizes are hardly
// faster.
var bulkRows = []int{256, 32, 4, 1}

// newBulk makes the statements from the beginning of one. On SQLite all parameters but the first
// are unnamed: SQLite searches named ones linearly.
func newBulk(insert string, columns int) bulk {
	b := bulk{columns: columns}
	for _, rows := range bulkRows {
		var sqlite, postgreSQL strings.Builder
		sqlite.WriteString(insert)
		postgreSQL.WriteString(insert)
		for row := range rows {
			if row > 0 {
				sqlite.WriteString(", ")
				postgreSQL.WriteString(", ")
			}
			sqlite.WriteString("(?1" + strings.Repeat(", ?", columns) + ")")
			postgreSQL.WriteString("($1")
			for column := range columns {
				postgreSQL.WriteString(", $" + strconv.Itoa(row*columns+column+2))
			}
			postgreSQL.WriteString(")")
		}
		b.sizes = append(b.sizes, bulkSize{rows: rows, sqlite: preparedWrite(sqlite.String()), postgreSQL: postgreSQL.String()})
	}
	return b
}

// insertRows inserts all rows. appendValues appends the values of some rows to the arguments.
func insertRows[T any](tx *Tx, b bulk, common any, rows []T, appendValues func([]any, []T) []any) error {
	args := make([]any, 0, 1+min(len(rows), bulkRows[0])*b.columns)
	for _, size := range b.sizes {
		statement := size.sqlite
		if tx.session.conn != nil { // PostgreSQL
			statement = size.postgreSQL
		}
		for len(rows) >= size.rows {
			args = appendValues(append(args[:0], common), rows[:size.rows])
			if _, err := tx.exec(statement, args...); err != nil {
				return err
			}
			rows = rows[size.rows:]
		}
	}
	return nil
}
