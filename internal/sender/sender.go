// Package sender carries out intents: it makes transactions of them, sends those, and follows each
// until its block is final.
package sender

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/leases"
	"github.com/sortie-labs/sortie/internal/store"
)

const (
	window           = 8                // transactions that may wait to be mined at once
	pollInterval     = time.Second      // between looks
	maxPause         = 15 * time.Second // between looks that fail
	rebroadcastAfter = 6 * time.Second  // a transaction may have been dropped
	bumpAfter        = 30 * time.Second // the first transaction in line is not mined at this price; times its attempts
	stuckAfter       = 10 * time.Minute // the first in line is not mined at all: an operator should know
	overdueAfter     = 30 * time.Minute // an intent is not mined, for whatever reason: likewise
	gapAfter         = time.Minute      // a nonce that nobody holds does not come back by itself
)

// DefaultMaxGas is more than anything the service sends needs: settling a hundred payments takes
// under four million.
const DefaultMaxGas = 6_000_000

// DefaultMaxFeePerGas is the most that is paid for a unit of gas where nothing else is configured.
func DefaultMaxFeePerGas() *big.Int { return big.NewInt(500 * params.GWei) }

// ErrAlreadyDone is what a [Prepare] says when the chain has the intent's effect, whoever brought
// it about. The intent ends then; what brought it about is the follower's to report, and to take
// back after a reorganization.
var ErrAlreadyDone = errors.New("the chain already has the effect")

// ErrHeld is what a [Prepare] says when the operator wants the intent to wait. It is asked again
// soon; waiting is no problem of the intent, and raises no alarm.
var ErrHeld = errors.New("held back by the operator")

// Prepare says which call carries an intent out. It is asked anew for every nonce the intent is
// given, and so sees what became of earlier tries. An error other than [ErrAlreadyDone] leaves the
// intent queued, to be prepared again later.
type Prepare = func(ctx context.Context, intent store.Intent) (to sortie.Address, data []byte, err error)

// Config says for whom and with what a [Sender] works.
type Config struct {
	Nodes        *chain.Nodes
	Store        *store.DB
	Signer       chain.TransactionSigner
	ChainID      uint64
	MaxFeePerGas *big.Int           // in wei; nil: [DefaultMaxFeePerGas]
	MaxGas       uint64             // of one transaction; 0: [DefaultMaxGas]
	MinBalance   *big.Int           // in wei, below which the account's balance is an alarm; nil or 0: none is
	Prepare      map[string]Prepare // by the kind of the intent
	// Halted tells whether an operator must look at something first. While it does, nothing is
	// signed or sent. nil: never.
	Halted func(ctx context.Context) (bool, error)
	// Final is the newest block that cannot be taken back. Until the block of a transaction is
	// final, its nonce stays with its intent, whatever a node says.
	Final  func() uint64
	Clock  func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: slog.Default()
}

// Sender carries out intents: it makes transactions of them, sends those, and stays with each until
// it is final on the chain. One key has one sender at a time, which holds the key's lease.
//
// What makes it safe:
//   - An intent and each of its signed transactions are stored before the transaction is sent. Whoever takes over, after a crash
//     or a lost lease, finds everything that may ever be mined.
//   - A nonce belongs to one intent until a transaction with it is final, so of all attempts of an intent one can be mined.
//     Only when its nonce was finally used up in vain, by a reverted transaction or by a stranger's, an intent gets another.
//   - What became of a transaction is decided by receipts and by the account's nonce at the same block, never by a node's answer
//     to sending it; and finally only where enough nodes agree ([Quorum]).
//   - Every write checks the lease.
type Sender struct {
	config  Config
	address common.Address
	wake    chan struct{}
	state   state
	status  monitor

	successor  sortie.Address    // zero, except for a sender without a key: who gets what the account did not finish
	interval   time.Duration     // between looks
	checkpoint func(point) error // tests abandon the sender at it
}

// New makes a sender of transactions of the signer's account.
func New(config Config) *Sender {
	if config.MaxFeePerGas == nil {
		config.MaxFeePerGas = DefaultMaxFeePerGas()
	}
	if config.MaxGas == 0 {
		config.MaxGas = DefaultMaxGas
	}
	if config.Halted == nil {
		config.Halted = func(context.Context) (bool, error) { return false, nil }
	}
	if config.Clock == nil {
		config.Clock = time.Now
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	return &Sender{
		config:     config,
		address:    common.Address(config.Signer.Address()),
		wake:       make(chan struct{}, 1),
		state:      newState(),
		interval:   pollInterval,
		checkpoint: func(point) error { return nil },
	}
}

// LeaseName is the name of the lease that the sender of an account holds.
func LeaseName(chainID uint64, account sortie.Address) string {
	return fmt.Sprintf("sender:%d:%s", chainID, account)
}

// Wake lets a running sender look at once: there is something new to send.
func (s *Sender) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Run works until ctx ends, or until the lease is lost: then it fails with [ErrLeaseLost].
// Everything else that goes wrong is tried again. That of a former sender also ends when nothing of
// its account is left to do.
func (s *Sender) Run(ctx context.Context, lease store.Lease) error {
	s.state = newState() // somebody else may have sent since
	pause := s.interval
	for {
		err := s.Step(ctx, lease)
		switch {
		case ctx.Err() != nil, err == nil && s.isFormer() && s.Status().Active() == 0:
			return nil
		case errors.Is(err, leases.ErrLost):
			return err
		case err != nil:
			pause = min(2*pause, maxPause)
			s.config.Logger.Warn("sender could not work", "error", err, "again_in", pause)
		default:
			pause = s.interval
		}
		timer := time.NewTimer(pause - rand.N(pause/4))
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Step looks once at the chain and at the intents, and does what can be done now.
func (s *Sender) Step(ctx context.Context, lease store.Lease) error {
	s.status.begin()
	round, err := s.load(ctx)
	switch {
	case err != nil:
	case len(round.intents) > 0:
		err = s.work(ctx, lease, round)
	default:
		s.readBalance(ctx, round)
	}
	s.watchGas(ctx, round)
	s.status.end(round, err, s.config.Logger)
	return err
}

// tick is the work of one step.
type tick struct {
	now     time.Time
	final   uint64      // the newest block that cannot be taken back
	intents []*txIntent // in the order of their nonces, then those without in the order of their age
	full    bool        // there are more mined intents than one step looks at
	view    view
}

// txIntent is an intent in one step, with what became of it so far.
type txIntent struct {
	store.Intent
	observation
}

// load reads the intents that are not over. Each status is read for itself, so that many of one do
// not hide the others.
func (s *Sender) load(ctx context.Context) (*tick, error) {
	r := &tick{now: s.config.Clock(), final: s.config.Final()}
	for _, status := range []store.IntentStatus{store.IntentMined, store.IntentSent, store.IntentQueued} {
		intents, err := s.config.Store.Intents(ctx, s.config.ChainID, s.config.Signer.Address(), status)
		if err != nil {
			return r, fmt.Errorf("read %s intents: %w", status, err)
		}
		for _, intent := range intents {
			r.intents = append(r.intents, &txIntent{Intent: intent})
		}
		r.full = r.full || (status == store.IntentMined && len(intents) >= store.MaxIntents)
	}
	return r, nil
}

func (s *Sender) work(ctx context.Context, lease store.Lease, r *tick) error {
	if err := s.readChain(ctx, r); err != nil {
		return err
	}
	if err := s.observe(ctx, lease, r); err != nil {
		return err
	}
	s.state.forget(r)
	halted, err := s.config.Halted(ctx)
	if err != nil {
		return fmt.Errorf("ask whether to halt: %w", err)
	}
	if halted {
		s.status.alarm(AlarmHalted, "nothing is sent until an operator clears the incident")
		return nil
	}
	if s.isFormer() {
		return s.reassign(ctx, lease, r)
	}
	if err := s.keepAlive(ctx, lease, r); err != nil {
		return err
	}
	if err := s.closeGap(ctx, lease, r); err != nil {
		return err
	}
	return s.beginNew(ctx, lease, r)
}

// write runs a transaction that fails when the lease is no longer ours.
func (s *Sender) write(ctx context.Context, lease store.Lease, fn func(*store.Tx) error) error {
	return s.config.Store.Tx(ctx, func(tx *store.Tx) error {
		err := tx.CheckLease(lease)
		if errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("%w: %w", leases.ErrLost, err)
		}
		if err != nil {
			return err
		}
		return fn(tx)
	})
}

// point is a moment at which a sender may die.
type point string

const (
	pointSigned   point = "signed"   // a transaction is signed, and nobody knows of it
	pointStored   point = "stored"   // it is stored, and not sent
	pointSent     point = "sent"     // it is sent
	pointObserved point = "observed" // what became of transactions is known, and not stored
)
