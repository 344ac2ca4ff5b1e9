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

// Deliverables is what the answer about a mission's deliverables begins with.
type Deliverables struct {
	DraftID, MissionID string
	Published          bool
	Summary            json.RawMessage // of the mission; nil unless published
	Accepted           int
}

// DeliverablesOf finds a mission of the wallet by its draft id or mission id. One that does not
// exist and one of somebody else are the same: [ErrNotFound].
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
	if errors.Is(err, ErrNotFound) { // of the published ones
		draft, err := r.DraftByID(wallet, id)
		return Deliverables{DraftID: draft.ID, MissionID: draft.MissionID}, err
	}
	if err != nil {
		return Deliverables{}, fmt.Errorf("read deliverables: %w", err)
	}
	found.Summary = summary
	return found, nil
}

// DeliverablePage hands up to limit accepted submissions of a mission to each, in the order of
// acceptance, behind the one with the number afterSeq. What is read once is never preceded by
// something new. The fragment is valid until each returns.
//
// What a page costs depends neither on how many there are nor on how deep it lies.
func (db *DB) DeliverablePage(ctx context.Context, draftID string, afterSeq int64, limit int,
	each func(acceptSeq int64, submissionID string, hasThumbnail bool, fragment []byte),
) error {
	_, err := read(ctx, db, func(r reader) (struct{}, error) {
		var (
			acceptSeq    int64
			submissionID string
			hasThumbnail bool
			fragment     sql.RawBytes // valid until the next row: none is copied
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
