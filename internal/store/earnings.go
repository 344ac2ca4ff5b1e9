package store

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/sortie-labs/sortie"
)

// Earning is the sum of a contributor's payouts in a token with a status.
type Earning struct {
	Token   sortie.Token
	Status  sortie.PayoutStatus
	Number  int64
	Amount  *big.Int  // base units
	FirstAt time.Time // when the first of them was queued
}

// EarningsOf sums the payouts of a contributor by token and status, in one statement that reads
// only an index.
func (db *DB) EarningsOf(ctx context.Context, recipient sortie.Address) ([]Earning, error) {
	return read(ctx, db, func(r reader) (earnings []Earning, err error) {
		err = r.each(selectEarnings, []any{hexAddress(recipient)}, func(row scanner) error {
			var e Earning
			var amount string
			var first int64
			if err := row.Scan((*string)(&e.Token), (*string)(&e.Status), &amount, &e.Number, &first); err != nil {
				return err
			}
			each, err := parseInteger(amount)
			if err != nil {
				return err
			}
			e.Amount, e.FirstAt = each.Mul(each, big.NewInt(e.Number)), microTime(first)
			earnings = addEarning(earnings, e)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("sum the payouts of %s: %w", recipient, err)
		}
		return earnings, nil
	})
}

// addEarning adds payouts to the last sum if it has the same token and status, and appends them
// otherwise.
func addEarning(earnings []Earning, e Earning) []Earning {
	last := len(earnings) - 1
	if last < 0 || earnings[last].Token != e.Token || earnings[last].Status != e.Status {
		return append(earnings, e)
	}
	same := &earnings[last]
	same.Number += e.Number
	same.Amount.Add(same.Amount, e.Amount)
	if e.FirstAt.Before(same.FirstAt) {
		same.FirstAt = e.FirstAt
	}
	return earnings
}

// PaymentsOf reads up to limit payouts of a mission that a block paid or deferred, in the order of
// their slots, after one; -1: from the first.
func (db *DB) PaymentsOf(ctx context.Context, draftID string, afterSlot int64, limit int) ([]Payout, error) {
	return read(ctx, db, func(r reader) ([]Payout, error) {
		return r.payouts(selectPaymentsOf, draftID, afterSlot, limit)
	})
}

var (
	// The sums are computed in Go: they do not fit the integers of the engines.
	selectEarnings = preparedRead(`SELECT token, status, amount, COUNT(*), MIN(queued_at) FROM payouts WHERE recipient = $1
GROUP BY token, status, amount ORDER BY token, status, amount`)
	selectPaymentsOf = preparedRead(`SELECT ` + payoutColumns + ` FROM payouts
WHERE draft_id = $1 AND slot > $2 AND block_number IS NOT NULL ORDER BY slot LIMIT $3 + 0`)
)
