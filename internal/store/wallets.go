package store

import (
	"errors"

	"github.com/sortie-labs/sortie"
)

// A wallet's row counts what a request must not count in rows: the drafts that wait for funding, and the events. Whoever
// changes it holds the row until the end of the transaction, so a wallet's events are numbered in the order in which they are
// committed, and a reader that asks for what came after a number misses nothing.

// countNewDraft makes room for a draft that waits for funding and returns the number of the event that tells of it.
func (tx *Tx) countNewDraft(wallet sortie.Address, maxUnfunded int) (event int64, err error) {
	err = tx.session.one(tx.ctx, addUnfundedDraft, []any{hexAddress(wallet), maxUnfunded},
		func(row scanner) error { return row.Scan(&event) })
	if errors.Is(err, ErrNotFound) {
		return 0, tx.session.refuse(ErrDraftLimit) // the draft is already inserted
	}
	return event, err
}

// countTransition adds to the number of drafts that wait for funding, which a reorganization of the chain may bring above its
// limit, and returns the number of the event that tells of it.
func (tx *Tx) countTransition(wallet sortie.Address, unfundedDrafts int) (event int64, err error) {
	err = tx.session.one(tx.ctx, addWalletEvent, []any{hexAddress(wallet), unfundedDrafts},
		func(row scanner) error { return row.Scan(&event) })
	return event, err
}

const (
	addUnfundedDraft = `INSERT INTO wallets (wallet, unfunded_drafts, last_event) VALUES ($1, 1, 1)
ON CONFLICT (wallet) DO UPDATE SET unfunded_drafts = wallets.unfunded_drafts + 1, last_event = wallets.last_event + 1
WHERE wallets.unfunded_drafts < $2
RETURNING last_event`

	// A wallet without a row has no drafts to count.
	addWalletEvent = `INSERT INTO wallets (wallet, unfunded_drafts, last_event) VALUES ($1, 0, 1)
ON CONFLICT (wallet) DO UPDATE SET unfunded_drafts = wallets.unfunded_drafts + $2, last_event = wallets.last_event + 1
RETURNING last_event`
)
