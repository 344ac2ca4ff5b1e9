package app

import (
	"math/big"
	"strings"
	"sync/atomic"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// payoutCaps bound what is settled within an hour.
type payoutCaps struct {
	perHour map[sortie.Token]*big.Int // base units; a token without an entry has no cap
	holds   map[sortie.Token]*atomic.Bool
}

func newPayoutCaps(perHour map[sortie.Token]*big.Int, tokens map[sortie.Token]Token) payoutCaps {
	caps := payoutCaps{perHour, make(map[sortie.Token]*atomic.Bool, len(tokens))}
	for token := range tokens {
		caps.holds[token] = new(atomic.Bool)
	}
	return caps
}

// HeldByCap reports, by token, whether payouts waited for the hourly cap when this process last
// made settlements.
func (l *Ledger) HeldByCap() map[sortie.Token]bool {
	held := make(map[sortie.Token]bool, len(l.settling.caps.holds))
	for token, holds := range l.settling.caps.holds {
		held[token] = holds.Load()
	}
	return held
}

// incidentPayoutCap does not halt: payouts wait for the hourly cap.
const incidentPayoutCap = "payout_cap"

// roomInHour is how many payouts of a mission its next settlement may carry below the hourly cap of
// their token. It opens an incident when some of them have to wait; held means that other payouts
// of the token must not overtake them.
func (tx *writeTx) roomInHour(waiting store.WaitingMission, token sortie.Token, draft store.Draft) (size int, held bool, err error) {
	limit := tx.core.settling.caps.perHour[token]
	if limit == nil {
		return waiting.Batch, false, nil
	}
	if draft.Reward.Cmp(limit) > 0 {
		return 0, false, tx.incident(incidentPayoutCap, false,
			"The reward of mission %s (draft %s) is %s, above what may be paid of the token within an hour, %s: none of its payouts is sent. Raise --%s to the reward or more, and restart.",
			draft.MissionID, draft.ID, tx.units(draft.Reward, token), tx.units(limit, token), capFlag(token))
	}
	settled, err := tx.HoldPayoutHour(waiting.DraftID, token)
	if err != nil {
		return 0, false, err
	}
	fits := new(big.Int).Div(settled.Sub(limit, settled), draft.Reward) // rounds down, also below 0
	switch {
	case fits.Sign() < 0:
		size = 0
	case fits.Cmp(big.NewInt(int64(waiting.Batch))) >= 0:
		return waiting.Batch, false, nil
	default:
		size = int(fits.Int64())
	}
	if size >= waiting.Waiting {
		return size, false, nil
	}
	return size, true, tx.incident(incidentPayoutCap, false,
		"Payouts in %s wait: settlements for about %s were made within an hour, and that is the cap. They continue by themselves as the hour passes. If so many are right, raise --%s and restart. If not, stop them (sortie payouts halt) and look at what was accepted.",
		token, tx.units(limit, token), capFlag(token))
}

// capFlag is the flag that sets the hourly cap of a token.
func capFlag(token sortie.Token) string {
	return "payout-cap-" + strings.ReplaceAll(strings.ToLower(string(token)), "_", "-")
}

func (tx *writeTx) units(baseUnits *big.Int, token sortie.Token) string {
	return sortie.FormatUnits(baseUnits, tx.core.tokens[token].Decimals) + " " + string(token)
}
