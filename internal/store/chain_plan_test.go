package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// chainQueries are the frequent queries of the follower, the sender and the operators. Their cost
// must depend on what is under way, not on the number of all rows.
var chainQueries = []struct {
	name, query string
	sqlite      []string // the ways to the rows
	postgres    []string // the indexes
	args        string
}{
	{"blocks", selectBlocks, []string{"PRIMARY KEY (chain_id=? AND number<?)"}, []string{"chain_blocks_pkey"}, "31337, 9000, 10"},
	{"prune blocks", deleteBlocksBelow, []string{"PRIMARY KEY (chain_id=? AND number<?)"}, []string{"chain_blocks_pkey"}, "31337, 5"},
	{"take back blocks", deleteBlocksAbove, []string{"PRIMARY KEY (chain_id=? AND number>?)"}, []string{"chain_blocks_pkey"}, "31337, 19990"},
	{"take back events", selectEventsAbove, []string{"PRIMARY KEY (chain_id=? AND block_number>?)"}, []string{"chain_events_pkey"}, "31337, 19990"},
	{"events", selectChainEvents, []string{"PRIMARY KEY (chain_id=? AND block_number>? AND block_number<?)"}, []string{"chain_events_pkey"}, "31337, 70, 80"},
	{"funding", selectFunding, []string{"PRIMARY KEY (draft_id=?)"}, []string{"fundings_pkey"}, "'draft_1'"},
	{"funding by key", selectFundingByKey, []string{"sqlite_autoindex_fundings_2 (mission_key=?)"}, []string{"fundings_mission_key_key"}, "'key'"},
	{"draft", selectAnyDraftByDraftID, []string{"sqlite_autoindex_drafts_1 (draft_id=?)"}, []string{"drafts_pkey"}, "'draft_1'"},
	{"mission", selectAnyDraftByMissionID, []string{"sqlite_autoindex_drafts_2 (mission_id=?)"}, []string{"drafts_mission_id_key"}, "'mission-1'"},
	{"oldest draft", selectOldestDraft, []string{"sqlite_autoindex_drafts_1"}, []string{"drafts_pkey"}, ""},
	{
		"to confirm", selectFundingsToConfirm, []string{"drafts_to_deepen (chain_id=? AND depth=?)", "PRIMARY KEY (draft_id=?)"},
		[]string{"drafts_to_deepen", "fundings_pkey"}, "31337, 9000, 100, 'seen', 10, 3",
	},
	{
		"to refund", selectRefundsToConfirm,
		[]string{"fundings_to_refund (chain_id=? AND closed_block>? AND closed_block<?)", "sqlite_autoindex_drafts_1 (draft_id=?)"},
		[]string{"fundings_to_refund", "drafts_pkey"}, "31337, 9000, 100, 10, 3",
	},
	{"to lapse", selectDraftsToLapse, []string{"drafts_to_lapse (publish_by>? AND publish_by<?)"}, []string{"drafts_to_lapse"}, "9000, 100"},
	{
		"in review", selectDraftsInReview, []string{"drafts_in_review (seq>?)", "PRIMARY KEY (draft_id=?)"},
		[]string{"drafts_in_review", "fundings_pkey"}, "10, 20",
	},
	{
		"funded", selectFundedDrafts, []string{"INTEGER PRIMARY KEY (rowid>?)", "PRIMARY KEY (draft_id=?)"},
		[]string{"drafts_of_chain", "fundings_pkey"}, "31337, 10, 20",
	},
	{
		"fundable", selectFundableDrafts, []string{"drafts_fundable (chain_id=? AND rowid>?)"},
		[]string{"drafts_fundable"}, "31337, 10, 20, 0",
	},
	{"audit", selectAudit, []string{"INTEGER PRIMARY KEY (rowid<?)"}, []string{"audit_pkey"}, "9000, 20"},
	{"halted", selectHalted, []string{"incidents_halting"}, []string{"incidents_halting"}, ""},
	{"stuck", selectFollowerStuck, []string{"incidents_stuck"}, []string{"incidents_stuck"}, ""},
	{"open incident of a kind", selectOpenIncidentOf, []string{"incidents_open"}, []string{"incidents_"}, "'events_set_aside'"},
	{"open incidents", selectOpenIncidents, []string{"incidents_open"}, []string{"incidents_"}, "256"},
	{"any intent", selectAnyIntent, []string{"intents_of_subject (kind=? AND subject=?)"}, []string{"intents_of_subject"}, "'close', 'draft_7'"},
	{"active intent", selectActiveIntent, []string{"intents_active (kind=? AND subject=?)"}, []string{"intents_active"}, "'close', 'draft_7'"},
	{
		"newest intent", selectNewestIntent, []string{"intents_of_subject (kind=? AND subject=?)", "PRIMARY KEY (intent_id=?) LEFT-JOIN"},
		[]string{"intents_of_subject", "attempts_pkey"}, "'close', 'draft_7'",
	},
	{
		"intents", strings.Replace(selectIntents, "STATUSES", "'queued', 'mined'", 1),
		[]string{"intents_of_sender (chain_id=? AND sender=? AND status=?)", "PRIMARY KEY (intent_id=?) LEFT-JOIN"},
		[]string{"intents_", "attempts_pkey"}, "31337, '0x01', 256",
	},
	{"backlog", selectBacklog, []string{"intents_waiting (status=?)"}, []string{"intents_waiting"}, ""},
	{
		"other senders", selectOtherSenders, []string{"intents_active_of_sender"}, []string{"intents_active_of_sender"}, "31337, '0x01'",
	},
	{"next attempt", insertAttempt, []string{"PRIMARY KEY (intent_id=?)", "INTEGER PRIMARY KEY (rowid=?)"}, []string{"attempts_pkey", "intents_pkey"}, "7, 'hash', '', 1, '1', '1', 1"},
}

func TestSQLiteChainPlans(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t), Options{})
	for _, q := range chainQueries {
		var ways []string
		var args []any
		if q.args != "" {
			args = make([]any, strings.Count(q.args, ",")+1)
		}
		err := query(db, "EXPLAIN QUERY PLAN "+q.query, args, func(row scanner) error {
			var id, parent, unused int
			var step string
			err := row.Scan(&id, &parent, &unused, &step)
			if _, way, found := strings.Cut(step, " USING "); found {
				ways = append(ways, strings.TrimPrefix(strings.TrimPrefix(way, "COVERING "), "INDEX "))
			} else if strings.HasPrefix(step, "SCAN ") && step != "SCAN intents" { // the one that was selected above it
				ways = append(ways, step)
			}
			return err
		})
		if err != nil || !slices.Equal(ways, q.sqlite) {
			t.Errorf("%s: the plan is %q, %v; want %q", q.name, ways, err, q.sqlite)
		}
	}
}

// TestPostgresChainPlans checks plans in a database with many rows.
func TestPostgresChainPlans(t *testing.T) {
	t.Parallel()
	run := postgresConsole(t)
	for _, statement := range []string{
		`INSERT INTO drafts (draft_id, mission_id, wallet, idempotency_key, fingerprint, mission, title, token, token_address,
	chain_id, factory_address, reward, target_count, nonce, created_at, depth, decision, refunded, list_status, updated_at, version)
SELECT 'draft_' || i, 'mission-' || i, '0x01', 'key-' || i, '', repeat('x', 400), '', '', '', 31337, '', '1', 1, '', i,
	CASE WHEN i % 2 = 0 THEN 'none' WHEN i % 999 = 0 THEN 'seen' WHEN i % 1001 = 0 THEN 'confirmed' ELSE 'locked' END,
	CASE WHEN i % 500 = 1 THEN 'none' ELSE 'approved' END, FALSE,
	CASE WHEN i % 500 = 1 THEN 'funded_pending_review' ELSE 'published' END, i, 1
FROM generate_series(1, 20000) AS i`,
		`INSERT INTO fundings (draft_id, mission_key, chain_id, block_number, block_hash, transaction_hash, log_index, reclaim_after,
	closed_block, refund_due)
SELECT draft_id, 'key' || seq, 31337, seq, repeat('x', 66), repeat('x', 66), 0, 0, CASE WHEN seq % 3 = 0 THEN seq END, seq % 3000 = 3
FROM drafts WHERE depth <> 'none'`,
		`INSERT INTO chain_blocks SELECT 31337, i, repeat('x', 66), i FROM generate_series(1, 20000) AS i`,
		`INSERT INTO chain_events SELECT 31337, i, 0, repeat('x', 66), repeat('x', 66), '', '', '', '{}' FROM generate_series(1, 20000) AS i`,
		`INSERT INTO audit (at, actor, action, subject, detail) SELECT i, '', '', '', '{}' FROM generate_series(1, 20000) AS i`,
		`INSERT INTO incidents SELECT 'id-' || i, '', i % 2 = 0, repeat('x', 300), i, i, CASE WHEN i % 4000 > 1 THEN 1 END, ''
FROM generate_series(1, 20000) AS i`,
		`INSERT INTO intents (chain_id, sender, kind, subject, status, nonce, created_at, updated_at, problem)
SELECT 31337, '0x01', 'close', 'draft_' || i, CASE WHEN i % 1000 = 0 THEN 'sent' WHEN i % 1000 = 1 THEN 'queued' ELSE 'done' END, i, i, i, ''
FROM generate_series(1, 20000) AS i`,
		`INSERT INTO attempts SELECT id, 1, 'hash' || id, '', id, '1', '1', 1 FROM intents`,
		`ANALYZE`,
	} {
		run(statement)
	}
	for i, q := range chainQueries {
		run(fmt.Sprintf("PREPARE chain%d AS %s", i, q.query))
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			run("SET plan_cache_mode = " + mode)
			arguments := ""
			if q.args != "" {
				arguments = "(" + q.args + ")"
			}
			plan := strings.Join(run(fmt.Sprintf("EXPLAIN (COSTS OFF) EXECUTE chain%d %s", i, arguments)), "; ")
			indexed := !strings.Contains(plan, "Seq Scan")
			for _, index := range q.postgres {
				indexed = indexed && strings.Contains(plan, index)
			}
			if !indexed {
				t.Errorf("%s, %s: the plan is %q, want %q", q.name, mode, plan, q.postgres)
			}
		}
	}
}
