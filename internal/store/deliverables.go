package store

import (
	"context"
	"encoding/json"

	"github.com/sortie-labs/sortie"
)

// Deliverables is what the answer about a mission's deliverables begins with.
type Deliverables struct {
	DraftID, MissionID string
	Published          bool
	Summary            json.RawMessage // of the mission; nil unless published
	Accepted           int
}

// DeliverablesOf finds a mission of the wallet by its draft id or mission id.
func (db *DB) DeliverablesOf(ctx context.Context, wallet sortie.Address, id string) (Deliverables, error) {
	return Deliverables{}, errUnwritten
}

// DeliverablePage hands up to limit accepted submissions of a mission to each, in the order of acceptance, behind the one with
// the number afterSeq. The fragment is valid until each returns.
func (db *DB) DeliverablePage(ctx context.Context, draftID string, afterSeq int64, limit int,
	each func(acceptSeq int64, submissionID string, hasThumbnail bool, fragment []byte)) error {
	return errUnwritten
}
