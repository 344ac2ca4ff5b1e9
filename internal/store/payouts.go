package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// MaxSettlement is the maximum number of payouts in a settlement.
const MaxSettlement = 50

// Payout is the payment of one slot. Every final acceptance has one.
type Payout struct {
	Seq                 int64 // payouts queued later have greater ones
	SubmissionID        string
	DraftID             string
	Slot                uint32
	Recipient           sortie.Address
	Token               sortie.Token
	Amount              *big.Int // base units
	Status              sortie.PayoutStatus
	Settlement          int64       // the settlement that carries it; 0: none
	Transaction         sortie.Hash // the transaction that pays it, if known
	Block               uint64      // the block that paid or deferred it; 0: none
	Credited            bool        // the block made it a deferred credit
	Problem             string      // why it failed
	QueuedAt, UpdatedAt time.Time
}

// waits reports whether the payout waits for a settlement.
func (p *Payout) waits() bool { return p.Status == sortie.PayoutQueued && p.Settlement == 0 }

// Open reports whether no block has paid or deferred the payout and a settlement may carry it.
func (p *Payout) Open() bool {
	return p.Block == 0 && (p.Status == sortie.PayoutQueued || p.Status == sortie.PayoutSent)
}

// PayoutOf reads the payout of a submission, or fails with [ErrNotFound].
func (db *DB) PayoutOf(ctx context.Context, submissionID string) (Payout, error) {
	return read(ctx, db, func(r reader) (Payout, error) { return r.PayoutOf(submissionID) })
}

// PayoutOf is [DB.PayoutOf] inside the transaction.
func (r reader) PayoutOf(submissionID string) (Payout, error) {
	found, err := r.payouts(selectPayout, submissionID)
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Payout{}, fmt.Errorf("read the payout of %.80q: %w", submissionID, err)
	}
	return found[0], nil
}

// PayoutsToFinalize reads up to limit payouts that a block up to the final one paid or deferred and
// that are not final yet, in the order of the chain, after a position: a block and the number of a
// payout.
func (db *DB) PayoutsToFinalize(ctx context.Context, final uint64, after onchain.Place, limit int) ([]Payout, error) {
	return read(ctx, db, func(r reader) ([]Payout, error) {
		return r.payouts(selectPayoutsToFinalize, int64(final), int64(after.Block), int64(after.Index), limit)
	})
}

// FinalizePayouts makes payouts of one mission paid or deferred, if their block is still the one
// that was read, and returns them.
func (tx *Tx) FinalizePayouts(draftID string, read []Payout) (final []Payout, err error) {
	blocks := make(map[uint32]uint64, len(read))
	slots := make([]uint64, len(read))
	for i, payout := range read {
		blocks[payout.Slot], slots[i] = payout.Block, uint64(payout.Slot)
	}
	err = tx.changePayouts(draftID, slots, func(p Payout) (Payout, bool) {
		if p.Status != sortie.PayoutSent || p.Block == 0 || p.Block != blocks[p.Slot] {
			return p, false
		}
		p.Status, p.Problem = sortie.PayoutPaid, ""
		if p.Credited {
			p.Status = sortie.PayoutDeferred
		}
		final = append(final, p)
		return p, true
	})
	return final, err
}

// PaymentNote is a payment of a slot that a block made.
type PaymentNote struct {
	Slot        uint64
	Block       uint64
	Transaction sortie.Hash
	Credited    bool // deferred
}

// NotePayments records that blocks paid or deferred slots of a mission, and returns the payouts
// that were not sent before. Slots that no submission has taken are ignored.
func (tx *Tx) NotePayments(draftID string, payments []PaymentNote) (sent []Payout, err error) {
	notes := make(map[uint32]PaymentNote, len(payments))
	slots := make([]uint64, len(payments))
	byBlock := make(map[uint64][]uint64)
	for i, payment := range payments {
		notes[uint32(payment.Slot)], slots[i] = payment, payment.Slot
		byBlock[payment.Block] = append(byBlock[payment.Block], payment.Slot)
	}
	err = tx.changePayouts(draftID, slots, func(p Payout) (Payout, bool) {
		note, found := notes[p.Slot]
		if !found || p.Status == sortie.PayoutPaid || p.Status == sortie.PayoutDeferred {
			return p, false
		}
		before := p.Status
		p.Status, p.Block, p.Transaction, p.Credited, p.Problem = sortie.PayoutSent, note.Block, note.Transaction, note.Credited, ""
		if before != sortie.PayoutSent {
			sent = append(sent, p)
		}
		return p, true
	})
	for block, paid := range byBlock {
		if err != nil {
			break
		}
		err = lookups(slotNumbers(paid), func(args []any) error {
			_, err := tx.exec(noteReceiptsPaid, append([]any{draftID, int64(block)}, args...)...)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("note payments of %s: %w", draftID, err)
	}
	return sent, nil
}

// RemovePayment reverts the payment of a slot by the block of an event, which a reorganization
// removed. A payout whose settlement has not ended stays in it; others wait for a new one.
func (tx *Tx) RemovePayment(chainID uint64, event *onchain.Event) error {
	var draftID string
	err := tx.one(selectPaidMission, []any{event.MissionKey.String(), int64(chainID), hexAddress(event.Factory)},
		func(row scanner) error { return row.Scan(&draftID) })
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	var open map[int64]bool
	if err == nil {
		open, err = tx.openSettlementsOf(draftID)
	}
	if err == nil {
		err = tx.changePayouts(draftID, []uint64{event.Payment.Slot}, func(p Payout) (Payout, bool) {
			if p.Block != event.Block || p.Transaction != event.Transaction {
				return p, false // another block paid it since
			}
			p.Block, p.Credited, p.Problem = 0, false, ""
			if p.Status = sortie.PayoutSent; !open[p.Settlement] {
				p = released(p)
			}
			return p, true
		})
	}
	if err == nil {
		_, err = tx.exec(removeReceiptPaid, draftID, int64(min(event.Payment.Slot, maxSlot)), int64(event.Block))
	}
	if err != nil {
		return fmt.Errorf("remove the payment of slot %d of mission %s: %w", event.Payment.Slot, event.MissionKey, err)
	}
	return nil
}

// maxSlot is greater than every slot and fits the column.
const maxSlot = 1 << 40

// FailPayout sets an open payout aside: no settlement carries it until [Tx.RetryPayout]. If it is
// paid or failed, it fails with [ErrConflict].
func (tx *Tx) FailPayout(was Payout, problem string) error {
	return tx.changePayout(was, func(p Payout) (Payout, bool) {
		if !p.Open() {
			return p, false
		}
		return setAside(p, problem), true
	})
}

func setAside(p Payout, problem string) Payout {
	p.Status, p.Settlement, p.Transaction, p.Problem = sortie.PayoutFailed, 0, sortie.Hash{}, problem
	return p
}

// RetryPayout queues a failed payout again. If it is not failed, RetryPayout fails with
// [ErrConflict].
func (tx *Tx) RetryPayout(was Payout) error {
	return tx.changePayout(was, func(p Payout) (Payout, bool) {
		if p.Status != sortie.PayoutFailed {
			return p, false
		}
		p.Status, p.Problem = sortie.PayoutQueued, ""
		return p, true
	})
}

func (tx *Tx) changePayout(was Payout, change func(Payout) (Payout, bool)) error {
	changed := false
	err := tx.changePayouts(was.DraftID, []uint64{uint64(was.Slot)}, func(p Payout) (Payout, bool) {
		var next Payout
		next, changed = change(p)
		return next, changed
	})
	if err == nil && !changed {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("change the payout of %s: %w", was.SubmissionID, err)
	}
	return nil
}

// FailUnpaid sets up to limit open payouts of a mission aside whose money has left the contract,
// and returns their number.
func (tx *Tx) FailUnpaid(draftID, problem string, limit int) (int, error) {
	if err := tx.holdMission(draftID); err != nil {
		return 0, err
	}
	open, err := tx.payouts(selectUnpaid, draftID, limit)
	if err != nil {
		return 0, fmt.Errorf("read unpaid payouts of %s: %w", draftID, err)
	}
	changes := make([]payoutChange, len(open))
	for i, p := range open {
		changes[i] = payoutChange{p, setAside(p, problem)}
	}
	return len(open), tx.writePayouts(draftID, changes)
}

// queuePayout adds the payout of a slot that was just taken. The transaction must have locked the
// mission's row.
func (tx *Tx) queuePayout(of Submission, slot int64) error {
	_, err := tx.exec(insertPayout, of.ID, of.DraftID, slot, hexAddress(of.Contributor), string(of.Mission.Token),
		of.Mission.Reward.String(), tx.Now.UnixMicro())
	return err
}

// payoutChange is a payout before and after a change.
type payoutChange struct{ was, to Payout }

// changePayouts applies a function to the payouts of a mission's slots. The transaction locks the
// mission's row first, so the payouts and the counters of a mission are always consistent.
func (tx *Tx) changePayouts(draftID string, slots []uint64, change func(Payout) (Payout, bool)) error {
	if err := tx.holdMission(draftID); err != nil {
		if errors.Is(err, ErrNotFound) {
			return nil // never published: no slot was taken
		}
		return err
	}
	var changes []payoutChange
	seen := make(map[uint32]bool, len(slots))
	err := lookups(slotNumbers(slots), func(args []any) error {
		found, err := tx.payouts(selectPayoutsOfSlots, append([]any{draftID}, args...)...)
		for _, was := range found {
			if seen[was.Slot] {
				continue
			}
			seen[was.Slot] = true
			if to, changed := change(was); changed {
				changes = append(changes, payoutChange{was, to})
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read payouts of %s: %w", draftID, err)
	}
	return tx.writePayouts(draftID, changes)
}

// holdMission prevents other transactions from changing the payouts of a mission. Not published:
// [ErrNotFound].
func (tx *Tx) holdMission(draftID string) error {
	changed, err := tx.exec(holdMission, draftID)
	if err == nil && changed == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("lock the payouts of %s: %w", draftID, err)
	}
	return nil
}

// payoutGoal holds the new values of payouts that change in the same way.
type payoutGoal struct {
	status      sortie.PayoutStatus
	settlement  int64
	transaction sortie.Hash
	block       uint64
	credited    bool
	problem     string
}

// writePayouts writes changes of payouts of one mission, which the transaction has locked, and its
// counters.
func (tx *Tx) writePayouts(draftID string, changes []payoutChange) error {
	if len(changes) == 0 {
		return nil
	}
	var order []payoutGoal
	groups := make(map[payoutGoal][]string)
	var add payoutCounts
	for _, change := range changes {
		to := change.to
		goal := payoutGoal{to.Status, to.Settlement, to.Transaction, to.Block, to.Credited, to.Problem}
		if groups[goal] == nil {
			order = append(order, goal)
		}
		groups[goal] = append(groups[goal], to.SubmissionID)
		add.count(&change.to, 1)
		add.count(&change.was, -1)
	}
	for _, goal := range order {
		err := lookups(groups[goal], func(args []any) error {
			_, err := tx.exec(updatePayouts, append([]any{string(goal.status), nullable(uint64(goal.settlement)),
				nullableHash(goal.transaction), nullable(goal.block), goal.credited, goal.problem, tx.Now.UnixMicro()}, args...)...)
			return err
		})
		if err != nil {
			return fmt.Errorf("change payouts of %s: %w", draftID, err)
		}
	}
	if add == (payoutCounts{}) {
		return nil
	}
	_, err := tx.exec(addToPayoutCounts, draftID, add.waiting, add.paid, add.deferred, add.failed, tx.Now.UnixMicro())
	if err != nil {
		return fmt.Errorf("count payouts of %s: %w", draftID, err)
	}
	return nil
}

// payoutCounts are the counters of payouts in a mission's row.
type payoutCounts struct{ waiting, paid, deferred, failed int64 }

func (c *payoutCounts) count(p *Payout, by int64) {
	switch {
	case p.waits():
		c.waiting += by
	case p.Status == sortie.PayoutPaid:
		c.paid += by
	case p.Status == sortie.PayoutDeferred:
		c.deferred += by
	case p.Status == sortie.PayoutFailed:
		c.failed += by
	}
}

func (r reader) payouts(query string, args ...any) (found []Payout, err error) {
	err = r.each(query, args, func(row scanner) error {
		payout, err := scanPayout(row)
		found = append(found, payout)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read payouts: %w", err)
	}
	return found, nil
}

const (
	payoutColumns = `seq, submission_id, draft_id, slot, recipient, token, amount, status, settlement_id, transaction_hash, block_number,
	credited, problem, queued_at, updated_at`
	selectUnpaid = `SELECT ` + payoutColumns + ` FROM payouts
WHERE draft_id = $1 AND block_number IS NULL AND status IN ('queued', 'sent') ORDER BY slot LIMIT $2 + 0`

	selectPaidMission = `SELECT fundings.draft_id FROM fundings JOIN drafts ON drafts.draft_id = fundings.draft_id
WHERE fundings.mission_key = $1 AND fundings.chain_id = $2 AND drafts.factory_address = $3`
	removeReceiptPaid = `UPDATE submissions SET paid_block = NULL WHERE draft_id = $1 AND slot = $2 AND paid_block = $3`
)

var (
	insertPayout = preparedWrite(`INSERT INTO payouts (submission_id, draft_id, slot, recipient, token, amount, status, queued_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, 'queued', $7, $7)`)
	holdMission       = preparedWrite(`UPDATE mission_slots SET failed = failed WHERE draft_id = $1`)
	addToPayoutCounts = preparedWrite(`UPDATE mission_slots SET waiting = waiting + $2, paid = paid + $3, deferred = deferred + $4, failed = failed + $5,
	waiting_since = CASE WHEN waiting + $2 > 0 THEN COALESCE(waiting_since, $6) END,
	closing_at = CASE WHEN $3 + $4 < 0 THEN NULL ELSE closing_at END
WHERE draft_id = $1`)

	selectPayout            = preparedRead(`SELECT ` + payoutColumns + ` FROM payouts WHERE submission_id = $1`)
	selectPayoutsToFinalize = preparedRead(`SELECT ` + payoutColumns + ` FROM payouts
WHERE status = 'sent' AND block_number IS NOT NULL AND block_number <= $1 AND (block_number, seq) > ($2, $3)
ORDER BY block_number, seq LIMIT $4 + 0`)
)

var (
	selectPayoutsOfSlots = preparedWrite(`SELECT ` + payoutColumns + ` FROM payouts WHERE draft_id = $1 AND slot IN (` + placeholders(2, lookupSize) + `)`)
	updatePayouts        = preparedWrite(`UPDATE payouts SET status = $1, settlement_id = $2, transaction_hash = $3, block_number = $4, credited = $5,
	problem = $6, updated_at = $7
WHERE submission_id IN (` + placeholders(8, lookupSize) + `)`)

	// The receipt of a slot that is paid is not signed again.
	noteReceiptsPaid = preparedWrite(`UPDATE submissions SET paid_block = $2
WHERE draft_id = $1 AND slot IS NOT NULL AND slot IN (` + placeholders(3, lookupSize) + `)`)
)

// scanPayout reads a row of payoutColumns.
func scanPayout(row scanner) (Payout, error) {
	var (
		p                   Payout
		recipient, amount   string
		settlement, block   sql.NullInt64
		transaction         sql.NullString
		slot                int64
		queuedAt, updatedAt int64
	)
	err := row.Scan(&p.Seq, &p.SubmissionID, &p.DraftID, &slot, &recipient, (*string)(&p.Token), &amount, (*string)(&p.Status), &settlement,
		&transaction, &block, &p.Credited, &p.Problem, &queuedAt, &updatedAt)
	if err != nil {
		return Payout{}, err
	}
	p.Slot, p.Settlement, p.Block = uint32(slot), settlement.Int64, uint64(block.Int64)
	p.QueuedAt, p.UpdatedAt = microTime(queuedAt), microTime(updatedAt)
	err = errors.Join(parse(&p.Recipient, recipient, sortie.ParseAddress), parse(&p.Amount, amount, parseInteger),
		parseOptionalHash(&p.Transaction, transaction))
	if err != nil {
		return Payout{}, fmt.Errorf("payout of %s: %w", p.SubmissionID, err)
	}
	return p, nil
}
