package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// Terms returns the terms that the contract must have for the draft.
func (d *Draft) Terms() onchain.Terms {
	return onchain.Terms{
		DraftID: d.ID, MissionID: d.MissionID, Factory: d.Factory, Creator: d.Wallet, Token: d.TokenAddress,
		Reward: d.Reward, TargetCount: d.TargetCount, Nonce: d.Nonce,
	}
}

// FundedDraft is a draft with its funding.
type FundedDraft struct {
	Draft
	onchain.Funding
}

// AddFunding stores the funding of a draft. If the draft is already funded, or another draft has
// the mission key, it fails with [ErrConflict] and changes nothing.
func (tx *Tx) AddFunding(funding onchain.Funding) error {
	changed, err := tx.exec(insertFunding, funding.DraftID, int64(funding.ChainID), funding.MissionKey.String(),
		int64(funding.Block), funding.BlockHash.String(), funding.Transaction.String(), int64(funding.LogIndex), int64(funding.ReclaimAfter))
	if err == nil && changed == 0 {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("add funding of %s: %w", funding.DraftID, err)
	}
	if funding.Closed != nil {
		return tx.SetClosing(funding.DraftID, funding.Closed)
	}
	return nil
}

// RemoveFunding deletes the funding of a draft with its closing. Not funded: [ErrNotFound].
func (tx *Tx) RemoveFunding(draftID string) error {
	if err := tx.reopenBook(draftID); err != nil {
		return err
	}
	return tx.changeFunding("remove funding of", draftID, deleteFunding)
}

// SetClosing stores the closing of a funded mission, or with nil that it is open. Not funded:
// [ErrNotFound].
func (tx *Tx) SetClosing(draftID string, closing *onchain.Closing) error {
	if closing == nil {
		if err := tx.reopenBook(draftID); err != nil {
			return err
		}
		return tx.changeFunding("reopen", draftID, deleteClosing)
	}
	return tx.changeFunding("close", draftID, updateClosing, int64(closing.Block), closing.BlockHash.String(),
		closing.Transaction.String(), int64(closing.Reason), closing.Refund.String(), closing.RefundDeferred)
}

func (tx *Tx) changeFunding(what, draftID, statement string, args ...any) error {
	changed, err := tx.exec(statement, append([]any{draftID}, args...)...)
	if err == nil && changed == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, draftID, err)
	}
	return nil
}

// followRefund sets refund_due for the new state of a draft.
func (tx *Tx) followRefund(draft *Draft, to mission.State) error {
	if to.Decision == draft.State.Decision && to.Refunded == draft.State.Refunded {
		return nil
	}
	_, err := tx.exec(updateRefundDue, draft.ID, to.Decision != mission.DecisionApproved && !to.Refunded)
	return err
}

// FundingOf reads the funding of a draft. Not funded: [ErrNotFound].
func (db *DB) FundingOf(ctx context.Context, draftID string) (onchain.Funding, error) {
	return read(ctx, db, func(r reader) (onchain.Funding, error) { return r.FundingOf(draftID) })
}

// FundingOf is [DB.FundingOf] inside the transaction.
func (r reader) FundingOf(draftID string) (onchain.Funding, error) {
	return r.funding(selectFunding, draftID)
}

// FundingByKey reads the funding with a mission key, or fails with [ErrNotFound].
func (db *DB) FundingByKey(ctx context.Context, missionKey sortie.Hash) (onchain.Funding, error) {
	return read(ctx, db, func(r reader) (onchain.Funding, error) { return r.FundingByKey(missionKey) })
}

// FundingByKey is [DB.FundingByKey] inside the transaction.
func (r reader) FundingByKey(missionKey sortie.Hash) (onchain.Funding, error) {
	return r.funding(selectFundingByKey, missionKey.String())
}

func (r reader) funding(query, key string) (funding onchain.Funding, err error) {
	err = r.one(query, []any{key}, func(row scanner) error {
		var columns fundingRow
		if err := row.Scan(columns.destinations(&funding.DraftID, &funding.ChainID)...); err != nil {
			return err
		}
		return columns.fill(&funding)
	})
	if err != nil {
		return onchain.Funding{}, fmt.Errorf("read funding: %w", err)
	}
	return funding, nil
}

// FundingsToConfirm reads up to limit drafts of a depth, seen or confirmed, that were funded at or
// below a block, in the order of the chain, after a place: the block and the index of a funding's
// log.
func (db *DB) FundingsToConfirm(ctx context.Context, chainID uint64, depth mission.Depth, maxBlock uint64, after onchain.Place, limit int) ([]FundedDraft, error) {
	return db.fundedDrafts(ctx, selectFundingsToConfirm, int64(chainID), int64(min(maxBlock, math.MaxInt64)), limit, string(depth),
		int64(after.Block), int64(after.Index))
}

// RefundsToConfirm reads up to limit drafts whose missions were closed at or below a block, which
// are rejected or undecided and not refunded yet, in the order of the chain, after a position: the
// block of a closing and the number of its draft.
func (db *DB) RefundsToConfirm(ctx context.Context, chainID, maxBlock uint64, after onchain.Place, limit int) ([]FundedDraft, error) {
	return db.fundedDrafts(ctx, selectRefundsToConfirm, int64(chainID), int64(min(maxBlock, math.MaxInt64)), limit,
		int64(after.Block), int64(after.Index))
}

// FundedDrafts reads up to limit funded drafts of a chain whose missions are open, after the one
// numbered afterSeq, oldest first.
func (db *DB) FundedDrafts(ctx context.Context, chainID uint64, afterSeq int64, limit int) ([]FundedDraft, error) {
	return db.fundedDrafts(ctx, selectFundedDrafts, int64(chainID), afterSeq, limit)
}

// DraftsInReview reads up to limit drafts that wait for a decision, after the one numbered
// afterSeq, oldest first.
func (db *DB) DraftsInReview(ctx context.Context, afterSeq int64, limit int) ([]FundedDraft, error) {
	return db.fundedDrafts(ctx, selectDraftsInReview, afterSeq, limit)
}

func (db *DB) fundedDrafts(ctx context.Context, query string, args ...any) ([]FundedDraft, error) {
	return read(ctx, db, func(r reader) (drafts []FundedDraft, err error) {
		err = r.each(query, args, func(row scanner) error {
			var columns fundingRow
			draft, err := scanDraft(joined{row: row, more: columns.destinations()})
			if err != nil {
				return err
			}
			funded := FundedDraft{Draft: draft, Funding: onchain.Funding{DraftID: draft.ID, ChainID: draft.NewDraft.ChainID}}
			err = columns.fill(&funded.Funding)
			drafts = append(drafts, funded)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read funded drafts: %w", err)
		}
		return drafts, nil
	})
}

// FundableDrafts reads up to limit unfunded drafts of a chain whose quotes are live, or were live
// at a time (Unix seconds), after the one numbered afterSeq, oldest first.
func (db *DB) FundableDrafts(ctx context.Context, chainID uint64, quotedSince, afterSeq int64, limit int) ([]Draft, error) {
	return read(ctx, db, func(r reader) (drafts []Draft, err error) {
		err = r.each(selectFundableDrafts, []any{int64(chainID), afterSeq, limit, quotedSince}, func(row scanner) error {
			draft, err := scanDraft(row)
			drafts = append(drafts, draft)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read unfunded drafts: %w", err)
		}
		return drafts, nil
	})
}

// DraftByMissionID finds a draft of any wallet by its mission id.
func (db *DB) DraftByMissionID(ctx context.Context, missionID string) (Draft, error) {
	return read(ctx, db, func(r reader) (Draft, error) { return r.DraftByMissionID(missionID) })
}

// DraftByMissionID is [DB.DraftByMissionID] inside the transaction.
func (r reader) DraftByMissionID(missionID string) (Draft, error) {
	return r.draft(selectAnyDraftByMissionID, missionID)
}

// DraftByDraftID finds a draft of any wallet by its draft id.
func (db *DB) DraftByDraftID(ctx context.Context, draftID string) (Draft, error) {
	return read(ctx, db, func(r reader) (Draft, error) { return r.DraftByDraftID(draftID) })
}

// DraftByDraftID is [DB.DraftByDraftID] inside the transaction.
func (r reader) DraftByDraftID(draftID string) (Draft, error) {
	return r.draft(selectAnyDraftByDraftID, draftID)
}

// OldestDraft returns when the first draft was created. None yet: [ErrNotFound].
func (db *DB) OldestDraft(ctx context.Context) (time.Time, error) {
	return read(ctx, db, func(r reader) (time.Time, error) {
		var createdAt int64
		err := r.one(selectOldestDraft, nil, func(row scanner) error { return row.Scan(&createdAt) })
		if err != nil {
			return time.Time{}, fmt.Errorf("read oldest draft: %w", err)
		}
		return time.UnixMicro(createdAt).UTC(), nil
	})
}

// The columns that drafts and fundings share are those they are joined by, so that no other needs
// its table's name.
const (
	fundingColumns = `mission_key, block_number, block_hash, transaction_hash, log_index, reclaim_after,
	closed_block, closed_hash, closed_transaction, closed_reason, refund, refund_deferred`
	deleteFunding = `DELETE FROM fundings WHERE draft_id = $1`
	deleteClosing = `UPDATE fundings SET closed_block = NULL, closed_hash = NULL, closed_transaction = NULL, closed_reason = NULL,
	refund = NULL, refund_deferred = NULL, refund_due = FALSE
WHERE draft_id = $1`

	selectFundedDraft  = `SELECT ` + draftColumns + `, ` + fundingColumns + ` FROM drafts JOIN fundings USING (draft_id, chain_id) `
	selectFundedDrafts = selectFundedDraft + `
WHERE chain_id = $1 AND seq > $2 AND closed_block IS NULL ORDER BY seq LIMIT $3 + 0`
	selectDraftsInReview = selectFundedDraft + `
WHERE decision = 'none' AND depth IN ('confirmed', 'locked') AND seq > $1 ORDER BY seq LIMIT $2 + 0`

	selectFundableDrafts = `SELECT ` + draftColumns + ` FROM drafts WHERE chain_id = $1 AND depth = 'none' AND seq > $2
	AND (quote_deadline IS NULL OR quote_deadline >= $4) ORDER BY seq LIMIT $3 + 0`
	selectOldestDraft = `SELECT created_at FROM drafts ORDER BY draft_id LIMIT 1`
)

var (
	insertFunding = preparedWrite(`INSERT INTO fundings (draft_id, chain_id, mission_key, block_number, block_hash, transaction_hash, log_index,
	reclaim_after)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`)

	updateClosing = preparedWrite(`UPDATE fundings SET closed_block = $2, closed_hash = $3, closed_transaction = $4, closed_reason = $5,
	refund = $6, refund_deferred = $7,
	refund_due = (SELECT decision <> 'approved' AND NOT refunded FROM drafts WHERE drafts.draft_id = fundings.draft_id)
WHERE draft_id = $1`)

	updateRefundDue = preparedWrite(`UPDATE fundings SET refund_due = $2 WHERE draft_id = $1 AND closed_block IS NOT NULL`)

	selectFunding      = preparedRead(`SELECT draft_id, chain_id, ` + fundingColumns + ` FROM fundings WHERE draft_id = $1`)
	selectFundingByKey = preparedRead(`SELECT draft_id, chain_id, ` + fundingColumns + ` FROM fundings WHERE mission_key = $1`)

	selectFundingsToConfirm = preparedRead(selectFundedDraft + `
WHERE chain_id = $1 AND depth = $4 AND depth IN ('seen', 'confirmed') AND block_number <= $2
	AND (block_number, log_index) > ($5, $6)
ORDER BY block_number, log_index LIMIT $3 + 0`)
	selectRefundsToConfirm = preparedRead(selectFundedDraft + `
WHERE fundings.chain_id = $1 AND refund_due AND closed_block <= $2
	AND (closed_block, seq) > ($4, $5) ORDER BY closed_block, seq LIMIT $3 + 0`)

	selectAnyDraftByDraftID   = preparedRead(`SELECT ` + draftColumns + ` FROM drafts WHERE draft_id = $1`)
	selectAnyDraftByMissionID = preparedRead(`SELECT ` + draftColumns + ` FROM drafts WHERE mission_id = $1`)
)

// fundingRow holds the values of a row of fundingColumns.
type fundingRow struct {
	missionKey, blockHash, transaction      string
	block, logIndex, reclaimAfter           int64
	closedBlock, closedReason               sql.NullInt64
	closedHash, closedTransaction, refunded sql.NullString
	refundDeferred                          sql.NullBool
}

// destinations returns the destinations of the columns, after those in front.
func (r *fundingRow) destinations(front ...any) []any {
	return append(front, &r.missionKey, &r.block, &r.blockHash, &r.transaction, &r.logIndex, &r.reclaimAfter,
		&r.closedBlock, &r.closedHash, &r.closedTransaction, &r.closedReason, &r.refunded, &r.refundDeferred)
}

func (r *fundingRow) fill(funding *onchain.Funding) error {
	funding.Block, funding.LogIndex, funding.ReclaimAfter = uint64(r.block), uint64(r.logIndex), uint64(r.reclaimAfter)
	err := errors.Join(parse(&funding.MissionKey, r.missionKey, sortie.ParseHash),
		parse(&funding.BlockHash, r.blockHash, sortie.ParseHash), parse(&funding.Transaction, r.transaction, sortie.ParseHash))
	if r.closedBlock.Valid {
		closing := &onchain.Closing{Block: uint64(r.closedBlock.Int64), Reason: uint8(r.closedReason.Int64), RefundDeferred: r.refundDeferred.Bool}
		err = errors.Join(err, parse(&closing.BlockHash, r.closedHash.String, sortie.ParseHash),
			parse(&closing.Transaction, r.closedTransaction.String, sortie.ParseHash),
			parse(&closing.Refund, r.refunded.String, parseInteger))
		funding.Closed = closing
	}
	if err != nil {
		return fmt.Errorf("funding of %s: %w", funding.DraftID, err)
	}
	return nil
}
