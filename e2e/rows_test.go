package e2e

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	_ "modernc.org/sqlite" // the "sqlite" driver; that of PostgreSQL comes with pgtest

	"github.com/sortie-labs/sortie"
)

// openRows opens the database of a stopped service for reading.
func openRows(t *testing.T, database string) *sql.DB {
	t.Helper()
	driver, source := "pgx", database
	if path, isSQLite := strings.CutPrefix(database, "sqlite:"); isSQLite {
		driver, source = "sqlite", "file:"+path+"?mode=ro"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// texts returns the rows of a query, each as one line.
func texts(t *testing.T, db *sql.DB, query string) (lines []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, pointers := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			t.Fatal(err)
		}
		words := make([]string, len(values))
		for i, value := range values {
			words[i] = value.String
		}
		lines = append(lines, strings.Join(words, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// checkRows compares the rows of a stopped service with the canonical chain.
func checkRows(t *testing.T, chain *anvil, database string) {
	t.Helper()
	db := openRows(t, database)
	head := chain.head()
	position := texts(t, db, "SELECT tip_number, tip_hash FROM chain_position")
	if want := []string{fmt.Sprintf("%d %s", uint64(head.Number), head.Hash)}; !slices.Equal(position, want) {
		t.Errorf("the service followed the chain to %v, want %v", position, want)
	}
	var start uint64
	if err := db.QueryRowContext(t.Context(), "SELECT start_block FROM chain_position").Scan(&start); err != nil {
		t.Fatal(err)
	}
	var events, fundings []string
	closed := make(map[common.Hash]types.Log)
	logs := chain.followedLogs()
	for _, log := range logs {
		if log.Topics[0] == factoryABI.Events["MissionClosed"].ID {
			closed[log.Topics[1]] = log
		}
	}
	for _, log := range logs {
		if log.BlockNumber < start {
			t.Errorf("the service began to follow at block %d, and block %d concerns it", start, log.BlockNumber)
		}
		name := eventName(t, log)
		key := sortie.Hash(log.Topics[1]).String()
		events = append(events, fmt.Sprintln(log.BlockNumber, log.Index, log.BlockHash, log.TxHash, followedKinds[name], key))
		if name == "MissionFunded" {
			ending, isClosed := closed[log.Topics[1]]
			fundings = append(fundings, fmt.Sprintln(key, log.BlockNumber, log.BlockHash, log.TxHash, closing(ending, isClosed)))
		}
	}
	compareRows(t, "events", events, texts(t, db,
		"SELECT block_number, log_index, block_hash, transaction_hash, kind, mission_key FROM chain_events ORDER BY block_number, log_index"))
	compareRows(t, "fundings", fundings, texts(t, db, `SELECT mission_key, block_number, block_hash, transaction_hash,
		CASE WHEN closed_block IS NULL THEN 'open' ELSE closed_hash || ' ' || closed_transaction END FROM fundings`))
}

func eventName(t *testing.T, log types.Log) string {
	t.Helper()
	event, err := factoryABI.EventByID(log.Topics[0])
	if err != nil {
		t.Fatal(err)
	}
	return event.Name
}

func closing(log types.Log, isClosed bool) string {
	if !isClosed {
		return "open"
	}
	return fmt.Sprint(log.BlockHash, " ", log.TxHash)
}

// compareRows reports rows that are missing on one side, or repeated.
func compareRows(t *testing.T, what string, chain, rows []string) {
	t.Helper()
	times := make(map[string]int)
	for _, line := range rows {
		times[strings.TrimSpace(line)]++
	}
	missing, twice := 0, 0
	for _, line := range chain {
		line = strings.TrimSpace(line)
		switch times[line] {
		case 0:
			missing++
			t.Errorf("missing in the %s: %s", what, line)
		case 1:
		default:
			twice++
			t.Errorf("%d times in the %s: %s", times[line], what, line)
		}
		delete(times, line)
	}
	for line := range times {
		t.Errorf("ghost in the %s: %s", what, line)
	}
	t.Logf("%d %s: %d missing, %d ghosts, %d twice", len(chain), what, missing, len(times), twice)
}
