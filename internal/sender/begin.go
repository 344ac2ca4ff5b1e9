package sender

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/foreign"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// kindFill is the kind of intents that only use a nonce.
const kindFill = "fill-nonce"

// beginNew assigns nonces to queued intents while the window has room.
func (s *Sender) beginNew(ctx context.Context, lease store.Lease, r *tick) error {
	room := window - len(r.waiting())
	if r.full {
		room = 0 // intents that were not read may hold the next nonce
	}
	for _, p := range r.intents {
		if p.Status != store.IntentQueued || s.state.rests(p.Intent, r.now) {
			continue
		}
		if room <= 0 || s.isPoor(r) {
			break
		}
		begun, err := s.begin(ctx, lease, r, p)
		if err != nil {
			return err
		}
		if begun {
			room--
		}
	}
	return nil
}

// isPoor reports whether the balance was too low a moment ago. It saves signatures for calls that
// cannot be paid.
func (s *Sender) isPoor(r *tick) bool {
	if s.state.poor == "" {
		return false
	}
	s.status.alarm(AlarmBalanceLow, s.state.poor)
	return r.now.Before(s.state.poorUntil)
}

// begin makes the first transaction of an intent with a new nonce. A problem of this intent is
// stored with it and does not stop the others.
func (s *Sender) begin(ctx context.Context, lease store.Lease, r *tick, p *txIntent) (begun bool, err error) {
	to, data, err := s.prepare(ctx, p.Intent)
	if errors.Is(err, ErrAlreadyDone) {
		return false, s.end(ctx, lease, p)
	}
	var gas uint64
	if err == nil {
		gas, err = s.estimate(ctx, r.view.node, to, data)
	}
	if err != nil && ctx.Err() != nil {
		return false, err
	}
	if err != nil {
		return false, s.postpone(ctx, lease, r, p, err)
	}
	price := r.view.market.offer(s.config.MaxFeePerGas)
	if missing := s.missingBalance(r, gas, price); missing != nil {
		s.state.poor = fmt.Sprintf("%s has %s, which may be %s short of what its transactions cost: send it more",
			s.config.Signer.Address(), chain.FormatEther(r.view.balance), chain.FormatEther(missing))
		s.state.poorUntil = r.now.Add(poorFor)
		s.status.alarm(AlarmBalanceLow, s.state.poor)
		return false, nil
	}
	s.state.poor = ""
	nonce, err := s.freeNonce(ctx, r)
	if err != nil {
		return false, err
	}
	err = s.attempt(ctx, lease, r, p, s.transaction(nonce, gas, to, data, price))
	var unsigned *signError
	if errors.As(err, &unsigned) {
		s.status.alarm(AlarmSignerFails, err.Error())
		return false, s.postpone(ctx, lease, r, p, err)
	}
	return err == nil, err
}

func (s *Sender) prepare(ctx context.Context, intent store.Intent) (common.Address, []byte, error) {
	if intent.Kind == kindFill {
		return common.Address{}, nil, ErrAlreadyDone // its nonce was used
	}
	prepare, found := s.config.Prepare[intent.Kind]
	if !found {
		return common.Address{}, nil, fmt.Errorf("this program does not know how to %q: run the version that asked for it", intent.Kind)
	}
	to, data, err := prepare(ctx, intent)
	return common.Address(to), data, err
}

// estimate returns the gas of a call with a margin.
func (s *Sender) estimate(ctx context.Context, node *chain.Node, to common.Address, data []byte) (uint64, error) {
	gas, err := node.EstimateGas(ctx, ethereum.CallMsg{From: s.address, To: &to, Data: data})
	if err != nil {
		return 0, fmt.Errorf("estimate gas: %w", node.Redact(chain.Explain(err)))
	}
	if gas > s.config.MaxGas || chain.WithGasMargin(gas, data) > s.config.MaxGas {
		err := fmt.Errorf("the node asks for %d gas and the limit is %d: nothing this service sends needs as much", gas, s.config.MaxGas)
		s.status.alarm(AlarmGasAboveLimit, err.Error())
		return 0, err
	}
	return chain.WithGasMargin(gas, data), nil
}

// missingBalance is what the balance lacks for all waiting transactions and one more; nil: it is
// enough.
func (s *Sender) missingBalance(r *tick, gas uint64, price fees) *big.Int {
	need := new(big.Int).Mul(price.cap, new(big.Int).SetUint64(gas))
	for _, p := range r.waiting() {
		var tx types.Transaction
		if err := tx.UnmarshalBinary(p.newest().Raw); err == nil {
			need.Add(need, tx.Cost())
		}
	}
	if need.Sub(need, r.view.balance).Sign() <= 0 {
		return nil
	}
	return need
}

// freeNonce returns the nonce after all known ones. If the chain has used more, on a first start or
// because the key is used elsewhere, enough nodes must agree: a transaction with a too high nonce
// would wait forever.
func (s *Sender) freeNonce(ctx context.Context, r *tick) (uint64, error) {
	next := s.state.nextNonce
	for _, p := range r.intents {
		for _, attempt := range p.Attempts {
			if attempt.Sender == p.Sender { // other senders have their own nonces
				next = max(next, attempt.Nonce+1)
			}
		}
	}
	if !s.state.counted || r.view.nonce > next {
		agreed, err := s.nonceAt(ctx, r.view.head)
		if err != nil {
			return 0, err
		}
		if s.state.counted && agreed > next {
			s.status.alarm(AlarmReplaced, fmt.Sprintf("nonces up to %d were used by transactions that this service did not send: is its key used elsewhere?", agreed-1))
		}
		next = max(next, agreed)
		s.state.counted = true
	}
	s.state.nextNonce = next
	return next, nil
}

// nonceAt reads the account's nonce at a block, by quorum.
func (s *Sender) nonceAt(ctx context.Context, block onchain.Block) (uint64, error) {
	nonce, err := chain.Quorum(ctx, s.config.Nodes, func(ctx context.Context, node *chain.Node) (uint64, error) {
		nonce, err := node.NonceAtHash(ctx, s.address, common.Hash(block.Hash))
		if err != nil {
			return 0, node.Redact(err)
		}
		return nonce, nil
	})
	if err != nil {
		err = fmt.Errorf("read the nonce of %s at block %d: %w", s.config.Signer.Address(), block.Number, err)
		s.status.doubt(err)
		return 0, err
	}
	return nonce, nil
}

// closeGap fills an unused nonce below one that waits. A gap needs a reorganization of another
// program's transaction with this key, or of final blocks.
func (s *Sender) closeGap(ctx context.Context, lease store.Lease, r *tick) error {
	nonce, found := r.gap()
	if !s.state.gapLasts(nonce, found, r.now) || r.full {
		return nil
	}
	agreed, err := s.nonceAt(ctx, r.view.head)
	if err != nil || agreed > nonce {
		return err
	}
	s.status.alarm(AlarmNonceGap, fmt.Sprintf("nonce %d is free and higher ones wait: it is used up", nonce))
	gas, err := s.estimate(ctx, r.view.node, s.address, nil)
	if err != nil {
		return fmt.Errorf("fill nonce %d: %w", nonce, err)
	}
	p := &txIntent{Intent: store.Intent{Kind: kindFill, Subject: strconv.FormatUint(nonce, 10), CreatedAt: r.now}}
	price := r.view.market.offer(s.config.MaxFeePerGas)
	if err := s.attempt(ctx, lease, r, p, s.transaction(nonce, gas, s.address, nil, price)); err != nil {
		return fmt.Errorf("fill nonce %d: %w", nonce, err)
	}
	r.intents = append(r.intents, p)
	return nil
}

// gap returns the lowest unused nonce without an intent, below one with an intent.
func (r *tick) gap() (uint64, bool) {
	held := make(map[uint64]bool)
	highest := uint64(0)
	for _, p := range r.intents {
		if p.Nonce != nil {
			held[*p.Nonce] = true
			highest = max(highest, *p.Nonce)
		}
	}
	for nonce := r.view.nonce; nonce < highest; nonce++ {
		if !held[nonce] {
			return nonce, true
		}
	}
	return 0, false
}

// end ends an intent that needs no transaction.
func (s *Sender) end(ctx context.Context, lease store.Lease, p *txIntent) error {
	next := p.Intent
	next.Status, next.Problem = store.IntentVoid, ErrAlreadyDone.Error()
	return s.move(ctx, lease, p, next)
}

// postpone stores the problem of an intent and retries it later.
func (s *Sender) postpone(ctx context.Context, lease store.Lease, r *tick, p *txIntent, problem error) error {
	if errors.Is(problem, ErrHeld) {
		s.state.restBriefly(p.ID, r.now)
		return nil
	}
	s.state.rest(p.ID, r.now)
	next := p.Intent
	next.Problem = foreign.Line(problem.Error(), foreign.MaxMessage)
	if next.Problem == p.Problem {
		return nil
	}
	return s.move(ctx, lease, p, next)
}

func (s *Sender) move(ctx context.Context, lease store.Lease, p *txIntent, next store.Intent) error {
	if err := s.write(ctx, lease, func(tx *store.Tx) error { return tx.MoveIntent(p.Intent, next) }); err != nil {
		return fmt.Errorf("move %s %s from %s to %s: %w", p.Kind, p.Subject, p.Status, next.Status, err)
	}
	p.Intent = next
	return nil
}
