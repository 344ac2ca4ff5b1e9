package sender

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/store"
)

// waiting returns the intents with an unused nonce, in the order of nonces.
func (r *tick) waiting() (waiting []*txIntent) {
	for _, p := range r.intents {
		if p.Status == store.IntentSent && p.outcome == outcomeWaiting {
			waiting = append(waiting, p)
		}
	}
	slices.SortFunc(waiting, func(a, b *txIntent) int { return cmp.Compare(*a.Nonce, *b.Nonce) })
	return waiting
}

func (p *txIntent) newest() store.Attempt { return p.Attempts[len(p.Attempts)-1] }

// keepAlive sends transactions again that may have been dropped, at a higher price if theirs is too
// low.
func (s *Sender) keepAlive(ctx context.Context, lease store.Lease, r *tick) error {
	waiting := r.waiting()
	if len(waiting) > 0 {
		s.state.firstInLine(*waiting[0].Nonce, r.now)
	}
	for i, p := range waiting {
		newest := p.newest()
		if since := later(attemptsAt(p.Intent, *p.Nonce)[0].SentAt, s.state.lineMoved); i == 0 && r.now.Sub(since) > stuckAfter {
			s.status.alarm(AlarmStuck, fmt.Sprintf("%s %s waits since %s to be mined with nonce %d", p.Kind, p.Subject, sortie.FormatTime(since), *p.Nonce))
		}
		if s.priceIsTooLow(r, p, i == 0) {
			better, possible := fees{newest.FeeCap, newest.TipCap}.outbid(r.view.market, s.config.MaxFeePerGas)
			if possible {
				if err := s.bump(ctx, lease, r, p, better); err != nil {
					return err
				}
				continue
			}
			s.status.alarm(AlarmAtCap, fmt.Sprintf("%s %s: the most that may be paid, %s wei a unit of gas, is not enough now: wait, or raise it",
				p.Kind, p.Subject, s.config.MaxFeePerGas))
		}
		if r.now.Sub(s.state.broadcast[newest.Hash]) >= rebroadcastAfter {
			s.broadcast(ctx, r, p)
		}
	}
	return nil
}

// priceIsTooLow reports whether the newest attempt should be replaced at a higher price. Without a
// block only the first in line is replaced, because the others must wait for it. Each replacement
// waits longer than the last, so that a transaction that does not reach the miners does not become
// expensive.
func (s *Sender) priceIsTooLow(r *tick, p *txIntent, first bool) bool {
	newest := p.newest()
	if (fees{newest.FeeCap, newest.TipCap}).below(r.view.market) {
		return true
	}
	if s.state.outbid[p.ID] && r.now.Sub(newest.SentAt) >= rebroadcastAfter {
		return true
	}
	patience := bumpAfter * time.Duration(len(attemptsAt(p.Intent, *p.Nonce)))
	return first && r.now.Sub(later(newest.SentAt, s.state.lineMoved)) > patience
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s *Sender) bump(ctx context.Context, lease store.Lease, r *tick, p *txIntent, price fees) error {
	var last types.Transaction
	if err := last.UnmarshalBinary(p.newest().Raw); err != nil {
		return fmt.Errorf("read stored transaction %s: %w", p.newest().Hash, err)
	}
	s.config.Logger.Info("paying more", "kind", p.Kind, "subject", p.Subject, "nonce", *p.Nonce, "fee_cap", price.cap, "tip", price.tip)
	err := s.attempt(ctx, lease, r, p, s.transaction(last.Nonce(), last.Gas(), *last.To(), last.Data(), price))
	var unsigned *signError
	if errors.As(err, &unsigned) {
		s.status.alarm(AlarmSignerFails, err.Error())
		return nil // the attempt before stays valid
	}
	if err == nil {
		s.status.current.Bumps++
	}
	return err
}

func (s *Sender) transaction(nonce, gas uint64, to common.Address, data []byte, price fees) *types.Transaction {
	return types.NewTx(&types.DynamicFeeTx{
		ChainID: new(big.Int).SetUint64(s.config.ChainID), Nonce: nonce,
		GasTipCap: price.tip, GasFeeCap: price.cap, Gas: gas, To: &to, Data: data,
	})
}

// attempt signs a transaction, stores it, with its intent if that is new, and then sends it.
func (s *Sender) attempt(ctx context.Context, lease store.Lease, r *tick, p *txIntent, unsigned *types.Transaction) error {
	signed, err := s.sign(ctx, unsigned)
	if err != nil {
		return err
	}
	raw, err := signed.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encode transaction: %w", err)
	}
	if err := s.checkpoint(pointSigned); err != nil {
		return err
	}
	attempt := store.Attempt{
		Number: len(p.Attempts) + 1, Sender: s.config.Signer.Address(), Hash: sortie.Hash(signed.Hash()), Raw: raw, Nonce: signed.Nonce(),
		FeeCap: signed.GasFeeCap(), TipCap: signed.GasTipCap(), SentAt: r.now,
	}
	intent := p.Intent
	err = s.write(ctx, lease, func(tx *store.Tx) (err error) {
		if p.ID == 0 {
			if intent, _, err = tx.AddIntent(p.Kind, p.Subject, s.config.ChainID, s.config.Signer.Address()); err != nil {
				return err
			}
		}
		return tx.AddAttempt(intent.ID, attempt)
	})
	if err != nil {
		return fmt.Errorf("store transaction for %s %s: %w", p.Kind, p.Subject, err)
	}
	p.Intent = intent
	p.Attempts = append(p.Attempts, attempt)
	p.Status, p.Nonce, p.observation = store.IntentSent, &attempt.Nonce, observation{outcome: outcomeWaiting}
	s.state.observations[p.ID] = p.observation
	s.state.nextNonce = max(s.state.nextNonce, attempt.Nonce+1)
	delete(s.state.outbid, p.ID)
	s.status.current.Sends++
	if err := s.checkpoint(pointStored); err != nil {
		return err
	}
	s.config.Logger.Info("sending", "kind", p.Kind, "subject", p.Subject, "transaction", attempt.Hash, "nonce", attempt.Nonce, "attempt", attempt.Number)
	s.broadcast(ctx, r, p)
	return s.checkpoint(pointSent)
}

// signError says that a transaction could not be signed.
type signError struct{ err error }

func (e *signError) Error() string { return "sign transaction: " + e.err.Error() }
func (e *signError) Unwrap() error { return e.err }

// sign signs a transaction and checks that the signer returned the same transaction, signed by the
// account.
func (s *Sender) sign(ctx context.Context, unsigned *types.Transaction) (*types.Transaction, error) {
	signed, err := s.config.Signer.SignTransaction(ctx, s.config.ChainID, unsigned)
	if err != nil {
		return nil, &signError{err}
	}
	rules := types.LatestSignerForChainID(unsigned.ChainId())
	from, err := types.Sender(rules, signed)
	if err != nil || from != s.address || rules.Hash(signed) != rules.Hash(unsigned) {
		return nil, &signError{fmt.Errorf("the signer of %s signed something else or with another key", s.config.Signer.Address())}
	}
	return signed, nil
}

// broadcast sends the newest attempt to every node. The answers decide what to try next, never the
// outcome.
func (s *Sender) broadcast(ctx context.Context, r *tick, p *txIntent) {
	newest := p.newest()
	s.state.broadcast[newest.Hash] = r.now
	s.status.current.Broadcasts++
	answers := chain.Poll(ctx, s.config.Nodes, func(ctx context.Context, node *chain.Node) (struct{}, error) {
		return struct{}{}, node.SendRaw(ctx, newest.Raw)
	})
	for _, answer := range answers {
		switch meaning := readRefusal(answer.Err); meaning {
		case nodeHasIt, refusedNonceUsed, refusedNonceGap:
			continue
		case refusedReplacing, refusedPrice:
			s.state.outbid[p.ID] = true
		case refusedBalance:
			s.status.alarm(AlarmBalanceLow, fmt.Sprintf("%s has %s, too little for its transactions: send it more", s.config.Signer.Address(), chain.FormatEther(r.view.balance)))
		}
		s.config.Logger.Warn("transaction not taken", "transaction", newest.Hash, "nonce", newest.Nonce, "node", answer.Node.Name(), "error", answer.Err)
	}
}
