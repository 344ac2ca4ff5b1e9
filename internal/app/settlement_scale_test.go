package app

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/pgtest"
	"github.com/sortie-labs/sortie/internal/store"
)

const (
	crowdWaiting = 60 // payouts of each mission of a crowd that wait
	crowdSent    = 40 // and that a block has paid which is not final
)

// crowd adds copies of a mission, each with a hundred open payouts.
func (s *testMedia) crowd(missions int) {
	s.t.Helper()
	template := s.publish("template", crowdWaiting+crowdSent, "")
	const series = `WITH RECURSIVE copies (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM copies WHERE i < $1) `
	const draftID = `substr(draft_id, 1, 22) || CAST(1000000000 + i AS TEXT)`
	for _, statement := range []struct {
		text string
		args []any
	}{
		{`INSERT INTO drafts (draft_id, mission_id, wallet, idempotency_key, fingerprint, mission, title, token, token_address, chain_id, factory_address, reward,
	target_count, nonce, created_at, depth, decision, refunded, list_status, quote_deadline, updated_at, version)
` + series + `SELECT ` + draftID + `, 'copy-' || CAST(10000000 + i AS TEXT), wallet, 'copy-' || CAST(i AS TEXT), fingerprint, mission, title, token, token_address, chain_id,
	factory_address, reward, target_count, nonce, created_at, depth, decision, refunded, list_status, quote_deadline, updated_at, version
FROM drafts, copies WHERE draft_id = $2`, []any{missions, template.ID}},
		{`INSERT INTO fundings (draft_id, mission_key, chain_id, block_number, block_hash, transaction_hash, log_index, reclaim_after)
` + series + `SELECT ` + draftID + `, substr(mission_key, 1, 56) || CAST(1000000000 + i AS TEXT), chain_id, block_number, block_hash, transaction_hash, log_index, reclaim_after
FROM fundings, copies WHERE draft_id = $2`, []any{missions, template.ID}},
		{`INSERT INTO mission_slots (draft_id, mission_id, creator, target_count, per_contributor, reserved, accepted, finals, accept_seq, token, waiting, waiting_since,
	media_type, opens_at, ends_at, published_at, summary)
` + series + `SELECT ` + draftID + `, 'copy-' || CAST(10000000 + i AS TEXT), creator, target_count, per_contributor, 0, target_count, target_count, target_count, token,
	CAST($3 AS BIGINT), i, media_type, opens_at, ends_at, published_at, summary
FROM mission_slots, copies WHERE draft_id = $2`, []any{missions, template.ID, crowdWaiting}},
		{`INSERT INTO payouts (submission_id, draft_id, slot, recipient, token, amount, status, transaction_hash, block_number, queued_at, updated_at)
` + series + `SELECT draft_id || '-' || CAST(i AS TEXT), draft_id, i - 1, creator, token, '2500000', CASE WHEN i > $3 THEN 'sent' ELSE 'queued' END,
	CASE WHEN i > $3 THEN '` + testHash('t').String() + `' END, CASE WHEN i > $3 THEN CAST(1000000 AS BIGINT) END, 1, 1
FROM mission_slots, copies WHERE draft_id <> $2`, []any{crowdWaiting + crowdSent, template.ID, crowdWaiting}},
		{`ANALYZE`, nil},
	} {
		s.must(s.db.Tx(context.Background(), func(tx *store.Tx) error {
			_, err := tx.SQL().ExecContext(tx.Context(), statement.text, statement.args...)
			return err
		}))
	}
	if open := s.count(`SELECT COUNT(*) FROM payouts WHERE status IN ('queued', 'sent')`); open != missions*(crowdWaiting+crowdSent) {
		s.t.Fatalf("%d payouts are open, want %d", open, missions*(crowdWaiting+crowdSent))
	}
}

// rewind removes the settlements of a tick.
func (s *testMedia) rewind() {
	s.t.Helper()
	s.must(s.db.Tx(context.Background(), func(tx *store.Tx) error {
		for _, statement := range []string{
			`DELETE FROM intents`, `DELETE FROM settlements`, `UPDATE payouts SET settlement_id = NULL WHERE settlement_id IS NOT NULL`,
			fmt.Sprintf(`UPDATE mission_slots SET waiting = %d, waiting_since = 1 WHERE waiting > 0 AND waiting < %d`, crowdWaiting, crowdWaiting),
		} {
			if _, err := tx.SQL().ExecContext(tx.Context(), statement); err != nil {
				return err
			}
		}
		return nil
	}))
}

// tick settles payouts, and checks that it made as many full settlements as may wait for the
// sender, each in its own transaction.
func (s *testMedia) tick() {
	s.t.Helper()
	before := s.db.Stats().Writes
	s.settlePayouts()
	if writes := s.db.Stats().Writes - before; writes != maxQueued {
		s.t.Errorf("a tick took %d transactions, want %d", writes, maxQueued)
	}
	open, slots := s.openSettlements()
	if len(open) != maxQueued {
		s.t.Fatalf("a tick made %d settlements, want %d", len(open), maxQueued)
	}
	for _, settlement := range open {
		if got := len(slots[settlement.ID]); got != store.MaxSettlement {
			s.t.Errorf("a settlement carries %d payouts, want %d", got, store.MaxSettlement)
		}
	}
}

const (
	fewMissions  = maxQueued // with 400 open payouts
	manyMissions = 1000      // with 100,000
)

// The number of rows that a tick reads does not depend on how many payouts wait. PostgreSQL counts
// the rows.
func TestATickReadsAsMuchWithManyPayouts(t *testing.T) {
	t.Parallel()
	read := make(map[int]int)
	for _, missions := range []int{fewMissions, manyMissions} {
		database := pgtest.Database(t)
		s := openTestMedia(t, database, nil)
		s.crowd(missions)
		s.must(s.db.Close())
		console, err := sql.Open("pgx", database)
		s.must(err)
		t.Cleanup(func() { _ = console.Close() })
		count := func(query string) (number int) {
			t.Helper()
			s.must(console.QueryRowContext(context.Background(), query).Scan(&number))
			return number
		}
		again := time.NewTicker(10 * time.Millisecond)
		defer again.Stop()
		rows := func() int { // a connection has reported what it read when it is gone
			t.Helper()
			for count(`SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`) > 0 {
				<-again.C
			}
			return count(`SELECT SUM(seq_tup_read + COALESCE(idx_tup_fetch, 0)) FROM pg_stat_user_tables WHERE relname IN
	('payouts', 'settlements', 'mission_slots', 'intents', 'attempts', 'drafts', 'fundings')`)
		}
		run := func(do func(*Ledger) error) int {
			t.Helper()
			before := rows()
			db, err := store.Open(context.Background(), database, store.Options{Clock: s.clock, Logger: slog.New(slog.DiscardHandler)})
			s.must(err)
			s.must(do(s.another(func(config *Config) { config.Store = db }).Ledger))
			s.must(db.Close())
			return rows() - before
		}
		start := run(func(*Ledger) error { return nil })
		read[missions] = run(func(ledger *Ledger) error { return ledger.Settle(context.Background()) }) - start
		settlements, carried := count(`SELECT COUNT(*) FROM settlements`), count(`SELECT COUNT(*) FROM payouts WHERE settlement_id IS NOT NULL`)
		if settlements != maxQueued || carried != maxQueued*store.MaxSettlement {
			t.Errorf("with %d missions a tick made %d settlements of %d payouts, want %d of %d", missions, settlements, carried, maxQueued, maxQueued*store.MaxSettlement)
		}
	}
	const most = 4 * maxQueued * store.MaxSettlement
	if many := read[manyMissions]; many == 0 || many > most {
		t.Errorf("with %d missions a tick reads %d rows, with %d %d; want some, and at most %d", manyMissions, many, fewMissions, read[fewMissions], most)
	}
}

// SQLite counts no rows: the fastest of a few ticks with many payouts takes about as long as with
// few.
func TestATickTakesAsLongWithManyPayouts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: stores the payouts of many missions")
	}
	few, many := openTestMedia(t, sqliteDatabase(t), nil), openTestMedia(t, sqliteDatabase(t), nil)
	few.crowd(fewMissions)
	many.crowd(manyMissions)
	quickest := make(map[*testMedia]time.Duration)
	for range 10 {
		for _, s := range []*testMedia{few, many} {
			s.rewind()
			start := time.Now()
			s.settlePayouts()
			if took := time.Since(start); quickest[s] == 0 || took < quickest[s] {
				quickest[s] = took
			}
		}
	}
	for _, s := range []*testMedia{few, many} {
		s.rewind()
		s.tick()
	}
	if quickest[many] > 8*quickest[few] {
		t.Errorf("the quickest tick with 100,000 payouts takes %s, with 400 %s; want about the same", quickest[many], quickest[few])
	}
}
