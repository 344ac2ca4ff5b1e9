package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func repeated(value string, times int) string {
	return strings.TrimSuffix(strings.Repeat(value+", ", times), ", ")
}

// reservingWay is how the next end of a reservation of a mission is found.
const reservingWay = "submissions_reserving (draft_id=? AND expires_at>?)"

// submissionQueries are the frequent queries of contributors, creators, media links and background
// work. Their cost must not depend on the number of all submissions and missions.
var submissionQueries = []struct {
	name, query string
	sqlite      []string // the ways to the rows
	postgres    []string // the indexes
	args        string
}{
	{"deliverables", selectDeliverables, []string{"PRIMARY KEY (draft_id=? AND accept_seq>?)"}, []string{"deliverables_pkey"}, "'draft_1', 9000, 100"},
	{"mission of deliverables by draft", selectDeliverablesByDraftID, []string{"sqlite_autoindex_mission_slots_1 (draft_id=?)"}, []string{"mission_slots_pkey"}, "'0x01', 'draft_1'"},
	{"mission of deliverables", selectDeliverablesByMissionID, []string{"sqlite_autoindex_mission_slots_2 (mission_id=?)"}, []string{"mission_slots_mission_id_key"}, "'0x01', 'mission-1'"},
	{"served media", selectServedMedia, []string{"sqlite_autoindex_submissions_1 (submission_id=?)"}, []string{"submissions_pkey"}, "'sub_1'"},
	{"lookalikes", selectLookalikes, []string{"PRIMARY KEY (word=?)"}, []string{"perceptual_words_pkey"}, repeated("17", wordProbes) + ", 4096"},
	{"lookalikes of a word", selectLookalikesOfWord, []string{"PRIMARY KEY (word=? AND (perceptual,submission_id)>(?,?))"}, []string{"perceptual_words_pkey"}, "17, 5, 'sub_1', 4096"},
	{
		"earliest lookalike", selectEarliest, []string{"sqlite_autoindex_submissions_1 (submission_id=?)", "USE TEMP B-TREE FOR ORDER BY"}, []string{"submissions_pkey"},
		repeated("'sub_1'", lookupSize) + ", 'sub_2', '0x02'",
	},
	{"exact duplicate", selectExactDuplicate, []string{"submissions_by_upload (uploaded_hash=?)"}, []string{"submissions_by_upload"}, "'up7', 'sub_1', '0x02'"},
	{"the same when served", selectServedDuplicate, []string{"submissions_by_served (served_hash=?)"}, []string{"submissions_by_served"}, "'up7', 'sub_1', '0x02'"},
	{
		"used objects", selectUsedObjects,
		[]string{"submissions_by_upload (uploaded_hash=?)", "submissions_by_served (served_hash=?)", "submissions_by_thumbnail (thumbnail_hash=?)"},
		[]string{"submissions_by_upload", "submissions_by_served", "submissions_by_thumbnail"}, repeated("'up7'", lookupSize),
	},
	{
		"submission", selectSubmission, []string{"sqlite_autoindex_submissions_1 (submission_id=?)", "sqlite_autoindex_drafts_1 (draft_id=?)", "PRIMARY KEY (draft_id=?) LEFT-JOIN", "sqlite_autoindex_payouts_1 (submission_id=?) LEFT-JOIN"},
		[]string{"submissions_pkey", "drafts_pkey", "fundings_pkey", "payouts_pkey"}, "'sub_1'",
	},
	{
		"replay", selectSubmissionByKey, []string{"sqlite_autoindex_submissions_2 (contributor=? AND idempotency_key=?)", "sqlite_autoindex_drafts_1 (draft_id=?)", "PRIMARY KEY (draft_id=?) LEFT-JOIN", "sqlite_autoindex_payouts_1 (submission_id=?) LEFT-JOIN"},
		[]string{"submissions_contributor_idempotency_key_key", "drafts_pkey", "fundings_pkey", "payouts_pkey"}, "'0x01', 'key-1'",
	},
	{
		"own list", selectSubmissionsOf, []string{"submissions_of_contributor (contributor=? AND seq<?)", "sqlite_autoindex_drafts_1 (draft_id=?)", "PRIMARY KEY (draft_id=?) LEFT-JOIN", "sqlite_autoindex_payouts_1 (submission_id=?) LEFT-JOIN"},
		[]string{"submissions_of_contributor", "drafts_pkey", "fundings_pkey", "payouts_pkey"}, "'0x01', 9000, 100",
	},
	{
		"queue", selectSubmissionsInStatus, []string{"submissions_in_status (status=? AND seq>?)", "sqlite_autoindex_drafts_1 (draft_id=?)", "PRIMARY KEY (draft_id=?) LEFT-JOIN", "sqlite_autoindex_payouts_1 (submission_id=?) LEFT-JOIN"},
		[]string{"submissions_in_status", "drafts_pkey", "fundings_pkey", "payouts_pkey"}, "'flagged', 900, 100",
	},
	{
		"queue of a mission", selectSubmissionsOfMission,
		[]string{"sqlite_autoindex_drafts_1 (draft_id=?)", "submissions_of_mission (draft_id=? AND status=? AND seq>?)", "PRIMARY KEY (draft_id=?) LEFT-JOIN", "sqlite_autoindex_payouts_1 (submission_id=?) LEFT-JOIN"},
		[]string{"submissions_of_mission", "drafts_pkey", "fundings_pkey", "payouts_pkey"}, "'flagged', 900, 100, 'draft_1'",
	},
	{
		"reservations to expire", selectReservationsToExpire, []string{"submissions_to_expire (expires_at<?)", "sqlite_autoindex_drafts_1 (draft_id=?)", "PRIMARY KEY (draft_id=?) LEFT-JOIN", "sqlite_autoindex_payouts_1 (submission_id=?) LEFT-JOIN"},
		[]string{"submissions_to_expire", "drafts_pkey", "fundings_pkey", "payouts_pkey"}, "9000, 100",
	},
	{
		"acceptances due", selectAcceptancesDue, []string{"submissions_to_finish (hold_until<?)", "sqlite_autoindex_drafts_1 (draft_id=?)", "PRIMARY KEY (draft_id=?) LEFT-JOIN", "sqlite_autoindex_payouts_1 (submission_id=?) LEFT-JOIN"},
		[]string{"submissions_to_finish", "drafts_pkey", "fundings_pkey", "payouts_pkey"}, "9000, 100",
	},
	{
		"receipts due", selectReceiptsDue, []string{"submissions_to_receipt ((final_at,submission_id)>(?,?))", "sqlite_autoindex_mission_slots_1 (draft_id=?)", "sqlite_autoindex_drafts_1 (draft_id=?)", "PRIMARY KEY (draft_id=?) LEFT-JOIN", "sqlite_autoindex_payouts_1 (submission_id=?) LEFT-JOIN"},
		[]string{"submissions_to_receipt", "drafts_pkey", "fundings_pkey", "payouts_pkey", "mission_slots_pkey"}, "9000, 'sub_1', 100",
	},
	{
		"slot holders", selectSlotHolders, []string{"submissions_of_slot (draft_id=? AND slot=?)"}, []string{"submissions_of_slot"},
		"'draft_1', " + repeated("7", lookupSize),
	},
	{
		"open receipts of a signer", selectOpenReceipts,
		[]string{"submissions_by_signer (receipt_signer=? AND submission_id>?)", "sqlite_autoindex_drafts_1 (draft_id=?)", "PRIMARY KEY (draft_id=?) LEFT-JOIN", "sqlite_autoindex_payouts_1 (submission_id=?) LEFT-JOIN"},
		[]string{"submissions_by_signer", "drafts_pkey", "fundings_pkey", "payouts_pkey"}, "'0x07', 'sub_1', 100",
	},
	{
		"receipts of paid slots", noteReceiptsPaid, []string{"submissions_of_slot (draft_id=? AND slot=?)"}, []string{"submissions_of_slot"},
		"'draft_1', 9000, " + repeated("7", lookupSize),
	},
	{"reserve", reserveSlot, []string{"sqlite_autoindex_mission_slots_1 (draft_id=?)"}, []string{"mission_slots_pkey"}, "'draft_1', 9000, 1, 50"},
	{"count", addToSlots, []string{"sqlite_autoindex_mission_slots_1 (draft_id=?)"}, []string{"mission_slots_pkey"}, "'draft_1', 0, 0, 0, 0, 0, 9000"},
	{"history of a contributor", selectFinal, []string{"submissions_final (contributor=? AND final_at>?)"}, []string{"submissions_final"}, "'by2'"},
	{"next end of a reservation", selectNextReservationEnd, []string{reservingWay}, []string{"submissions_reserving"}, "'draft_3'"},
	{
		"to close", selectSlotsToClose, []string{"slots_to_close (closable_at>? AND closable_at<?)", "sqlite_autoindex_drafts_1 (draft_id=?)"},
		[]string{"slots_to_close", "drafts_pkey"}, "9000, 100",
	},
	{
		"closings that were lost", selectLostClosings, []string{"slots_closing (draft_id>?)", "intents_active (kind=? AND subject=?)"},
		[]string{"slots_closing"}, "100",
	},
	{
		"to complete", selectSlotsToComplete, []string{"slots_to_complete (draft_id>?)", "PRIMARY KEY (draft_id=?)", "sqlite_autoindex_drafts_1 (draft_id=?)"},
		[]string{"slots_to_complete", "drafts_pkey", "fundings_pkey"}, "9000, 'draft_1', 100",
	},
	{"payout of a submission", selectPayout, []string{"sqlite_autoindex_payouts_1 (submission_id=?)"}, []string{"payouts_pkey"}, "'sub_7'"},
	{
		"payouts of slots", selectPayoutsOfSlots, []string{"sqlite_autoindex_payouts_2 (draft_id=? AND slot=?)"}, []string{"payouts_draft_id_slot_key"},
		"'draft_1', " + repeated("7", lookupSize),
	},
	{"payouts to finalize", selectPayoutsToFinalize, []string{"payouts_to_finalize (status=? AND block_number>? AND block_number<?)"}, []string{"payouts_to_finalize"}, "9000, 100, 7, 100"},
	{"unpaid payouts", selectUnpaid, []string{"sqlite_autoindex_payouts_2 (draft_id=?)"}, []string{"payouts_draft_id_slot_key"}, "'draft_1', 100"},
	{"payouts that wait", selectWaiting, []string{"payouts_waiting (draft_id=?)"}, []string{"payouts_waiting"}, "'draft_1', 50"},
	{"payouts of a settlement", selectOpenOfSettlement, []string{"payouts_of_settlement (settlement_id=?)"}, []string{"payouts_of_settlement"}, "7"},
	{"missions whose payouts wait", selectMissionsWaiting, []string{"slots_waiting (token=? AND waiting_since<?)"}, []string{"slots_waiting"}, "'USDC', 9000, 4"},
	{
		"missions with a full batch", selectMissionsWithFullBatch, []string{"slots_with_full_batch (token=? AND waiting_since<?)"}, []string{"slots_with_full_batch"},
		"'USDC', 9000, 4",
	},
	{
		"open settlements", selectOpenSettlements, []string{"settlements_open (id>?)", "intents_of_subject (kind=? AND subject=?) LEFT-JOIN", "PRIMARY KEY (intent_id=?)"},
		[]string{"settlements_open", "intents_of_subject", "attempts_pkey"}, "0, 256",
	},
	{"open settlements of a mission", selectOpenSettlementsOf, []string{"settlements_open_of_mission (draft_id=?)"}, []string{"settlements_open_of_mission"}, "'draft_1'"},
	{
		"settlements that are signed", selectSigned, []string{"settlements_open (id>?)", "intents_of_subject (kind=? AND subject=?)"},
		[]string{"settlements_open"}, "'USDC', 7",
	},
	{
		"feed", selectOpenSlots, []string{"slots_open (seq<?)", "sqlite_autoindex_drafts_1 (draft_id=?)", reservingWay},
		[]string{"slots_open", "drafts_pkey", "submissions_reserving"}, "9000, 1, 100",
	},
	{
		"feed of a media type", selectOpenVideos, []string{"slots_open_of_media (media_type=? AND seq<?)", "sqlite_autoindex_drafts_1 (draft_id=?)", reservingWay},
		[]string{"slots_open_of_media", "drafts_pkey", "submissions_reserving"}, "9000, 1, 100",
	},
	{
		"anywhere", selectAnywhere, []string{"slots_anywhere (seq<?)", "sqlite_autoindex_drafts_1 (draft_id=?)", reservingWay},
		[]string{"slots_anywhere", "drafts_pkey", "submissions_reserving"}, "9000, 1, 100",
	},
	{"near", selectNear, []string{"slots_near (lat_band=? AND lng>? AND lng<?)"}, []string{"slots_near"}, "13000000, 13100000, 1, 'photo', " + repeated("525", maxBands)},
	{
		"nearest", selectSlotsBySeq, []string{"INTEGER PRIMARY KEY (rowid=?)", "sqlite_autoindex_drafts_1 (draft_id=?)", reservingWay},
		[]string{"slots_open", "drafts_pkey", "submissions_reserving"}, repeated("7", lookupSize),
	},
	{
		"published without slots", selectUnpublishedSlots, []string{"SCAN drafts USING INDEX drafts_published", "sqlite_autoindex_mission_slots_1 (draft_id=?)"},
		[]string{"drafts_published", "mission_slots_pkey"}, "100",
	},
}

func TestSQLiteSubmissionPlans(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t), Options{})
	for _, q := range submissionQueries {
		var ways []string
		err := query(db, "EXPLAIN QUERY PLAN "+q.query, make([]any, strings.Count(q.args, ",")+1), func(row scanner) error {
			var id, parent, unused int
			var step string
			err := row.Scan(&id, &parent, &unused, &step)
			if _, way, found := strings.Cut(step, " USING "); found && !strings.HasPrefix(step, "SCAN") {
				ways = append(ways, strings.TrimPrefix(strings.TrimPrefix(way, "COVERING "), "INDEX "))
			} else if strings.HasPrefix(step, "SCAN") || strings.Contains(step, "TEMP B-TREE") {
				ways = append(ways, step)
			}
			return err
		})
		if err != nil || !slices.Equal(ways, q.sqlite) {
			t.Errorf("%s: the plan is %q, %v; want %q", q.name, ways, err, q.sqlite)
		}
	}
}

// TestPostgresSubmissionPlans checks plans in a database with many rows.
func TestPostgresSubmissionPlans(t *testing.T) {
	t.Parallel()
	run := postgresConsole(t)
	for _, statement := range usedDatabase {
		run(statement)
	}
	for i, q := range submissionQueries {
		run(fmt.Sprintf("PREPARE submission%d AS %s", i, q.query))
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			run("SET plan_cache_mode = " + mode)
			// Rows that a list of values finds are few, and so are those that the plan for these
			// values sorts: it knows their number.
			sortsFew := slices.Contains(q.sqlite, "USE TEMP B-TREE FOR ORDER BY") || mode == "force_custom_plan"
			plan := strings.Join(run(fmt.Sprintf("EXPLAIN (COSTS OFF) EXECUTE submission%d (%s)", i, q.args)), "; ")
			indexed := !strings.Contains(plan, "Seq Scan") && (!strings.Contains(plan, "Sort") || sortsFew)
			for _, index := range q.postgres {
				indexed = indexed && strings.Contains(plan, index)
			}
			if !indexed {
				t.Errorf("%s, %s: the plan is %q, want %q", q.name, mode, plan, q.postgres)
			}
		}
	}
}

// usedDatabase is 10,000 missions, of which one in fifty takes work, and 20,000 submissions, half
// of them to one mission and half by one contributor.
var usedDatabase = []string{
	`INSERT INTO drafts (draft_id, mission_id, wallet, idempotency_key, fingerprint, mission, title, token, token_address,
	chain_id, factory_address, reward, target_count, nonce, created_at, depth, decision, refunded, list_status, updated_at, version)
SELECT 'draft_' || i, 'mission-' || i, '0x01', 'key-' || i, '', repeat('x', 400), '', '', '', 1, '', '1', 1, '', i,
	CASE WHEN i % 2 = 0 THEN 'none' ELSE 'locked' END, CASE WHEN i % 2 = 0 THEN 'none' ELSE 'approved' END, FALSE, 'published', i, 1
FROM generate_series(1, 20000) AS i`,
	`INSERT INTO mission_slots (draft_id, mission_id, creator, target_count, per_contributor, reserved, accepted, finals, accept_seq,
	media_type, lat, lng, lat_band, opens_at, ends_at, published_at, closed_at, completed_at, summary, token, waiting, waiting_since)
SELECT 'draft_' || i, 'mission-' || i, '0x01', 1, 1, 0, 0, 0, 0, CASE WHEN i % 1000 = 1 THEN 'video' ELSE 'photo' END,
	i * 1000, i * 1000, i / 100, 0, 10000 + i, i, NULL, CASE WHEN i % 100 = 1 THEN NULL ELSE i END, repeat('x', 300),
	CASE WHEN i % 4 = 1 THEN 'USDC' ELSE 'SERVICE_TOKEN' END, CASE WHEN i % 50 = 1 THEN i % 60 ELSE 0 END, CASE WHEN i % 50 = 1 THEN i END
FROM generate_series(1, 20000, 2) AS i`,
	`INSERT INTO fundings (draft_id, mission_key, chain_id, block_number, block_hash, transaction_hash, log_index, reclaim_after)
SELECT 'draft_' || i, '0x' || i, 1, i, '', '', 0, 9000 FROM generate_series(1, 20000, 2) AS i`,
	`INSERT INTO submissions (submission_id, status, draft_id, served_hash, thumbnail_hash, contributor, idempotency_key, fingerprint, lat, lng,
	accuracy, captured_at, content_type, size_bytes, declared_hash, reserved_until, created_at, reason, checks, policy, decided_by,
	duplicate_of, uploaded_at, uploaded_hash, accept_seq, hold_until, final_at, receipt, receipt_signer, version)
SELECT 'sub_' || i, CASE WHEN i % 1000 = 0 THEN 'pending' WHEN i % 1000 = 1 THEN 'flagged' WHEN i % 3 = 0 THEN 'rejected' ELSE 'accepted' END,
	CASE WHEN i % 2 = 0 THEN 'draft_1' ELSE 'draft_' || i END, 'served' || i, 'thumb' || i, CASE WHEN i % 4 < 2 THEN '0x01' ELSE 'by' || i END,
	'key-' || i, '', '', '', '', i, '', 1, '', i, i, '', repeat('x', 600), '', '', '', CASE WHEN i % 1000 > 0 THEN i END,
	CASE WHEN i % 1000 > 0 THEN 'up' || i END, CASE WHEN i % 3 > 0 AND i % 1000 > 1 THEN i END, i,
	CASE WHEN i % 3 > 0 AND i % 1000 > 3 THEN i END, CASE WHEN i % 1000 <> 7 THEN '{}' END,
	CASE WHEN i % 100 = 7 THEN '0x07' ELSE '0x08' END, 1
FROM generate_series(1, 20000) AS i`,
	`INSERT INTO payouts (submission_id, draft_id, slot, recipient, token, amount, status, settlement_id, block_number, queued_at, updated_at)
SELECT 'sub_' || i, 'draft_' || i, i, 'by' || i, 'USDC', '1', CASE WHEN i % 100 = 1 THEN 'queued' WHEN i % 100 = 3 THEN 'sent' ELSE 'paid' END,
	CASE WHEN i % 100 > 1 THEN i / 50 END, CASE WHEN i % 100 > 1 THEN i END, i, i
FROM generate_series(1, 20000, 2) AS i`,
	`INSERT INTO settlements (draft_id, token, size, created_at, ended_at)
SELECT 'draft_' || i, 'USDC', 50, i, CASE WHEN i % 1000 > 1 THEN i END FROM generate_series(1, 20000, 2) AS i`,
	`INSERT INTO intents (chain_id, sender, kind, subject, status, created_at, updated_at, problem)
SELECT 1, '0x01', 'settle', CAST(i AS TEXT), CASE WHEN i % 500 = 0 THEN 'queued' ELSE 'done' END, i, i, '' FROM generate_series(1, 10000) AS i`,
	`INSERT INTO attempts (intent_id, number, hash, raw, nonce, fee_cap, tip_cap, sent_at)
SELECT id, 1, subject, '', id, '1', '1', id FROM intents`,
	`INSERT INTO deliverables SELECT 'draft_' || (i % 3), i, 'sub_' || i, TRUE, convert_to(repeat('x', 600), 'UTF8') FROM generate_series(1, 20000) AS i`,
	`INSERT INTO perceptual_words SELECT i % 60000, i, 'sub_' || i FROM generate_series(1, 20000) AS i`,
	`ANALYZE`,
}
