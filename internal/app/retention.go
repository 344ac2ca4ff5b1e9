package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/store"
)

// A draft that stays unfunded for the retention is removed. No funding can be lost by that:
//
//   - No authorization of a draft is signed with a deadline later than the draft's creation plus
//     the retention.
//   - A draft is removed only when a block was followed whose time is later than that by the
//     margin. Times of blocks grow, and the contract refuses an authorization after its deadline,
//     so no later block can hold a funding of the draft.
//   - Where events of a block were set aside, a funding may be in the contract and not in the
//     database. Nothing is removed until all unfunded drafts were compared with the contract: see
//     [fullPass]. That is checked after the position was read, so a block that is set aside later
//     is after the position and holds no funding of a removed draft.
//   - The margin leaves room for reorganizations, and for authorizations that a process signed
//     under another retention: those live for an hour at most, and the first removal under a new
//     retention waits for the margin, too.
const (
	retentionMargin = 2 * funding.MaxTTL
	removalBatch    = 64 // drafts removed in one transaction
	removalsAtOnce  = 10_000
)

// retentionSetting is the setting that records since when a retention is in use.
const retentionSetting = "draft-retention"

type retentionRecord struct {
	Seconds int64 `json:"seconds"`
	Since   int64 `json:"since"` // Unix seconds
}

// lastDeadline is the latest deadline that a quote of the draft may have.
func (c *core) lastDeadline(draft store.Draft, deadline uint64) uint64 {
	if c.retention == 0 || draft.CreatedAt.IsZero() { // not stored yet
		return deadline
	}
	return min(deadline, uint64(draft.CreatedAt.Add(c.retention).Unix()))
}

// RemoveUnfundedDrafts removes drafts that stayed unfunded for the retention, a bounded number at a
// time.
func (a *App) RemoveUnfundedDrafts(ctx context.Context) (removed int, err error) {
	if a.retention == 0 {
		return 0, nil
	}
	before, err := a.removableBefore(ctx)
	for err == nil && removed < removalsAtOnce && !before.IsZero() {
		batch := 0
		err = a.store.Tx(ctx, func(tx *store.Tx) (err error) {
			batch, err = tx.RemoveUnfundedDrafts(before, removalBatch)
			return err
		})
		if err == nil {
			removed += batch
		}
		if errors.Is(err, store.ErrConflict) { // another process removed them
			return removed, nil
		}
		if batch < removalBatch {
			break
		}
	}
	if err != nil {
		return removed, fmt.Errorf("remove drafts that were never funded: %w", err)
	}
	return removed, nil
}

// removableBefore is the time before which a removable draft was created; zero while none is
// removable.
func (a *App) removableBefore(ctx context.Context) (time.Time, error) {
	position, err := a.store.ChainPosition(ctx, a.domain.ChainID)
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	since, err := a.retentionSince(ctx)
	if err != nil || a.now().Before(since.Add(retentionMargin)) {
		return time.Time{}, err
	}
	if hidden, err := a.mayHideFundings(ctx, a.domain.ChainID); err != nil || hidden {
		return time.Time{}, err
	}
	seen := earlier(a.now(), position.Tip.Time) // later blocks are not known
	return seen.Add(-a.retention - retentionMargin), nil
}

// retentionSince is when all processes began to sign with this retention.
func (a *App) retentionSince(ctx context.Context) (time.Time, error) {
	record := retentionRecord{}
	stored, err := a.store.LastSetting(ctx, retentionSetting)
	if err == nil {
		err = json.Unmarshal(stored, &record)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return time.Time{}, fmt.Errorf("read the draft retention: %w", err)
	}
	if record.Seconds == int64(a.retention/time.Second) {
		return time.Unix(record.Since, 0), nil
	}
	record = retentionRecord{Seconds: int64(a.retention / time.Second), Since: a.now().Unix()}
	encoded, err := json.Marshal(record)
	if err == nil {
		err = a.store.Tx(ctx, func(tx *store.Tx) error { return tx.PutSetting(retentionSetting, encoded) })
	}
	return time.Unix(record.Since, 0), err
}
