package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sortie-labs/sortie"
)

// Deliverables is the header of a mission's deliverables.
type Deliverables struct {
	DraftID, MissionID string
	Published          bool
	Summary            json.RawMessage // of the mission; nil unless published
	Accepted           int
}

// DeliverablesOf finds a mission of the wallet by its draft id or mission id. If the mission does
// not exist or belongs to another wallet, it fails with [ErrNotFound].
func (db *DB) DeliverablesOf(ctx context.Context, wallet sortie.Address, id string) (Deliverables, error) {
	return read(ctx, db, func(r reader) (Deliverables, error) { return r.deliverablesOf(wallet, id) })
}

func (r reader) deliverablesOf(wallet sortie.Address, id string) (Deliverables, error) {
	query := selectDeliverablesByMissionID
	if strings.HasPrefix(id, "draft_") { // a mission id is a slug, without underscores
		query = selectDeliverablesByDraftID
	}
	found := Deliverables{Published: true}
	var summary []byte
	err := r.one(query, []any{hexAddress(wallet), id}, func(row scanner) error {
		return row.Scan(&found.DraftID, &found.MissionID, &found.Accepted, &summary)
	})
	if errors.Is(err, ErrNotFound) { // not published
		draft, err := r.DraftByID(wallet, id)
		return Deliverables{DraftID: draft.ID, MissionID: draft.MissionID}, err
	}
	if err != nil {
		return Deliverables{}, fmt.Errorf("read deliverables: %w", err)
	}
	found.Summary = summary
	return found, nil
}

// DeliverablePage calls each for up to limit accepted submissions of a mission, in the order of
// acceptance, after the one with the number afterSeq. No later page contains an earlier number. The
// fragment is valid until each returns.
//
// The cost of a page does not depend on the number of submissions or on the position of the page.
func (db *DB) DeliverablePage(ctx context.Context, draftID string, afterSeq int64, limit int,
	each func(acceptSeq int64, submissionID string, hasThumbnail bool, fragment []byte),
) error {
	_, err := read(ctx, db, func(r reader) (struct{}, error) {
		var (
			acceptSeq    int64
			submissionID string
			hasThumbnail bool
			fragment     sql.RawBytes // valid until the next row; not copied
		)
		columns := []any{&acceptSeq, &submissionID, &hasThumbnail, &fragment}
		return struct{}{}, r.each(selectDeliverables, []any{draftID, afterSeq, limit}, func(row scanner) error {
			if err := row.Scan(columns...); err != nil {
				return err
			}
			each(acceptSeq, submissionID, hasThumbnail, fragment)
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("read deliverables of %s: %w", draftID, err)
	}
	return nil
}

var (
	selectDeliverablesByDraftID   = preparedRead(`SELECT draft_id, mission_id, accepted, summary FROM mission_slots WHERE creator = $1 AND draft_id = $2`)
	selectDeliverablesByMissionID = preparedRead(`SELECT draft_id, mission_id, accepted, summary FROM mission_slots WHERE creator = $1 AND mission_id = $2`)

	selectDeliverables = preparedRead(`SELECT accept_seq, submission_id, has_thumbnail, fragment FROM deliverables
WHERE draft_id = $1 AND accept_seq > $2 ORDER BY accept_seq LIMIT $3 + 0`)
	insertDeliverable = preparedWrite(`INSERT INTO deliverables (draft_id, accept_seq, submission_id, has_thumbnail, fragment) VALUES ($1, $2, $3, $4, $5)`)
	deleteDeliverable = preparedWrite(`DELETE FROM deliverables WHERE draft_id = $1 AND accept_seq = $2`)
)
