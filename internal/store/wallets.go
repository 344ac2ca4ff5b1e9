package store

import (
	"github.com/sortie-labs/sortie"
)

// A wallet's row has the counts that would be too slow to compute for each request: unfunded drafts
// and events. A change locks the row until the transaction ends, so a wallet's
// events are numbered in the order in which they are committed, and a client that reads the events
// after a number misses none.

// countNewDraft counts an unfunded draft and its event.
func (tx *Tx) countNewDraft(wallet sortie.Address, maxUnfunded int) error {
	changed, err := tx.exec(addUnfundedDraft, hexAddress(wallet), maxUnfunded)
	if err == nil && changed == 0 {
		return tx.session.refuse(ErrDraftLimit) // the draft is already inserted
	}
	return err
}

// countTransition changes the count of unfunded drafts, which a reorganization may raise above its
// limit, and counts an event.
func (tx *Tx) countTransition(wallet sortie.Address, unfundedDrafts int) error {
	_, err := tx.exec(addWalletEvent, hexAddress(wallet), unfundedDrafts)
	return err
}

// walletCount is what a transaction adds to a wallet's row.
type walletCount struct {
	unfunded int   // unfunded drafts
	events   int64 // new events
}

// count adds to a wallet's row and returns the number of its last event. See countTransition.
func (tx *Tx) count(wallet sortie.Address, add walletCount) (lastEvent int64, err error) {
	err = tx.one(addWalletEvents, []any{hexAddress(wallet), add.unfunded, add.events}, func(row scanner) error {
		return row.Scan(&lastEvent)
	})
	return lastEvent, err
}

var (
	addUnfundedDraft = preparedWrite(`INSERT INTO wallets (wallet, unfunded_drafts, last_event) VALUES ($1, 1, 1)
ON CONFLICT (wallet) DO UPDATE SET unfunded_drafts = wallets.unfunded_drafts + 1, last_event = wallets.last_event + 1
WHERE wallets.unfunded_drafts < $2`)

	// A wallet without a row has no drafts to count.
	addWalletEvent = preparedWrite(`INSERT INTO wallets (wallet, unfunded_drafts, last_event) VALUES ($1, 0, 1)
ON CONFLICT (wallet) DO UPDATE SET unfunded_drafts = wallets.unfunded_drafts + $2, last_event = wallets.last_event + 1`)
	addWalletEvents = preparedWrite(`INSERT INTO wallets (wallet, unfunded_drafts, last_event) VALUES ($1, 0, $3)
ON CONFLICT (wallet) DO UPDATE SET unfunded_drafts = wallets.unfunded_drafts + $2, last_event = wallets.last_event + $3
RETURNING last_event`)
)
