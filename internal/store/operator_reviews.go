package store

import (
	"context"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie/internal/mission"
)

// Review is the decision about a draft.
type Review struct {
	DraftID   string
	Decision  mission.Decision
	Operator  string // an address, or the name of an automatic decision
	Reason    string
	DecidedAt time.Time
}

// AddReview stores a decision, made now. If the draft has one, it fails with [ErrConflict] and
// changes nothing.
func (tx *Tx) AddReview(review Review) error {
	changed, err := tx.exec(insertReview, review.DraftID, string(review.Decision), review.Operator, review.Reason,
		tx.Now.UnixMicro())
	if err == nil && changed == 0 {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("add review of %s: %w", review.DraftID, err)
	}
	return nil
}

// ReplaceReview stores a decision, made now, and replaces an earlier one.
func (tx *Tx) ReplaceReview(review Review) error {
	_, err := tx.exec(upsertReview, review.DraftID, string(review.Decision), review.Operator, review.Reason,
		tx.Now.UnixMicro())
	if err != nil {
		return fmt.Errorf("replace review of %s: %w", review.DraftID, err)
	}
	return nil
}

// ReviewOf reads the decision about a draft. None yet: [ErrNotFound].
func (db *DB) ReviewOf(ctx context.Context, draftID string) (Review, error) {
	return read(ctx, db, func(r reader) (Review, error) { return r.ReviewOf(draftID) })
}

// ReviewOf is [DB.ReviewOf] inside the transaction.
func (r reader) ReviewOf(draftID string) (Review, error) {
	review := Review{DraftID: draftID}
	var decidedAt int64
	err := r.one(selectReview, []any{draftID}, func(row scanner) error {
		return row.Scan((*string)(&review.Decision), &review.Operator, &review.Reason, &decidedAt)
	})
	if err != nil {
		return Review{}, fmt.Errorf("read review of %s: %w", draftID, err)
	}
	review.DecidedAt = time.UnixMicro(decidedAt).UTC()
	return review, nil
}

const (
	upsertReview = `INSERT INTO reviews (draft_id, decision, operator, reason, decided_at)
VALUES ($1, $2, $3, $4, $5) ON CONFLICT (draft_id) DO UPDATE SET decision = excluded.decision, operator = excluded.operator,
	reason = excluded.reason, decided_at = excluded.decided_at`
	selectReview = `SELECT decision, operator, reason, decided_at FROM reviews WHERE draft_id = $1`
)

var (
	insertReview = preparedWrite(`INSERT INTO reviews (draft_id, decision, operator, reason, decided_at)
VALUES ($1, $2, $3, $4, $5) ON CONFLICT (draft_id) DO NOTHING`)
)
