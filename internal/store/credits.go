package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// CreditedAccounts reads up to limit accounts, after one, that have a deferred payment of the
// mission.
func (db *DB) CreditedAccounts(ctx context.Context, draftID string, after sortie.Address, limit int) ([]sortie.Address, error) {
	return read(ctx, db, func(r reader) (accounts []sortie.Address, err error) {
		err = r.each(selectCredited, []any{draftID, hexAddress(after), limit}, func(row scanner) error {
			var text string
			if err := row.Scan(&text); err != nil {
				return err
			}
			account, err := sortie.ParseAddress(text)
			accounts = append(accounts, account)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the credited accounts of %s: %w", draftID, err)
		}
		return accounts, nil
	})
}

// AddCreditHolders stores accounts that may have a credit.
func (tx *Tx) AddCreditHolders(chainID uint64, holders []onchain.CreditHolder) error {
	for _, holder := range holders {
		if _, err := tx.exec(insertCreditHolder, int64(chainID), hexAddress(holder.Factory), hexAddress(holder.TokenAddress), hexAddress(holder.Account)); err != nil {
			return fmt.Errorf("add credit holder %s: %w", holder.Account, err)
		}
	}
	return nil
}

// EmptyCreditHolders records which accounts had no credit after a block, and deletes those that had
// none in a final block.
func (tx *Tx) EmptyCreditHolders(chainID, block uint64, empty []onchain.CreditHolder) error {
	for _, holder := range empty {
		if _, err := tx.exec(emptyCreditHolder, int64(chainID), hexAddress(holder.Factory), hexAddress(holder.TokenAddress), hexAddress(holder.Account), int64(block)); err != nil {
			return fmt.Errorf("record that %s has no credit: %w", holder.Account, err)
		}
	}
	if _, err := tx.exec(deleteEmptyCreditHolders, int64(chainID)); err != nil {
		return fmt.Errorf("delete accounts without a credit: %w", err)
	}
	return nil
}

// FillCreditHolders records that accounts have a credit.
func (tx *Tx) FillCreditHolders(chainID uint64, holders []onchain.CreditHolder) error {
	for _, holder := range holders {
		if _, err := tx.exec(fillCreditHolder, int64(chainID), hexAddress(holder.Factory), hexAddress(holder.TokenAddress), hexAddress(holder.Account)); err != nil {
			return fmt.Errorf("record that %s has a credit: %w", holder.Account, err)
		}
	}
	return nil
}

// CreditHolders reads up to limit accounts that may have a credit, after one.
func (db *DB) CreditHolders(ctx context.Context, chainID uint64, after onchain.CreditHolder, limit int) ([]onchain.CreditHolder, error) {
	return read(ctx, db, func(r reader) (holders []onchain.CreditHolder, err error) {
		args := []any{int64(chainID), hexAddress(after.Factory), hexAddress(after.TokenAddress), hexAddress(after.Account), limit}
		err = r.each(selectCreditHolders, args, func(row scanner) error {
			var factory, token, account string
			var holder onchain.CreditHolder
			if err := row.Scan(&factory, &token, &account, &holder.Empty); err != nil {
				return err
			}
			err := errors.Join(parse(&holder.Factory, factory, sortie.ParseAddress), parse(&holder.TokenAddress, token, sortie.ParseAddress),
				parse(&holder.Account, account, sortie.ParseAddress))
			holders = append(holders, holder)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the holders of credits: %w", err)
		}
		return holders, nil
	})
}

const (
	selectCredited = `SELECT DISTINCT recipient FROM payouts WHERE credited AND draft_id = $1 AND recipient > $2 ORDER BY recipient LIMIT $3 + 0`

	insertCreditHolder = `INSERT INTO credit_holders (chain_id, factory, token_address, account) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`
	emptyCreditHolder  = `UPDATE credit_holders SET empty_block = $5
WHERE chain_id = $1 AND factory = $2 AND token_address = $3 AND account = $4 AND empty_block IS NULL`
	fillCreditHolder = `UPDATE credit_holders SET empty_block = NULL
WHERE chain_id = $1 AND factory = $2 AND token_address = $3 AND account = $4 AND empty_block IS NOT NULL`
	deleteEmptyCreditHolders = `DELETE FROM credit_holders WHERE chain_id = $1 AND empty_block IS NOT NULL
	AND empty_block <= (SELECT final FROM chain_position WHERE chain_position.chain_id = $1)`

	selectCreditHolders = `SELECT factory, token_address, account, empty_block IS NOT NULL FROM credit_holders
WHERE chain_id = $1 AND (factory, token_address, account) > ($2, $3, $4) ORDER BY factory, token_address, account LIMIT $5 + 0`
)
