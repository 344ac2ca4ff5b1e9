package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
)

// IntentSettle is the kind of the intents that send settlements. Their subject is the settlement's
// id.
const IntentSettle = "settle"

// Settlement is a batch of payouts of one mission in one transaction.
type Settlement struct {
	ID        int64
	DraftID   string
	Token     sortie.Token
	Size      int // payouts that it started with
	CreatedAt time.Time
	Ended     bool

	// Of its intent; set by [DB.OpenSettlements] and [DB.OpenSettlementsOf].
	Intent      IntentStatus
	MinedBlock  uint64
	Transaction sortie.Hash // the newest signed one; zero: none
	Problem     string
}

// Subject is the subject of the settlement's intent.
func (s Settlement) Subject() string { return strconv.FormatInt(s.ID, 10) }

// WaitingMission is a mission with payouts that no settlement carries.
type WaitingMission struct {
	DraftID string
	Waiting int
	Batch   int       // maximum number of payouts of its next settlement
	Since   time.Time // since when the first of them waits, or when the last settlement was made; in the future: until when they wait
}

// MissionsToSettle reads up to limit missions of a token whose payouts wait since a time or longer,
// or fill a settlement, the longest waiting first. The cost does not depend on how many payouts or
// missions wait.
func (db *DB) MissionsToSettle(ctx context.Context, token sortie.Token, since time.Time, limit int) ([]WaitingMission, error) {
	return read(ctx, db, func(r reader) (missions []WaitingMission, err error) {
		scan := func(row scanner) error {
			mission, err := scanWaiting(row)
			missions = append(missions, mission)
			return err
		}
		if err = r.each(selectMissionsWaiting, []any{string(token), since.UnixMicro(), limit}, scan); err == nil {
			err = r.each(selectMissionsWithFullBatch, []any{string(token), db.clock().UnixMicro(), limit}, scan)
		}
		if err != nil {
			return nil, fmt.Errorf("read missions with payouts that wait: %w", err)
		}
		slices.SortFunc(missions, func(a, b WaitingMission) int {
			return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.DraftID, b.DraftID))
		})
		missions = slices.CompactFunc(missions, func(a, b WaitingMission) bool { return a.DraftID == b.DraftID })
		return missions[:min(limit, len(missions))], nil
	})
}

// WaitingOf reads the waiting payouts of one mission. Not published, or none waits: [ErrNotFound].
func (db *DB) WaitingOf(ctx context.Context, draftID string) (WaitingMission, error) {
	return read(ctx, db, func(r reader) (mission WaitingMission, err error) {
		err = r.one(selectWaitingOf, []any{draftID}, func(row scanner) (err error) {
			mission, err = scanWaiting(row)
			return err
		})
		if err != nil {
			return WaitingMission{}, fmt.Errorf("read waiting payouts of %s: %w", draftID, err)
		}
		return mission, nil
	})
}

// scanWaiting reads a row of waitingMissions.
func scanWaiting(row scanner) (mission WaitingMission, err error) {
	var since int64
	err = row.Scan(&mission.DraftID, &mission.Waiting, &mission.Batch, &since)
	mission.Since = microTime(since)
	return mission, err
}

// StartSettlement makes a settlement of the first waiting payouts of a mission, at most size, and
// counts them in the hour of their token ([Tx.HoldPayoutHour]). The waiting time of the others
// starts again. If another process was faster, or no payout waits, it fails with [ErrConflict].
func (tx *Tx) StartSettlement(m WaitingMission, token sortie.Token, size int) (Settlement, []Payout, error) {
	settlement := Settlement{DraftID: m.DraftID, Token: token, CreatedAt: tx.Now}
	changed, err := tx.exec(holdWaitingMission, m.DraftID, m.Since.UnixMicro(), tx.Now.UnixMicro())
	if err == nil && changed == 0 {
		err = ErrConflict
	}
	if err != nil {
		return settlement, nil, fmt.Errorf("start a settlement of %s: %w", m.DraftID, err)
	}
	chosen, err := tx.payouts(selectWaiting, m.DraftID, min(size, MaxSettlement))
	if err == nil && len(chosen) == 0 {
		err = ErrConflict
	}
	if err == nil {
		settlement.Size = len(chosen)
		err = tx.one(insertSettlement, []any{m.DraftID, string(token), settlement.Size, tx.Now.UnixMicro()},
			func(row scanner) error { return row.Scan(&settlement.ID) })
	}
	changes := make([]payoutChange, len(chosen))
	for i, was := range chosen {
		chosen[i].Settlement = settlement.ID
		changes[i] = payoutChange{was, chosen[i]}
	}
	if err == nil {
		err = tx.writePayouts(m.DraftID, changes)
	}
	if err == nil {
		err = tx.countSettled(token, chosen)
	}
	if err != nil {
		return settlement, nil, tx.session.refuse(fmt.Errorf("start a settlement of %s: %w", m.DraftID, err))
	}
	return settlement, chosen, nil
}

// Postpone restarts the waiting time of a mission's payouts, so that other missions are settled
// first.
func (tx *Tx) Postpone(m WaitingMission) error {
	if _, err := tx.exec(holdWaitingMission, m.DraftID, m.Since.UnixMicro(), tx.Now.UnixMicro()); err != nil {
		return fmt.Errorf("postpone payouts of %s: %w", m.DraftID, err)
	}
	return nil
}

// SettlementByID reads a settlement with its payouts that no block has paid, in the order of their
// slots. Unknown: [ErrNotFound].
func (db *DB) SettlementByID(ctx context.Context, id int64) (Settlement, []Payout, error) {
	type both struct {
		settlement Settlement
		open       []Payout
	}
	found, err := read(ctx, db, func(r reader) (found both, err error) {
		if found.settlement, err = r.settlement(id); err == nil {
			found.open, err = r.payouts(selectOpenOfSettlement, id)
		}
		return found, err
	})
	if err != nil {
		return Settlement{}, nil, fmt.Errorf("read settlement %d: %w", id, err)
	}
	return found.settlement, found.open, nil
}

func (r reader) settlement(id int64) (settlement Settlement, err error) {
	err = r.one(selectSettlement, []any{id}, func(row scanner) error {
		var createdAt int64
		var endedAt sql.NullInt64
		settlement.ID = id
		err := row.Scan(&settlement.DraftID, (*string)(&settlement.Token), &settlement.Size, &createdAt, &endedAt)
		settlement.CreatedAt, settlement.Ended = microTime(createdAt), endedAt.Valid
		return err
	})
	return settlement, err
}

// OpenSettlements reads the settlements that have not ended, each with its intent. Their number is
// bounded by the transactions under way.
func (db *DB) OpenSettlements(ctx context.Context, afterID int64, limit int) ([]Settlement, error) {
	return db.openSettlements(ctx, selectOpenSettlements, afterID, limit)
}

// OpenSettlementsOf reads up to limit settlements of a mission that have not ended, oldest first,
// each with its intent.
func (db *DB) OpenSettlementsOf(ctx context.Context, draftID string, limit int) ([]Settlement, error) {
	return db.openSettlements(ctx, selectSettlementsUnderWay, draftID, limit)
}

func (db *DB) openSettlements(ctx context.Context, query string, args ...any) ([]Settlement, error) {
	return read(ctx, db, func(r reader) (open []Settlement, err error) {
		err = r.each(query, args, func(row scanner) error {
			settlement, err := scanOpenSettlement(row)
			open = append(open, settlement)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read open settlements: %w", err)
		}
		return open, nil
	})
}

func scanOpenSettlement(row scanner) (Settlement, error) {
	var s Settlement
	var createdAt int64
	var status, problem, transaction, mined sql.NullString
	var minedBlock sql.NullInt64
	err := row.Scan(&s.ID, &s.DraftID, (*string)(&s.Token), &s.Size, &createdAt, &status, &minedBlock, &mined, &problem, &transaction)
	if err != nil {
		return Settlement{}, err
	}
	s.CreatedAt, s.Intent, s.MinedBlock, s.Problem = microTime(createdAt), IntentStatus(status.String), uint64(minedBlock.Int64), problem.String
	if mined.Valid {
		transaction = mined
	}
	if err := parseOptionalHash(&s.Transaction, transaction); err != nil {
		return Settlement{}, fmt.Errorf("settlement %d: %w", s.ID, err)
	}
	return s, nil
}

// UnderWay sums the payouts of a token in settlements with a signed transaction that no block has
// paid. One settlement is left out.
func (db *DB) UnderWay(ctx context.Context, token sortie.Token, except int64) (*big.Int, error) {
	return read(ctx, db, func(r reader) (*big.Int, error) {
		var signed []int64
		err := r.each(selectSigned, []any{string(token), except}, func(row scanner) error {
			var id int64
			err := row.Scan(&id)
			signed = append(signed, id)
			return err
		})
		sum := new(big.Int)
		add := func(row scanner) error {
			var text string
			if err := row.Scan(&text); err != nil {
				return err
			}
			amount, err := parseInteger(text)
			if err == nil {
				sum.Add(sum, amount)
			}
			return err
		}
		if err == nil {
			err = lookups(signed, func(args []any) error { return r.each(selectUnderWay, args, add) })
		}
		if err != nil {
			return nil, fmt.Errorf("sum up the payouts under way: %w", err)
		}
		return sum, nil
	})
}

// SendPayouts records the newest transaction of a settlement for its payouts, and returns those
// that were not sent before.
func (tx *Tx) SendPayouts(settlement Settlement, transaction sortie.Hash) (sent []Payout, err error) {
	err = tx.changeSettlement(settlement, func(_ int, p Payout) (Payout, bool) {
		if p.Status == sortie.PayoutSent && p.Transaction == transaction {
			return p, false
		}
		first := p.Status == sortie.PayoutQueued
		if p.Status, p.Transaction = sortie.PayoutSent, transaction; first {
			sent = append(sent, p)
		}
		return p, true
	})
	return sent, err
}

// ShrinkSettlement keeps the first payouts in a settlement that has no transaction yet; the others
// wait for another settlement. The mission's next settlements have the same size, which doubles
// with each that succeeds.
func (tx *Tx) ShrinkSettlement(settlement Settlement, keep int) error {
	err := tx.changeSettlement(settlement, func(i int, p Payout) (Payout, bool) { return released(p), i >= keep })
	if err == nil {
		_, err = tx.exec(setBatch, settlement.DraftID, max(keep, 1))
	}
	if err != nil {
		return fmt.Errorf("shrink settlement %d: %w", settlement.ID, err)
	}
	return nil
}

// LeaveOut removes slots from a settlement that has no transaction yet. Their payouts wait for
// another settlement.
func (tx *Tx) LeaveOut(settlement Settlement, slots map[uint32]bool) error {
	err := tx.changeSettlement(settlement, func(_ int, p Payout) (Payout, bool) { return released(p), slots[p.Slot] })
	if err != nil {
		return fmt.Errorf("leave payouts out of settlement %d: %w", settlement.ID, err)
	}
	return nil
}

// settleAgainAfter is how long a mission waits after a settlement that left payouts unpaid.
const settleAgainAfter = time.Minute

// EndSettlement ends a settlement. Its payouts that no block has paid wait for settleAgainAfter,
// and then for another settlement.
func (tx *Tx) EndSettlement(settlement Settlement, well bool) error {
	left := false
	err := tx.changeSettlement(settlement, func(_ int, p Payout) (Payout, bool) {
		left = true
		return released(p), true
	})
	switch {
	case err == nil && left: // also after a mined transaction: sending the same each second would burn gas
		_, err = tx.exec(waitUntil, settlement.DraftID, tx.Now.Add(settleAgainAfter).UnixMicro())
	case err == nil && well:
		_, err = tx.exec(growBatch, settlement.DraftID, MaxSettlement)
	}
	if err == nil {
		_, err = tx.exec(endSettlement, settlement.ID, tx.Now.UnixMicro())
	}
	if err != nil {
		return fmt.Errorf("end settlement %d: %w", settlement.ID, err)
	}
	return nil
}

func released(p Payout) Payout {
	p.Status, p.Settlement, p.Transaction = sortie.PayoutQueued, 0, sortie.Hash{}
	return p
}

// changeSettlement changes the payouts of an open settlement that no block has paid, in the order
// of their slots. If the settlement has ended, it fails with [ErrConflict].
func (tx *Tx) changeSettlement(settlement Settlement, change func(int, Payout) (Payout, bool)) error {
	if err := tx.holdMission(settlement.DraftID); err != nil {
		return err
	}
	now, err := tx.settlement(settlement.ID)
	if err == nil && now.Ended {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("change settlement %d: %w", settlement.ID, err)
	}
	open, err := tx.payouts(selectOpenOfSettlement, settlement.ID)
	if err != nil {
		return fmt.Errorf("change settlement %d: %w", settlement.ID, err)
	}
	var changes []payoutChange
	for i, was := range open {
		if to, changed := change(i, was); changed {
			changes = append(changes, payoutChange{was, to})
		}
	}
	if err := tx.writePayouts(settlement.DraftID, changes); err != nil {
		return err
	}
	return tx.uncountSettled(settlement, changes)
}

// openSettlementsOf returns the ids of the settlements of a mission that have not ended.
func (tx *Tx) openSettlementsOf(draftID string) (map[int64]bool, error) {
	open := make(map[int64]bool)
	err := tx.each(selectOpenSettlementsOf, []any{draftID}, func(row scanner) error {
		var id int64
		err := row.Scan(&id)
		open[id] = true
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read open settlements of %s: %w", draftID, err)
	}
	return open, nil
}

const (
	waitingMissions = `SELECT draft_id, waiting, batch, waiting_since FROM mission_slots
WHERE `
	selectWaitingOf         = waitingMissions + `draft_id = $1 AND waiting > 0 AND waiting_since IS NOT NULL`
	waitUntil               = `UPDATE mission_slots SET waiting_since = $2 WHERE draft_id = $1 AND waiting > 0`
	setBatch                = `UPDATE mission_slots SET batch = $2 WHERE draft_id = $1`
	growBatch               = `UPDATE mission_slots SET batch = CASE WHEN batch * 2 < $2 THEN batch * 2 ELSE $2 END WHERE draft_id = $1 AND batch < $2`
	selectOpenSettlementsOf = `SELECT id FROM settlements WHERE draft_id = $1 AND ended_at IS NULL`

	selectSigned = `SELECT settlements.id FROM settlements
WHERE ended_at IS NULL AND settlements.id > 0 AND settlements.token = $1 AND settlements.id <> $2 AND EXISTS (SELECT 1 FROM intents
	WHERE intents.kind = 'settle' AND intents.subject = CAST(settlements.id AS TEXT) AND intents.status IN ('sent', 'mined'))`

	// A settlement has one intent. Its newest attempt may not be the one that is mined.
	openWithIntents = `SELECT settlements.id, draft_id, token, size, settlements.created_at, intents.status, intents.mined_block,
	intents.mined_transaction, intents.problem,
	(SELECT hash FROM attempts WHERE attempts.intent_id = intents.id ORDER BY number DESC LIMIT 1)
FROM settlements LEFT JOIN intents ON intents.kind = 'settle' AND intents.subject = CAST(settlements.id AS TEXT)
WHERE ended_at IS NULL AND `
	selectSettlementsUnderWay = openWithIntents + `draft_id = $1 ORDER BY settlements.id LIMIT $2 + 0`
)

var (
	selectMissionsWaiting       = preparedRead(waitingMissions + `token = $1 AND waiting > 0 AND waiting_since <= $2 ORDER BY waiting_since LIMIT $3 + 0`)
	selectMissionsWithFullBatch = preparedRead(waitingMissions + `token = $1 AND waiting >= batch AND waiting_since <= $2 ORDER BY waiting_since LIMIT $3 + 0`)
	holdWaitingMission          = preparedWrite(`UPDATE mission_slots SET waiting_since = $3 WHERE draft_id = $1 AND waiting > 0 AND waiting_since = $2`)
	selectWaiting               = preparedWrite(`SELECT ` + payoutColumns + ` FROM payouts
WHERE draft_id = $1 AND status = 'queued' AND settlement_id IS NULL ORDER BY slot LIMIT $2 + 0`)

	insertSettlement = preparedWrite(`INSERT INTO settlements (draft_id, token, size, created_at) VALUES ($1, $2, $3, $4) RETURNING id`)
	endSettlement    = preparedWrite(`UPDATE settlements SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL`)

	selectSettlement       = preparedRead(`SELECT draft_id, token, size, created_at, ended_at FROM settlements WHERE id = $1`)
	selectOpenOfSettlement = preparedRead(`SELECT ` + payoutColumns + ` FROM payouts
WHERE settlement_id = $1 AND block_number IS NULL ORDER BY slot`)
	selectOpenSettlements = preparedRead(openWithIntents + `settlements.id > $1 ORDER BY settlements.id LIMIT $2 + 0`)
)

var selectUnderWay = `SELECT amount FROM payouts WHERE settlement_id IN (` + placeholders(1, lookupSize) + `) AND block_number IS NULL`
