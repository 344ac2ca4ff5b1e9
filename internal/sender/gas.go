package sender

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/params"

	"github.com/sortie-labs/sortie/internal/chain"
)

const (
	balanceEvery = time.Minute // between reads of the balance while idle
	gasCostEvery = time.Minute // between reads of the cost of transactions
	shortestPace = time.Hour   // shorter times give no useful rate
)

// DefaultMinBalance is the default balance below which there is an alarm: a twentieth of the
// chain's coin.
func DefaultMinBalance() *big.Int { return big.NewInt(params.Ether / 20) }

// readBalance reads the balance periodically while there is nothing to send. The follower reports
// unreachable nodes, so a failure is only logged.
func (s *Sender) readBalance(ctx context.Context, r *tick) {
	if s.isFormer() || r.now.Sub(s.state.balanceAt) < balanceEvery {
		return
	}
	if err := s.readChain(ctx, r); err != nil {
		s.state.balanceAt = r.now // retried after balanceEvery
		s.config.Logger.Debug("the sender's balance could not be read", "error", err)
	}
}

// watchGas shows the balance and how long it lasts, and raises an alarm if it is low.
func (s *Sender) watchGas(ctx context.Context, r *tick) {
	if s.isFormer() {
		return
	}
	if r.view.node != nil && r.view.balance != nil {
		s.state.balance, s.state.balanceAt = r.view.balance, r.now
	}
	if r.now.Sub(s.state.gasCostAt) >= gasCostEvery {
		if cost, err := s.config.Store.GasCost(ctx, s.config.ChainID); err == nil {
			s.state.gasCost, s.state.gasCostAt = cost, r.now
		}
	}
	balance := s.state.balance
	if balance == nil {
		return
	}
	s.status.current.Balance, s.status.current.DaysLeft = balance, s.daysLeft(balance, r.now)
	if least := s.config.MinBalance; least != nil && balance.Cmp(least) < 0 {
		s.status.alarm(AlarmGasLow, fmt.Sprintf("%s has %s, less than the configured minimum of %s: %s; send it more",
			s.config.Signer.Address(), chain.FormatEther(balance), chain.FormatEther(least), lasts(s.status.current.DaysLeft)))
	}
}

// daysLeft is how long a balance lasts at the recent rate.
func (s *Sender) daysLeft(balance *big.Int, now time.Time) *float64 {
	cost := s.state.gasCost
	if cost.Since.IsZero() || cost.Wei.Sign() == 0 {
		return nil
	}
	spans, _ := new(big.Rat).SetFrac(balance, cost.Wei).Float64()
	days := spans * max(now.Sub(cost.Since), shortestPace).Hours() / 24
	return &days
}

// lasts describes how long a balance lasts.
func lasts(days *float64) string {
	switch {
	case days == nil:
		return "nothing was sent lately, so how long it lasts is not known"
	case *days >= 10:
		return fmt.Sprintf("enough for about %.0f days at the present pace", *days)
	default:
		return fmt.Sprintf("enough for about %.1f days at the present pace", *days)
	}
}
