package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
)

// payoutPages are the pages of payouts that operators ask for. What they cost must not depend on
// how many payouts there ever were.
var payoutPages = []struct {
	name, query string
	sqlite      string // the way to the payouts
	postgres    string // the index
	args        string
}{
	{"all", eachStatus(selectPayoutsInStatus, sortie.PayoutStatuses()), "payouts_in_status (status=? AND seq<?)", "payouts_in_status", "9000, 101"},
	{"in a status", eachStatus(selectPayoutsInStatus, []sortie.PayoutStatus{sortie.PayoutFailed}), "payouts_in_status (status=? AND seq<?)", "payouts_in_status", "9000, 101"},
	{"of a mission", eachStatus(selectPayoutsOfMission, sortie.PayoutStatuses()), "payouts_of_mission_in_status (status=? AND draft_id=? AND seq<?)", "payouts_of_mission_in_status", "9000, 101, 'draft_1'"},
	{"of a recipient", eachStatus(selectPayoutsOfRecipient, sortie.PayoutStatuses()), "payouts_of_recipient_in_status (status=? AND recipient=? AND seq<?)", "payouts_of_recipient_in_status", "9000, 101, '0x01'"},
	{
		"of a recipient in a status", eachStatus(selectPayoutsOfRecipient, []sortie.PayoutStatus{sortie.PayoutPaid}),
		"payouts_of_recipient_in_status (status=? AND recipient=? AND seq<?)", "payouts_of_recipient_in_status", "9000, 101, '0x01'",
	},
	{"oldest", selectOldestPayout, "payouts_in_status (status=?)", "payouts_in_status", "'queued'"},
	{"settlements under way", selectSettlementsUnderWay, "settlements_open_of_mission (draft_id=?)", "settlements_open_of_mission", "'draft_1', 5"},
}

func TestSQLitePayoutPlans(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t), Options{})
	for _, q := range payoutPages {
		var plan []string
		err := query(db, "EXPLAIN QUERY PLAN "+q.query, make([]any, strings.Count(q.args, ",")+1), func(row scanner) error {
			var id, parent, unused int
			var step string
			err := row.Scan(&id, &parent, &unused, &step)
			plan = append(plan, step)
			return err
		})
		whole := strings.Join(plan, "; ")
		if err != nil || !strings.Contains(whole, q.sqlite) || strings.Contains(whole, "SCAN payouts") || strings.Contains(whole, "SCAN mission_slots") || strings.Contains(whole, "SCAN settlements") {
			t.Errorf("%s: the plan is %q, %v; want %q and no scan", q.name, whole, err, q.sqlite)
		}
	}
}

// TestPostgresPayoutPlans checks plans in a database with 40,000 payouts, half of them to one
// recipient and half of one mission, almost all of them paid.
func TestPostgresPayoutPlans(t *testing.T) {
	t.Parallel()
	run := postgresConsole(t)
	for _, statement := range usedDatabase {
		run(statement)
	}
	run(`INSERT INTO payouts (submission_id, draft_id, slot, recipient, token, amount, status, queued_at, updated_at)
SELECT 'paid_' || i, CASE WHEN i % 2 = 0 THEN 'draft_1' ELSE 'draft_' || (i % 20000) END, 100000 + i, CASE WHEN i % 4 < 2 THEN '0x01' ELSE 'to' || i END, 'USDC', '1',
	CASE WHEN i % 1000 = 1 THEN 'queued' WHEN i % 1000 = 2 THEN 'sent' WHEN i % 5000 = 3 THEN 'failed' WHEN i % 5000 = 4 THEN 'deferred' ELSE 'paid' END, i, i
FROM generate_series(1, 40000) AS i`)
	run(`ANALYZE`)
	for i, q := range payoutPages {
		run(fmt.Sprintf("PREPARE payouts%d AS %s", i, q.query))
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			run("SET plan_cache_mode = " + mode)
			plan := strings.Join(run(fmt.Sprintf("EXPLAIN (COSTS OFF) EXECUTE payouts%d (%s)", i, q.args)), "; ")
			if strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, q.postgres) {
				t.Errorf("%s, %s: the plan is %q, want %q and no scan of a table", q.name, mode, plan, q.postgres)
			}
		}
	}
}
