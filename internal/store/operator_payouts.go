package store

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
)

// PayoutFilter selects a page of payouts, newest first.
type PayoutFilter struct {
	Status    sortie.PayoutStatus // empty: any
	DraftID   string              // empty: of all missions
	Recipient sortie.Address      // zero: of all recipients
	BeforeSeq int64               // 0: from the newest
	Limit     int
}

// ListedPayout is a payout with its mission.
type ListedPayout struct {
	Payout
	MissionID string
}

// Payouts reads a page of payouts. The cost depends on the size of the page and, with both a
// mission and a recipient, on the number of payouts of that mission. It does not depend on the
// number of all payouts.
func (db *DB) Payouts(ctx context.Context, filter PayoutFilter) ([]ListedPayout, error) {
	before := filter.BeforeSeq
	if before == 0 {
		before = math.MaxInt64
	}
	query, args := selectPayoutsInStatus, []any{before, filter.Limit}
	switch byMission, byRecipient := filter.DraftID != "", !filter.Recipient.IsZero(); {
	case byMission && byRecipient:
		query, args = selectPayoutsOfBoth, append(args, filter.DraftID, hexAddress(filter.Recipient))
	case byMission:
		query, args = selectPayoutsOfMission, append(args, filter.DraftID)
	case byRecipient:
		query, args = selectPayoutsOfRecipient, append(args, hexAddress(filter.Recipient))
	}
	statuses := sortie.PayoutStatuses()
	if filter.Status != "" {
		statuses = []sortie.PayoutStatus{filter.Status}
	}
	query = eachStatus(query, statuses)
	return read(ctx, db, func(r reader) ([]ListedPayout, error) {
		return r.listedPayouts(query, args...)
	})
}

// eachStatus returns the query for a page of payouts in some statuses: it merges the first rows of
// each. The statuses are part of the text, not parameters, so that every part is a range of one
// index.
func eachStatus(query string, statuses []sortie.PayoutStatus) string {
	parts := make([]string, len(statuses))
	for i, status := range statuses {
		parts[i] = "SELECT * FROM (" + strings.Replace(query, "STATUS", "'"+string(status)+"'", 1) + ") AS of_" + string(status)
	}
	return strings.Join(parts, " UNION ALL ") + " ORDER BY seq DESC LIMIT $2 + 0"
}

// PayoutWithMission reads the payout of a submission, or fails with [ErrNotFound].
func (db *DB) PayoutWithMission(ctx context.Context, submissionID string) (ListedPayout, error) {
	found, err := read(ctx, db, func(r reader) ([]ListedPayout, error) {
		return r.listedPayouts(selectListedPayout, submissionID)
	})
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return ListedPayout{}, fmt.Errorf("read the payout of %.80q: %w", submissionID, err)
	}
	return found[0], nil
}

func (r reader) listedPayouts(query string, args ...any) (found []ListedPayout, err error) {
	err = r.each(query, args, func(row scanner) error {
		var listed ListedPayout
		payout, err := scanPayout(joined{row: row, more: []any{&listed.MissionID}})
		listed.Payout = payout
		found = append(found, listed)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read payouts: %w", err)
	}
	return found, nil
}

// PayoutLoad counts the queued, sent and failed payouts. Oldest is when the first queued or sent
// one was queued.
type PayoutLoad struct {
	Queued, Sent, Failed int // at most [MaxPayoutLoad] each
	Oldest               time.Time
}

// MaxPayoutLoad bounds the count of payouts, so that its cost is bounded.
const MaxPayoutLoad = 10_000

// PayoutLoad counts payouts for metrics.
func (db *DB) PayoutLoad(ctx context.Context) (PayoutLoad, error) {
	load, err := read(ctx, db, func(r reader) (load PayoutLoad, err error) {
		for _, counted := range []struct {
			status sortie.PayoutStatus
			number *int
			waits  bool
		}{{sortie.PayoutQueued, &load.Queued, true}, {sortie.PayoutSent, &load.Sent, true}, {sortie.PayoutFailed, &load.Failed, false}} {
			err := r.one(countPayouts, []any{string(counted.status), MaxPayoutLoad}, func(row scanner) error { return row.Scan(counted.number) })
			if err != nil {
				return load, err
			}
			if !counted.waits {
				continue
			}
			err = r.each(selectOldestPayout, []any{string(counted.status)}, func(row scanner) error {
				var queuedAt int64
				err := row.Scan(&queuedAt)
				if since := microTime(queuedAt); load.Oldest.IsZero() || since.Before(load.Oldest) {
					load.Oldest = since
				}
				return err
			})
			if err != nil {
				return load, err
			}
		}
		return load, nil
	})
	if err != nil {
		return PayoutLoad{}, fmt.Errorf("count payouts: %w", err)
	}
	return load, nil
}

const (
	listedColumns = `payouts.seq AS seq, submission_id, payouts.draft_id, slot, recipient, payouts.token, amount, status, settlement_id, transaction_hash,
	block_number, credited, problem, queued_at, updated_at, mission_slots.mission_id`
	selectListed = `SELECT ` + listedColumns + ` FROM payouts JOIN mission_slots ON mission_slots.draft_id = payouts.draft_id
WHERE `
	newestPayouts = ` AND payouts.seq < $1 ORDER BY payouts.seq DESC LIMIT $2 + 0`

	selectListedPayout       = selectListed + `submission_id = $1`
	selectPayoutsInStatus    = selectListed + `status = STATUS` + newestPayouts
	selectPayoutsOfMission   = selectListed + `payouts.draft_id = $3 AND status = STATUS` + newestPayouts
	selectPayoutsOfRecipient = selectListed + `recipient = $3 AND status = STATUS` + newestPayouts
	selectPayoutsOfBoth      = selectListed + `payouts.draft_id = $3 AND recipient = $4 AND status = STATUS` + newestPayouts

	countPayouts       = `SELECT COUNT(*) FROM (SELECT 1 FROM payouts WHERE status = $1 LIMIT $2 + 0) AS counted`
	selectOldestPayout = `SELECT queued_at FROM payouts WHERE status = $1 ORDER BY seq LIMIT 1`
)
