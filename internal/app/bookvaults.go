package app

import (
	"context"
	"math/big"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// vaultKey names a token in a factory.
type vaultKey struct{ factory, token sortie.Address }

// vaultBooks are the sums of a vault.
type vaultBooks struct {
	onchain.Vault
	open, closed     int64
	sums             bookSums
	credits, balance *big.Int // nil: not read
}

func (c *bookCheck) vault(vault onchain.Vault) *vaultBooks {
	key := vaultKey{vault.Factory, vault.TokenAddress}
	known := c.vaults[key]
	if known == nil {
		known = &vaultBooks{Vault: vault, sums: newBookSums()}
		c.vaults[key] = known
		c.order = append(c.order, known)
	}
	return known
}

// addTotals adds the sums of the closed books and checks that they add up.
func (c *bookCheck) addTotals(ctx context.Context) error {
	totals, err := c.ledger.store.BookTotals(ctx, c.ledger.domain.ChainID)
	if err != nil {
		return err
	}
	for _, total := range totals {
		vault := c.vault(total.Vault)
		vault.closed = total.Missions
		vault.sums.add(bookSums{total.Funded, total.Paid, total.Deferred, new(big.Int), total.Refunded})
		out := new(big.Int).Add(total.Paid, total.Deferred)
		if out.Add(out, total.Refunded).Cmp(total.Funded) != 0 {
			c.found.add(sortie.BookMismatch{
				Factory: total.Factory, Token: total.Token, What: "total of closed missions: funded", Expected: out.String(), Found: total.Funded.String(),
			})
		}
	}
	return nil
}

// compareVaults compares the factories' balances with what they owe: the rest of missions and
// deferred credits. A factory may hold other missions, so its balance may be greater.
func (c *bookCheck) compareVaults(ctx context.Context) error {
	if len(c.order) == 0 {
		return nil
	}
	vaults := make([]onchain.Vault, len(c.order))
	for i, vault := range c.order {
		vaults[i] = vault.Vault
		vault.credits = new(big.Int)
	}
	if err := c.addCredits(ctx); err != nil {
		return err
	}
	var balances []*big.Int
	err := c.ask(ctx, func() (err error) {
		balances, err = c.ledger.solvency.contract.BalancesAt(ctx, c.block.Hash, vaults)
		return err
	})
	if err != nil {
		return err
	}
	for i, vault := range c.order {
		vault.balance = balances[i]
		if owed := vault.obligation(); balances[i].Cmp(owed) < 0 {
			c.found.add(sortie.BookMismatch{
				Factory: vault.Factory, Token: vault.Token, What: "balance of the factory", Expected: "at least " + owed.String(), Found: balances[i].String(),
			})
		}
	}
	return nil
}

func (v *vaultBooks) obligation() *big.Int { return new(big.Int).Add(v.sums.remaining, v.credits) }

// addCredits reads the deferred credits of all accounts that may have one.
func (c *bookCheck) addCredits(ctx context.Context) error {
	chainID := c.ledger.domain.ChainID
	for after := (onchain.CreditHolder{}); ; {
		holders, err := c.ledger.store.CreditHolders(ctx, chainID, after, bookPageSize)
		if err != nil || len(holders) == 0 {
			return err
		}
		after = holders[len(holders)-1]
		var credits []*big.Int
		err = c.ask(ctx, func() (err error) {
			credits, err = c.ledger.solvency.contract.CreditsAt(ctx, c.block.Hash, holders)
			return err
		})
		if err != nil {
			return err
		}
		var empty, filled []onchain.CreditHolder
		for i, holder := range holders {
			if vault := c.vaults[vaultKey{holder.Factory, holder.TokenAddress}]; vault != nil {
				vault.credits.Add(vault.credits, credits[i])
			}
			switch {
			case credits[i].Sign() == 0:
				empty = append(empty, holder)
			case holder.Empty:
				filled = append(filled, holder)
			}
		}
		if len(empty)+len(filled) == 0 {
			continue
		}
		err = c.ledger.store.Tx(ctx, func(tx *store.Tx) error {
			if err := tx.FillCreditHolders(chainID, filled); err != nil {
				return err
			}
			return tx.EmptyCreditHolders(chainID, c.block.Number, empty)
		})
		if err != nil {
			return err
		}
	}
}

func (v *vaultBooks) wire(decimals int) sortie.TokenBooks {
	shown := sortie.TokenBooks{
		Factory: v.Factory, Token: v.Token, TokenAddress: v.TokenAddress, Decimals: decimals, OpenMissions: v.open, ClosedMissions: v.closed, Database: v.sums.wire(),
	}
	if v.balance != nil && v.credits != nil {
		balance, credits, owed := v.balance.String(), v.credits.String(), v.obligation()
		obligation, covered := owed.String(), v.balance.Cmp(owed) >= 0
		shown.BalanceBaseUnits, shown.CreditsBaseUnits, shown.ObligationBaseUnits, shown.Covered = &balance, &credits, &obligation, &covered
	}
	return shown
}
