package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie/internal/pgtest"
)

// hotQueries are the reads whose cost must not depend on how many drafts there are, with the index
// each must use.
var hotQueries = []struct {
	name, query    string
	sqlite         string // index and the terms it answers
	postgres       string
	postgresFilter string // what PostgreSQL checks on the row that the index found
	args           string
}{
	{"status by draft id", selectDraftByDraftID, "sqlite_autoindex_drafts_1 (draft_id=?)", "drafts_pkey", "wallet", "'0x01', 'draft_1'"},
	{"status by mission id", selectDraftByMissionID, "sqlite_autoindex_drafts_2 (mission_id=?)", "drafts_mission_id_key", "wallet", "'0x01', 'mission-1'"},
	{"replay", selectDraftByKey, "sqlite_autoindex_drafts_3 (wallet=? AND idempotency_key=?)", "drafts_wallet_idempotency_key_key", "", "'0x01', 'key-1'"},
	{"list", selectDrafts, "drafts_of_wallet (wallet=? AND seq<?)", "drafts_of_wallet", "", "'0x01', 9000, 100"},
	{"filtered list", selectDraftsInStatus, "drafts_of_wallet_in_status (wallet=? AND list_status=? AND seq<?)", "drafts_of_wallet_in_status", "", "'0x01', 9000, 100, 'published'"},
	{"drafts to remove", selectRemovableDrafts, "drafts_unfunded (created_at<?)", "drafts_unfunded", "", "100, 64"},
	{"events", selectEvents, "PRIMARY KEY (wallet=? AND seq>?)", "events_pkey", "", "'0x01', 1, 100"},
}

func TestSQLitePlans(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t), Options{})
	for _, hot := range hotQueries {
		var steps []string
		err := query(db, "EXPLAIN QUERY PLAN "+hot.query, []any{"", "", "", ""}[:strings.Count(hot.args, ",")+1],
			func(row scanner) error {
				var id, parent, unused int
				var step string
				err := row.Scan(&id, &parent, &unused, &step)
				steps = append(steps, step)
				return err
			})
		if err != nil {
			t.Fatalf("plan of %s: %v", hot.name, err)
		}
		if len(steps) != 1 || !strings.HasPrefix(steps[0], "SEARCH") || !strings.HasSuffix(steps[0], hot.sqlite) {
			t.Errorf("%s: the plan is %q, want one search of %s", hot.name, steps, hot.sqlite)
		}
	}
}

// TestPostgresPlans checks the plans for a wallet with few drafts, and for one that has nearly all,
// where a planner may prefer another index and a filter.
func TestPostgresPlans(t *testing.T) {
	t.Parallel()
	run := postgresConsole(t)
	for _, statement := range []string{
		`INSERT INTO drafts (draft_id, mission_id, wallet, idempotency_key, fingerprint, mission, title, token, token_address,
	chain_id, factory_address, reward, target_count, nonce, created_at, depth, decision, refunded, list_status, updated_at, version)
SELECT 'draft_' || i, 'mission-' || i, CASE WHEN i % 100 = 0 THEN '0x02' ELSE '0x01' END, 'key-' || i, '', repeat('x', 400), '', '', '',
	1, '', '1', 1, '', i, 'none', 'none', FALSE, CASE WHEN i % 1000 = 0 THEN 'published' ELSE 'pending_funding' END, i, 1
FROM generate_series(1, 20000) AS i`,
		`INSERT INTO events (wallet, seq, draft_id, type, data, created_at)
SELECT '0x01', i, 'draft_1', '', '{}', i FROM generate_series(1, 20000) AS i`,
		`ANALYZE drafts`, `ANALYZE events`,
	} {
		run(statement)
	}
	for i, hot := range hotQueries {
		run(fmt.Sprintf("PREPARE hot%d AS %s", i, hot.query))
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			for _, wallet := range []string{"0x01", "0x02"} {
				args := strings.Replace(hot.args, "0x01", wallet, 1)
				run("SET plan_cache_mode = " + mode)
				plan := run(fmt.Sprintf("EXPLAIN (COSTS OFF) EXECUTE hot%d (%s)", i, args))
				text := strings.Join(plan, "; ")
				wantFilter := hot.postgresFilter != ""
				if !strings.Contains(text, " using "+hot.postgres+" on ") || strings.Contains(text, "Seq Scan") || strings.Contains(text, "Sort") ||
					strings.Contains(text, "Filter: ") != wantFilter {
					t.Errorf("%s of %s, %s: the plan is %q, want %s and nothing to filter or sort", hot.name, wallet, mode, text, hot.postgres)
				}
			}
		}
	}
}

// postgresConsole returns a function that runs statements on one connection to a new database and
// returns the lines of their results.
func postgresConsole(t *testing.T) func(statement string) []string {
	t.Helper()
	ctx := context.Background()
	conn, err := postgresOf(open(t, pgtest.Database(t), Options{})).pool.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return func(statement string) (lines []string) {
		t.Helper()
		rows, err := conn.QueryContext(ctx, statement)
		if err != nil {
			t.Fatalf("explain %s: %v", statement, err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, strings.TrimSpace(line))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return lines
	}
}
