package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
)

// ReceiptCursor is a position in the order in which receipts are due. The zero value is the
// beginning.
type ReceiptCursor struct {
	finalAt int64
	id      string
}

// AfterReceipt returns the position after a submission of [DB.ReceiptsDue].
func AfterReceipt(of Submission) ReceiptCursor { return ReceiptCursor{of.FinalAt.UnixMicro(), of.ID} }

// ReceiptsDue reads up to limit final acceptances after a position that have no receipt, the
// longest final first. Receipts of missions whose money has left the contract are not due.
func (db *DB) ReceiptsDue(ctx context.Context, after ReceiptCursor, limit int) ([]Submission, error) {
	return db.submissions(ctx, selectReceiptsDue, after.finalAt, after.id, limit)
}

// OpenReceipts reads up to limit submissions whose receipt was signed by a key and whose slot is
// not paid, in the order of their ids, after one of them. The zero address selects receipts whose
// signer was not stored.
func (db *DB) OpenReceipts(ctx context.Context, signer sortie.Address, afterID string, limit int) ([]Submission, error) {
	return db.submissions(ctx, selectOpenReceipts, optionalAddress(signer), afterID, limit)
}

// PutReceipt stores the receipt of a final acceptance and its signer. If the submission has a
// receipt, was changed since it was read, or the money of its mission has left the contract, it
// fails with [ErrConflict] and changes nothing.
func (tx *Tx) PutReceipt(was Submission, receipt json.RawMessage, signer sortie.Address) error {
	return tx.changeSubmission("keep the receipt of", was, putReceipt, string(receipt), optionalAddress(signer))
}

// RenewReceipt replaces a receipt by the same one of another signer. If its slot is paid, or the
// submission was changed since it was read, it fails with [ErrConflict] and changes nothing.
func (tx *Tx) RenewReceipt(was Submission, receipt json.RawMessage, signer sortie.Address) error {
	return tx.changeSubmission("renew the receipt of", was, renewReceipt, string(receipt), optionalAddress(signer))
}

// Settler is a key that signs receipts.
type Settler struct {
	Address   sortie.Address
	FirstUsed time.Time
}

// AddSettler stores a key that signs receipts from now on, unless it is known.
func (tx *Tx) AddSettler(address sortie.Address) error {
	if _, err := tx.exec(insertSettler, hexAddress(address), tx.Now.UnixMicro()); err != nil {
		return fmt.Errorf("add settler %s: %w", address, err)
	}
	return nil
}

// Settlers reads all keys that ever signed receipts, the longest known first.
func (db *DB) Settlers(ctx context.Context) ([]Settler, error) {
	return read(ctx, db, func(r reader) (settlers []Settler, err error) {
		err = r.each(selectSettlers, nil, func(row scanner) error {
			var address string
			var firstUsed int64
			if err := row.Scan(&address, &firstUsed); err != nil {
				return err
			}
			settler := Settler{FirstUsed: microTime(firstUsed)}
			settlers = append(settlers, settler)
			return parse(&settlers[len(settlers)-1].Address, address, sortie.ParseAddress)
		})
		if err != nil {
			return nil, fmt.Errorf("read settlers: %w", err)
		}
		return settlers, nil
	})
}

// optionalAddress returns the form of an address in a column, empty for the zero address.
func optionalAddress(address sortie.Address) string {
	if address.IsZero() {
		return ""
	}
	return hexAddress(address)
}

const (
	insertSettler  = `INSERT INTO settlers (address, first_used_at) VALUES ($1, $2) ON CONFLICT (address) DO NOTHING`
	selectSettlers = `SELECT address, first_used_at FROM settlers ORDER BY first_used_at, address`
)

var (
	selectReceiptsDue = preparedRead(selectSubmissions + `
WHERE s.final_at IS NOT NULL AND s.receipt IS NULL AND (s.final_at, s.submission_id) > ($1, $2)
	AND NOT EXISTS (SELECT 1 FROM mission_slots WHERE mission_slots.draft_id = s.draft_id AND closed_at IS NOT NULL)
ORDER BY s.final_at, s.submission_id LIMIT $3 + 0`)
	selectOpenReceipts = preparedRead(selectSubmissions + `
WHERE s.receipt IS NOT NULL AND s.paid_block IS NULL AND s.receipt_signer = $1 AND s.submission_id > $2
ORDER BY s.submission_id LIMIT $3 + 0`)

	putReceipt = preparedWrite(`UPDATE submissions SET receipt = $3, receipt_signer = $4, version = version + 1` + thisSubmission + `
	AND final_at IS NOT NULL AND receipt IS NULL AND NOT EXISTS (
	SELECT 1 FROM mission_slots WHERE mission_slots.draft_id = submissions.draft_id AND closed_at IS NOT NULL)`)
	renewReceipt = preparedWrite(`UPDATE submissions SET receipt = $3, receipt_signer = $4, version = version + 1` + thisSubmission + `
	AND receipt IS NOT NULL AND paid_block IS NULL`)
)
