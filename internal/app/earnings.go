package app

import (
	"context"
	"fmt"
	"math/big"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// Earnings returns what a contributor was paid and will be paid, by token.
func (a *App) Earnings(ctx context.Context, contributor sortie.Address) (sortie.Earnings, error) {
	stored, err := a.store.EarningsOf(ctx, contributor)
	if err != nil {
		return sortie.Earnings{}, storeError(err)
	}
	answer := sortie.Earnings{OK: true, Wallet: contributor, Tokens: []sortie.TokenEarnings{}, GeneratedAt: sortie.FormatTime(a.now())}
	for begin := 0; begin < len(stored); {
		end := begin
		for end < len(stored) && stored[end].Token == stored[begin].Token {
			end++
		}
		answer.Tokens = append(answer.Tokens, a.tokenEarnings(contributor, stored[begin:end]))
		begin = end
	}
	return answer, nil
}

// tokenEarnings sums up the payouts of a contributor in one token.
func (a *App) tokenEarnings(contributor sortie.Address, stored []store.Earning) sortie.TokenEarnings {
	token := stored[0].Token
	first := stored[0].FirstAt
	type sum struct {
		number int64
		amount big.Int
	}
	sums := make(map[sortie.PayoutStatus]*sum)
	for _, status := range []sortie.PayoutStatus{sortie.PayoutPaid, sortie.PayoutSent, sortie.PayoutDeferred, sortie.PayoutFailed} {
		sums[status] = new(sum)
	}
	for _, earned := range stored {
		if earned.FirstAt.Before(first) {
			first = earned.FirstAt
		}
		status := earned.Status
		if status == sortie.PayoutQueued {
			status = sortie.PayoutSent
		}
		if sum := sums[status]; sum != nil {
			sum.number += earned.Number
			sum.amount.Add(&sum.amount, earned.Amount)
		}
	}
	decimals := a.tokens[token].Decimals
	earned := func(status sortie.PayoutStatus) sortie.EarnedAmount {
		sum := sums[status]
		return sortie.EarnedAmount{Payouts: sum.number, BaseUnits: sum.amount.String(), Amount: sortie.FormatUnits(&sum.amount, decimals)}
	}
	shown := sortie.TokenEarnings{
		Token: token, Decimals: decimals, Since: sortie.FormatTime(first), Paid: earned(sortie.PayoutPaid), OnTheWay: earned(sortie.PayoutSent),
		Deferred: earned(sortie.PayoutDeferred), Failed: earned(sortie.PayoutFailed),
	}
	if shown.Deferred.Payouts > 0 {
		shown.Advice = fmt.Sprintf("The token refused transfers to %[1]s, so the contract holds them as a deferred credit. %[2]s "+
			"The service does not follow claims: deferred(%[3]s, %[1]s) of the contract is what is left.",
			contributor, claimAdvice(a.tokens[token].Address.String(), contributor.String(), a.domain.Factory), a.tokens[token].Address)
	}
	if shown.Failed.Payouts > 0 {
		if shown.Advice != "" {
			shown.Advice += " "
		}
		shown.Advice += "Failed payouts wait for the operator, who was told. As long as the money of their missions is in the contract, you can redeem their receipts yourself."
	}
	return shown
}

// claimAdvice explains how a deferred credit is claimed.
func claimAdvice(token, account string, factory sortie.Address) string {
	return fmt.Sprintf("Any wallet may claim it when the token accepts transfers to %[2]s again: sortie claim, or claimDeferred(%[1]s, %[2]s) of factory %[3]s.", token, account, factory)
}
