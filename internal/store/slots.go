package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// Slots is a published mission: how many submissions it takes, and how many slots are taken.
type Slots struct {
	DraftID, MissionID           string
	Seq                          int64 // missions published later have greater ones
	Creator                      sortie.Address
	Target, PerContributor       int
	Reserved, Accepted, Finals   int // Accepted includes the final ones
	Token                        sortie.Token
	Waiting                      int  // payouts that no settlement carries
	Paid, Deferred, Failed       int  // payouts, of the finals
	Closing                      bool // the service is closing it
	MediaType                    sortie.MediaType
	Place                        *mission.MicroDegrees // nil: anywhere
	OpensAt, EndsAt, PublishedAt time.Time
	ClosedAt, CompletedAt        *time.Time
	Summary                      json.RawMessage // the mission as deliverables show it
}

// Unpaid returns the number of final acceptances whose payout is not final.
func (s Slots) Unpaid() int { return s.Finals - s.Paid - s.Deferred }

// Left returns how many more submissions the mission takes, at any time.
func (s Slots) Left() int { return s.Target - s.Accepted - s.Reserved }

// Open reports whether the mission takes submissions at a time.
func (s Slots) Open(now time.Time) bool { return s.Left() > 0 && s.running(now) }

// running reports whether the mission takes submissions at a time, if slots are left.
func (s Slots) running(now time.Time) bool {
	return s.ClosedAt == nil && s.CompletedAt == nil && !now.Before(s.OpensAt) && now.Before(s.EndsAt)
}

// OpenSlots are slots with their mission.
type OpenSlots struct {
	Slots
	Mission json.RawMessage // normalized, as responses carry it
	FreeAt  *time.Time      // when the next reservation ends without a file; nil where slots are left, or every file has arrived
}

// OpenFilter selects a page of missions that are not full of accepted submissions, newest first.
type OpenFilter struct {
	MediaType sortie.MediaType // empty: any
	Anywhere  bool             // only missions without a location
	BeforeSeq int64            // 0: from the newest
	Limit     int
	MaxBytes  int // as in [DraftFilter]
}

// PublishSlots opens a mission to contributors. Its counters begin at zero. If the mission already
// has slots, nothing changes.
func (tx *Tx) PublishSlots(slots Slots) error {
	var lat, lng, band sql.NullInt64
	if place := slots.Place; place != nil {
		lat, lng = sql.NullInt64{Int64: place.Lat, Valid: true}, sql.NullInt64{Int64: place.Lng, Valid: true}
		band = sql.NullInt64{Int64: latBand(place.Lat), Valid: true}
	}
	_, err := tx.exec(insertSlots, slots.DraftID, slots.MissionID, hexAddress(slots.Creator), slots.Target,
		slots.PerContributor, string(slots.Token), string(slots.MediaType), lat, lng, band, slots.OpensAt.UnixMicro(), slots.EndsAt.UnixMicro(),
		slots.PublishedAt.UnixMicro(), string(slots.Summary))
	if err != nil {
		return fmt.Errorf("publish slots of %s: %w", slots.DraftID, err)
	}
	return nil
}

// CloseSlots records that a mission was closed on chain or, after a reorganization, that it was
// not. A mission that was never published has no slots and is not changed.
//
// If the closing is reverted, a complete mission is no longer complete, and the service closes it
// again.
func (tx *Tx) CloseSlots(draftID string, closed bool) error {
	if closed {
		_, err := tx.changeSlots("close", closeSlots, draftID)
		return err
	}
	if _, err := tx.exec(reopenSlots, draftID); err != nil {
		return fmt.Errorf("open slots of %s again: %w", draftID, err)
	}
	return nil
}

// StartClosing records that the service closes a mission: everything accepted is paid or deferred,
// and no more can be accepted, because all slots are taken or the mission has ended. No acceptance
// becomes final afterwards. Started reports whether this call recorded it. No mission is closed
// while a halting incident is open, or while a reorganization has reverted its funding.
func (tx *Tx) StartClosing(draftID string) (started bool, err error) {
	return tx.changeSlots("start closing", startClosing, draftID)
}

// EndEarly ends a mission now. Ended reports whether the mission was still running.
func (tx *Tx) EndEarly(draftID string) (ended bool, err error) {
	return tx.changeSlots("end", endEarly, draftID)
}

// CompleteSlots records that a mission will not change again: its money has left the contract, and
// everything submitted is decided and paid, deferred or failed. Completed reports whether this call
// recorded it. No mission completes while a halting incident is open, or while a reorganization has
// reverted its funding.
func (tx *Tx) CompleteSlots(draftID string) (completed bool, err error) {
	return tx.changeSlots("complete", completeSlots, draftID)
}

func (tx *Tx) changeSlots(what, statement, draftID string) (bool, error) {
	changed, err := tx.exec(statement, draftID, tx.Now.UnixMicro())
	if err != nil {
		return false, fmt.Errorf("%s slots of %s: %w", what, draftID, err)
	}
	return changed == 1, nil
}

// SlotsToClose reads up to limit drafts whose missions [Tx.StartClosing] would close at a time.
func (db *DB) SlotsToClose(ctx context.Context, at time.Time, limit int) (draftIDs []string, err error) {
	return db.draftIDs(ctx, "to close", selectSlotsToClose, at.UnixMicro(), limit)
}

// LostClosings reads up to limit drafts whose missions the service is closing but that are open and
// have no active intent: the closing was reverted by a reorganization.
func (db *DB) LostClosings(ctx context.Context, limit int) (draftIDs []string, err error) {
	return db.draftIDs(ctx, "whose closing was lost", selectLostClosings, limit)
}

// SlotsToComplete reads up to limit drafts whose missions are not complete and were closed in a
// block up to the final one, in the order of their ids, after one of them. Some may have undecided
// submissions.
func (db *DB) SlotsToComplete(ctx context.Context, final uint64, afterID string, limit int) (draftIDs []string, err error) {
	return db.draftIDs(ctx, "to complete", selectSlotsToComplete, int64(final), afterID, limit)
}

func (db *DB) draftIDs(ctx context.Context, what, query string, args ...any) (draftIDs []string, err error) {
	return read(ctx, db, func(r reader) (draftIDs []string, err error) {
		err = r.each(query, args, func(row scanner) error {
			var draftID string
			err := row.Scan(&draftID)
			draftIDs = append(draftIDs, draftID)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read slots %s: %w", what, err)
		}
		return draftIDs, nil
	})
}

// SlotsOf reads the slots of a draft's mission. Not published: [ErrNotFound].
func (db *DB) SlotsOf(ctx context.Context, draftID string) (Slots, error) {
	return read(ctx, db, func(r reader) (Slots, error) { return r.SlotsOf(draftID) })
}

// SlotsOf is [DB.SlotsOf] inside the transaction.
func (r reader) SlotsOf(draftID string) (slots Slots, err error) {
	err = r.one(selectSlots, []any{draftID}, func(row scanner) error {
		slots, err = scanSlots(row)
		return err
	})
	if err != nil {
		return Slots{}, fmt.Errorf("read slots of %s: %w", draftID, err)
	}
	return slots, nil
}

// SlotsByMission reads the slots of a mission with the mission. Not published: [ErrNotFound].
func (db *DB) SlotsByMission(ctx context.Context, missionID string) (OpenSlots, error) {
	return read(ctx, db, func(r reader) (OpenSlots, error) { return r.SlotsByMission(missionID) })
}

// SlotsByMission is [DB.SlotsByMission] inside the transaction.
func (r reader) SlotsByMission(missionID string) (OpenSlots, error) {
	found, err := r.openSlots(0, selectSlotsByMission, missionID)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("read slots of %.80q: %w", missionID, ErrNotFound)
	}
	if err != nil {
		return OpenSlots{}, err
	}
	return found[0], nil
}

// The statements of a page of open missions, by their media type.
var (
	openPages     = map[sortie.MediaType]string{"": selectOpenSlots, sortie.MediaPhoto: selectOpenPhotos, sortie.MediaVideo: selectOpenVideos}
	anywherePages = map[sortie.MediaType]string{"": selectAnywhere, sortie.MediaPhoto: selectAnywherePhotos, sortie.MediaVideo: selectAnywhereVideos}
)

// OpenSlots reads a page of the missions that are open now and not full of accepted submissions.
// All their slots may be reserved. The cost depends on the number of missions that are or will be
// open, not on the position of the page.
func (db *DB) OpenSlots(ctx context.Context, filter OpenFilter) ([]OpenSlots, error) {
	before := filter.BeforeSeq
	if before == 0 {
		before = math.MaxInt64
	}
	pages := openPages
	if filter.Anywhere {
		pages = anywherePages
	}
	query := pages[filter.MediaType]
	if query == "" {
		return nil, nil // there are no other media types
	}
	return read(ctx, db, func(r reader) ([]OpenSlots, error) {
		return r.openSlots(byteBudget(filter.MaxBytes), query, before, db.clock().UnixMicro(), filter.Limit)
	})
}

func (r reader) openSlots(budget byteBudget, query string, args ...any) (found []OpenSlots, err error) {
	err = r.each(query, args, func(row scanner) error {
		var missionJSON []byte
		var freeAt sql.NullInt64
		slots, err := scanSlots(joined{row: row, more: []any{&missionJSON, &freeAt}})
		if err != nil {
			return err
		}
		found = append(found, OpenSlots{Slots: slots, Mission: missionJSON, FreeAt: optionalTime(freeAt)})
		return budget.spend(len(missionJSON))
	})
	if err != nil {
		return nil, fmt.Errorf("read open slots: %w", err)
	}
	return found, nil
}

// UnpublishedSlots reads up to limit drafts that are published and have no slots, because an
// earlier release published them.
func (db *DB) UnpublishedSlots(ctx context.Context, limit int) ([]Draft, error) {
	return read(ctx, db, func(r reader) (drafts []Draft, err error) {
		err = r.each(selectUnpublishedSlots, []any{limit}, func(row scanner) error {
			draft, err := scanDraft(row)
			drafts = append(drafts, draft)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read published drafts without slots: %w", err)
		}
		return drafts, nil
	})
}

// slotCounts is what a transaction adds to a mission's counters.
type slotCounts struct{ reserved, accepted, finals, acceptances, newcomers int }

// countSlots adds to the counters of a mission and locks them until the transaction ends: numbers
// are given in the order of commits. An acceptance for a closed mission, or one that would become
// final in it, fails with [ErrMissionClosed]: it would not be paid.
func (tx *Tx) countSlots(draftID string, add slotCounts) (acceptSeq, finals int64, err error) {
	err = tx.one(addToSlots, []any{draftID, add.reserved, add.accepted, add.finals, add.acceptances, add.newcomers, tx.Now.UnixMicro()},
		func(row scanner) error { return row.Scan(&acceptSeq, &finals) })
	if errors.Is(err, ErrNotFound) && (add.acceptances > 0 || add.finals > 0) {
		err = ErrMissionClosed // the mission exists: it has submissions
	}
	if err != nil {
		return 0, 0, tx.session.refuse(fmt.Errorf("count slots of %s: %w", draftID, err)) // the counted rows are already written
	}
	return acceptSeq, finals, nil
}

// reserveSlot reserves a slot for a submission, and fails the transaction when none is left: the
// submission is already inserted.
func (tx *Tx) reserveSlot(submission NewSubmission) error {
	newcomers, percent := 0, submission.Bounds.NewcomerPercent
	if submission.Bounds.countsNewcomer() {
		newcomers = 1
	}
	changed, err := tx.exec(reserveSlot, submission.DraftID, tx.Now.UnixMicro(), newcomers, percent)
	if err != nil {
		return err
	}
	if changed == 0 {
		return tx.session.refuse(tx.whyNoSlot(submission.DraftID, newcomers > 0))
	}
	changed, err = tx.exec(addContribution, submission.DraftID, hexAddress(submission.Contributor))
	if err == nil && changed == 0 {
		err = tx.session.refuse(ErrContributorLimit)
	}
	return err
}

func (tx *Tx) whyNoSlot(draftID string, newcomer bool) error {
	slots, err := tx.SlotsOf(draftID)
	switch {
	case err != nil:
		return err
	case newcomer && slots.Open(tx.Now):
		return ErrNewcomersFull
	case slots.running(tx.Now), slots.Accepted == slots.Target && tx.Now.Before(slots.EndsAt): // also when all slots are accepted
		return ErrMissionFull // or it was full a moment ago
	default:
		return ErrMissionClosed
	}
}

const (
	slotColumns = `mission_slots.seq, mission_slots.draft_id, mission_slots.mission_id, creator, mission_slots.target_count,
	per_contributor, reserved, accepted, finals, mission_slots.token, waiting, paid, deferred, failed, closing_at IS NOT NULL, media_type, lat, lng, opens_at, ends_at, published_at, closed_at, completed_at, summary`

	insertSlots = `INSERT INTO mission_slots (draft_id, mission_id, creator, target_count, per_contributor, reserved, accepted,
	finals, accept_seq, token, media_type, lat, lng, lat_band, opens_at, ends_at, published_at, summary)
VALUES ($1, $2, $3, $4, $5, 0, 0, 0, 0, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (draft_id) DO NOTHING`

	closeSlots  = `UPDATE mission_slots SET closed_at = $2 WHERE draft_id = $1`
	reopenSlots = `UPDATE mission_slots SET closed_at = NULL, completed_at = NULL, closing_at = NULL WHERE draft_id = $1`
	endEarly    = `UPDATE mission_slots SET ends_at = $2 WHERE draft_id = $1 AND ends_at > $2 AND closed_at IS NULL AND completed_at IS NULL`
	isPublished = `EXISTS (SELECT 1 FROM drafts WHERE drafts.draft_id = mission_slots.draft_id
	AND decision = 'approved' AND depth = 'locked')`
	selectLostClosings = `SELECT draft_id FROM mission_slots WHERE closing_at IS NOT NULL AND closed_at IS NULL AND draft_id > ''
	AND NOT EXISTS (SELECT 1 FROM intents WHERE kind = 'close' AND subject = draft_id AND status IN ('queued', 'sent', 'mined'))
ORDER BY draft_id LIMIT $1 + 0`

	// The next end of a reservation is read only when no slot is free.
	selectSlotsAndMission = `SELECT ` + slotColumns + `, mission,
	CASE WHEN accepted + reserved >= mission_slots.target_count THEN (SELECT expires_at FROM submissions
		WHERE submissions.draft_id = mission_slots.draft_id AND expires_at IS NOT NULL ORDER BY expires_at LIMIT 1) END
FROM mission_slots
JOIN drafts ON drafts.draft_id = mission_slots.draft_id `

	openPage = `listed AND mission_slots.seq < $1 AND opens_at <= $2 AND ends_at > $2
ORDER BY mission_slots.seq DESC LIMIT $3 + 0`

	selectUnpublishedSlots = `SELECT ` + draftColumns + ` FROM drafts
WHERE decision = 'approved' AND depth = 'locked'
	AND NOT EXISTS (SELECT 1 FROM mission_slots WHERE mission_slots.draft_id = drafts.draft_id)
ORDER BY seq LIMIT $1 + 0`
)

var (
	startClosing = preparedWrite(`UPDATE mission_slots SET closing_at = $2 WHERE draft_id = $1 AND closable_at <= $2 AND ` + isPublished + `
	AND NOT EXISTS (` + selectHalted + `)`)
	completeSlots = preparedWrite(`UPDATE mission_slots SET completed_at = $2 WHERE draft_id = $1 AND closed_at IS NOT NULL AND completed_at IS NULL
	AND reserved = 0 AND accepted = finals AND paid + deferred + failed = finals AND ` + isPublished + `
	AND NOT EXISTS (` + selectHalted + `)`)

	// One newcomer is always admitted. More are admitted while newcomers hold less than their share
	// of the slots that are free or held by newcomers.
	reserveSlot = preparedWrite(`UPDATE mission_slots SET reserved = reserved + 1, newcomers = newcomers + $3
WHERE draft_id = $1 AND takes_work AND opens_at <= $2 AND ends_at > $2
	AND ($3 = 0 OR newcomers * 100 < (target_count - accepted - reserved + newcomers) * $4)`)
	addToSlots = preparedWrite(`UPDATE mission_slots SET reserved = reserved + $2, accepted = accepted + $3, finals = finals + $4,
	accept_seq = accept_seq + $5, newcomers = newcomers + $6, waiting = waiting + $4,
	waiting_since = CASE WHEN $4 > 0 THEN COALESCE(waiting_since, $7) ELSE waiting_since END
WHERE draft_id = $1 AND ($4 = 0 AND $5 = 0 OR closed_at IS NULL AND closing_at IS NULL) RETURNING accept_seq, finals`)

	addContribution = preparedWrite(`INSERT INTO contributors (draft_id, wallet, active) VALUES ($1, $2, 1)
ON CONFLICT (draft_id, wallet) DO UPDATE SET active = contributors.active + 1
WHERE contributors.active < (SELECT per_contributor FROM mission_slots WHERE mission_slots.draft_id = $1)`)
	endContribution = preparedWrite(`UPDATE contributors SET active = active - 1 WHERE draft_id = $1 AND wallet = $2`)

	selectSlots        = preparedRead(`SELECT ` + slotColumns + ` FROM mission_slots WHERE draft_id = $1`)
	selectSlotsToClose = preparedRead(`SELECT draft_id FROM mission_slots WHERE closable_at IS NOT NULL AND closable_at <= $1
	AND ` + isPublished + `
ORDER BY closable_at LIMIT $2 + 0`)
	selectSlotsToComplete = preparedRead(`SELECT mission_slots.draft_id FROM mission_slots JOIN fundings ON fundings.draft_id = mission_slots.draft_id
WHERE closed_at IS NOT NULL AND completed_at IS NULL AND closed_block <= $1 AND mission_slots.draft_id > $2
	AND reserved = 0 AND accepted = finals AND ` + isPublished + `
ORDER BY mission_slots.draft_id LIMIT $3 + 0`)

	selectSlotsByMission = preparedRead(selectSlotsAndMission + `WHERE mission_slots.mission_id = $1`)
	selectOpenSlots      = preparedRead(selectSlotsAndMission + `WHERE ` + openPage)

	// The media types are not parameters, so that PostgreSQL knows how few missions they select.
	selectOpenPhotos = preparedRead(selectSlotsAndMission + `WHERE media_type = 'photo' AND ` + openPage)
	selectOpenVideos = preparedRead(selectSlotsAndMission + `WHERE media_type = 'video' AND ` + openPage)

	selectAnywhere       = preparedRead(selectSlotsAndMission + `WHERE lat IS NULL AND ` + openPage)
	selectAnywherePhotos = preparedRead(selectSlotsAndMission + `WHERE lat IS NULL AND media_type = 'photo' AND ` + openPage)
	selectAnywhereVideos = preparedRead(selectSlotsAndMission + `WHERE lat IS NULL AND media_type = 'video' AND ` + openPage)
)

// scanSlots reads a row of slotColumns.
func scanSlots(row scanner) (Slots, error) {
	var (
		slots                                 Slots
		creator                               string
		lat, lng, closedAt, completedAt       sql.NullInt64
		opensAt, endsAt, publishedAt          int64
		target, each, reserved, taken, finals int64
		summary                               []byte
	)
	err := row.Scan(&slots.Seq, &slots.DraftID, &slots.MissionID, &creator, &target, &each, &reserved, &taken, &finals,
		(*string)(&slots.Token), &slots.Waiting, &slots.Paid, &slots.Deferred, &slots.Failed, &slots.Closing, (*string)(&slots.MediaType), &lat, &lng, &opensAt, &endsAt, &publishedAt, &closedAt, &completedAt, &summary)
	if err != nil {
		return Slots{}, err
	}
	slots.Target, slots.PerContributor = int(target), int(each)
	slots.Reserved, slots.Accepted, slots.Finals = int(reserved), int(taken), int(finals)
	if lat.Valid && lng.Valid {
		slots.Place = &mission.MicroDegrees{Lat: lat.Int64, Lng: lng.Int64}
	}
	slots.OpensAt, slots.EndsAt, slots.PublishedAt = microTime(opensAt), microTime(endsAt), microTime(publishedAt)
	slots.ClosedAt, slots.CompletedAt, slots.Summary = optionalTime(closedAt), optionalTime(completedAt), summary
	if err := parse(&slots.Creator, creator, sortie.ParseAddress); err != nil {
		return Slots{}, fmt.Errorf("slots of %s: %w", slots.DraftID, err)
	}
	return slots, nil
}
