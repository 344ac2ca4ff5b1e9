package store

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sortie-labs/sortie"
)

// RemoveUnfundedDrafts removes up to limit drafts that were created before a time, oldest first,
// with their events: those without a known funding or a decision. Their idempotency keys can be
// used again.
//
// It fails the transaction with [ErrConflict] when one of them was changed in the meantime.
func (tx *Tx) RemoveUnfundedDrafts(before time.Time, limit int) (removed int, err error) {
	var ids []string
	counts := make(map[sortie.Address]walletCount)
	err = tx.each(selectRemovableDrafts, []any{before.UnixMicro(), limit}, func(row scanner) error {
		var id, wallet string
		if err := row.Scan(&id, &wallet); err != nil {
			return err
		}
		address, err := sortie.ParseAddress(wallet)
		count := counts[address]
		count.unfunded--
		counts[address] = count
		ids = append(ids, id)
		return err
	})
	if err == nil {
		err = tx.deleteDrafts(ids)
	}
	if err != nil {
		return 0, fmt.Errorf("remove unfunded drafts: %w", err)
	}
	// In the order in which all transactions lock wallets; see appendEvents.
	for _, wallet := range slices.SortedFunc(maps.Keys(counts), func(a, b sortie.Address) int { return bytes.Compare(a[:], b[:]) }) {
		if _, err := tx.count(wallet, counts[wallet]); err != nil {
			return 0, fmt.Errorf("remove unfunded drafts: %w", err)
		}
	}
	return len(ids), nil
}

func (tx *Tx) deleteDrafts(ids []string) error {
	err := lookups(ids, func(args []any) error {
		_, err := tx.exec(deleteEventsOfDrafts, args...)
		return err
	})
	if err != nil {
		return err
	}
	deleted := int64(0)
	err = lookups(ids, func(args []any) error {
		changed, err := tx.exec(deleteUnfundedDrafts, args...)
		deleted += changed
		return err
	})
	if err == nil && deleted != int64(len(ids)) {
		err = tx.session.refuse(ErrConflict)
	}
	return err
}

var (
	deleteEventsOfDrafts = preparedWrite(`DELETE FROM events WHERE draft_id IN (` + placeholders(1, lookupSize) + `)`)
	deleteUnfundedDrafts = preparedWrite(`DELETE FROM drafts WHERE ` + unfundedDraft + ` AND draft_id IN (` + placeholders(1, lookupSize) + `)`)
)

const (
	// unfundedDraft is the condition of the index drafts_unfunded.
	unfundedDraft = `depth = 'none' AND decision = 'none'`
)

var (
	selectRemovableDrafts = preparedRead(`SELECT draft_id, wallet FROM drafts WHERE ` + unfundedDraft + ` AND created_at < $1
ORDER BY created_at LIMIT $2 + 0`)
)
