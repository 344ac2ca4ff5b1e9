package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/sortie-labs/sortie"
)

// HoldPayoutHour reads the sum of a token's settlements within the last hour, in base units. It
// locks the row until the transaction ends, so that concurrent transactions cannot together settle
// more than each of them read. It locks the mission's row first, as all counting does.
func (tx *Tx) HoldPayoutHour(draftID string, token sortie.Token) (*big.Int, error) {
	if err := tx.holdMission(draftID); err != nil {
		return nil, err
	}
	kept, err := tx.holdSpending(payoutsOf(token), payoutWindow)
	if err != nil {
		return nil, err
	}
	return kept.sum(), nil
}

func payoutsOf(token sortie.Token) string { return "payouts:" + string(token) }

// countSettled counts the payouts of a new settlement. The transaction must have locked the
// mission's row.
func (tx *Tx) countSettled(token sortie.Token, payouts []Payout) error {
	sum := new(big.Int)
	for _, payout := range payouts {
		sum.Add(sum, payout.Amount)
	}
	return tx.changeSpending(payoutsOf(token), payoutWindow, func(kept amounts) amounts {
		return payoutWindow.add(kept, tx.Now, sum)
	})
}

// uncountSettled subtracts the payouts that were removed from a settlement unpaid.
func (tx *Tx) uncountSettled(settlement Settlement, changes []payoutChange) error {
	sum := new(big.Int)
	for _, change := range changes {
		if change.was.Settlement == settlement.ID && change.to.Settlement == 0 {
			sum.Add(sum, change.was.Amount)
		}
	}
	if sum.Sign() == 0 {
		return nil
	}
	return tx.changeSpending(payoutsOf(settlement.Token), payoutWindow, func(kept amounts) amounts {
		return payoutWindow.take(kept, settlement.CreatedAt, sum)
	})
}

// GasCost is the recent cost of transactions on a chain.
type GasCost struct {
	Wei   *big.Int
	Since time.Time // when the first of them was counted; zero: none
}

func gasOf(chainID uint64) string { return fmt.Sprintf("gas:%d", chainID) }

// AddGasCost counts the cost of a transaction whose block is final, in wei.
func (tx *Tx) AddGasCost(chainID uint64, wei *big.Int) error {
	return tx.changeSpending(gasOf(chainID), gasWindow, func(kept amounts) amounts { return gasWindow.add(kept, tx.Now, wei) })
}

// GasCost reads the cost of transactions on a chain within the last three days.
func (db *DB) GasCost(ctx context.Context, chainID uint64) (GasCost, error) {
	return read(ctx, db, func(r reader) (cost GasCost, err error) {
		var kept amounts
		err = r.one(selectSpending, []any{gasOf(chainID)}, func(row scanner) error {
			var text []byte
			err := row.Scan(&text)
			if err == nil {
				kept, err = gasWindow.read(text, db.clock())
			}
			return err
		})
		if err != nil && !errors.Is(err, ErrNotFound) {
			return GasCost{}, fmt.Errorf("read the cost of transactions: %w", err)
		}
		if cost.Wei = kept.sum(); len(kept) > 0 {
			cost.Since = time.Unix(kept[0].Minute*60, 0).UTC()
		}
		return cost, nil
	})
}

// holdSpending reads the amounts of a name, and locks them until the transaction ends.
func (tx *Tx) holdSpending(name string, w window) (kept amounts, err error) {
	err = tx.one(holdSpending, []any{name}, func(row scanner) error {
		var text []byte
		err := row.Scan(&text)
		if err == nil {
			kept, err = w.read(text, tx.Now)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the amounts of %s: %w", name, err)
	}
	return kept, nil
}

func (tx *Tx) changeSpending(name string, w window, change func(amounts) amounts) error {
	kept, err := tx.holdSpending(name, w)
	if err != nil {
		return err
	}
	text, err := json.Marshal(change(kept))
	if err == nil {
		_, err = tx.exec(updateSpending, name, string(text))
	}
	if err != nil {
		return fmt.Errorf("count the amounts of %s: %w", name, err)
	}
	return nil
}

const (
	holdSpending = `INSERT INTO spending (name, amounts) VALUES ($1, '[]')
ON CONFLICT (name) DO UPDATE SET amounts = spending.amounts RETURNING amounts`
	updateSpending = `UPDATE spending SET amounts = $2 WHERE name = $1`
	selectSpending = `SELECT amounts FROM spending WHERE name = $1`
)
