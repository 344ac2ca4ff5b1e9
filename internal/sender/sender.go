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
	pollInterval     = time.Second      // between steps
	maxPause         = 15 * time.Second // between steps that fail
	rebroadcastAfter = 6 * time.Second  // a transaction may have been dropped
	bumpAfter        = 30 * time.Second // times the number of attempts: the first transaction in line gets a higher price
	stuckAfter       = 10 * time.Minute // the first transaction in line is not mined: an alarm
	overdueAfter     = 30 * time.Minute // an intent is not mined for any reason: an alarm
	gapAfter         = time.Minute      // an unused nonce below a used one is filled
)

// DefaultMaxGas is more than any transaction of the service needs: settling a hundred payments
// takes less than four million.
const DefaultMaxGas = 6_000_000

// DefaultMaxFeePerGas is the default of [Config].MaxFeePerGas.
func DefaultMaxFeePerGas() *big.Int { return big.NewInt(500 * params.GWei) }

// ErrAlreadyDone is returned by a [Prepare] if the chain already has the effect of the intent, from
// any transaction. The intent ends. The follower reports the effect, and a reorganization of it.
var ErrAlreadyDone = errors.New("the chain already has the effect")

// ErrHeld is returned by a [Prepare] if the operator holds the intent. It is prepared again soon,
// and raises no alarm.
var ErrHeld = errors.New("held back by the operator")

// Prepare returns the call that carries out an intent. It is called for every nonce of the intent.
// After an error other than [ErrAlreadyDone] the intent stays queued and is prepared again later.
type Prepare = func(ctx context.Context, intent store.Intent) (to sortie.Address, data []byte, err error)

// Config configures a [Sender].
type Config struct {
	Nodes        *chain.Nodes
	Store        *store.DB
	Signer       chain.TransactionSigner
	ChainID      uint64
	MaxFeePerGas *big.Int           // in wei; nil: [DefaultMaxFeePerGas]
	MaxGas       uint64             // of one transaction; 0: [DefaultMaxGas]
	MinBalance   *big.Int           // in wei; a lower balance is an alarm; nil or 0: no alarm
	Prepare      map[string]Prepare // by kind of intent
	// Halted reports whether an incident halts the service. Then nothing is signed or sent. nil:
	// never.
	Halted func(ctx context.Context) (bool, error)
	// Final returns the newest final block. The nonce of a transaction belongs to its intent until
	// its block is final.
	Final  func() uint64
	Clock  func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: slog.Default()
}

// Sender carries out intents: it makes transactions, sends them, and follows each until it is
// final. Each key has one sender at a time, which holds the key's lease.
//
// It is safe because
//   - An intent and each signed transaction are stored before the transaction is sent.
//   - A nonce belongs to one intent until a transaction with it is final: one attempt can be mined.
//   - An intent gets a new nonce only if its nonce was finally used without its effect.
//   - Receipts and the account's nonce at the same block decide, and for finality a quorum.
//   - Every write checks the lease.
type Sender struct {
	config  Config
	address common.Address
	wake    chan struct{}
	state   state
	status  monitor

	successor  sortie.Address    // only for a former sender: the account that takes over its intents
	interval   time.Duration     // between steps
	checkpoint func(point) error // tests stop the sender at it
}

// New returns a sender for the signer's account.
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

// LeaseName is the name of the lease of an account's sender.
func LeaseName(chainID uint64, account sortie.Address) string {
	return fmt.Sprintf("sender:%d:%s", chainID, account)
}

// Wake makes Run do a step now.
func (s *Sender) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // a signal is pending
	}
}

// Run works until ctx ends, or until the lease is lost: then it returns [leases.ErrLost]. Other
// failures are retried. A former sender also ends when it has no active intents.
func (s *Sender) Run(ctx context.Context, lease store.Lease) error {
	s.state = newState() // another process may have sent transactions
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

// Step reads the chain and the intents once, and does what is due.
func (s *Sender) Step(ctx context.Context, lease store.Lease) error {
	s.status.begin()
	current, err := s.load(ctx)
	switch {
	case err != nil:
	case len(current.intents) > 0:
		err = s.work(ctx, lease, current)
	default:
		s.readBalance(ctx, current)
	}
	s.watchGas(ctx, current)
	s.status.end(current, err, s.config.Logger)
	return err
}

// tick is the work of one step.
type tick struct {
	now     time.Time
	final   uint64      // the newest final block
	intents []*txIntent // ordered by nonce, then those without by age
	full    bool        // there are more mined intents than one step reads
	view    view
}

// txIntent is an intent with its observation in this step.
type txIntent struct {
	store.Intent
	observation
}

// load reads the active intents. Each status has its own limit.
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

// write runs a transaction that fails if the lease was lost.
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

// point is a moment at which tests stop a sender.
type point string

const (
	pointSigned   point = "signed"   // a transaction is signed and not stored
	pointStored   point = "stored"   // it is stored and not sent
	pointSent     point = "sent"     // it is sent
	pointObserved point = "observed" // outcomes are known and not stored
)
