// Package app holds the use cases of the service: a creator creates a draft, the chain advances, a
// contributor submits a file, an operator decides. Each is one function that reads, decides with
// packages mission and verify, and writes in one transaction. Files are stored before a row refers
// to them, and read outside of transactions.
//
// [App] serves creators, contributors and the public, [Operators] serves operators, and [Ledger]
// records what the chain holds: the follower calls [Ledger.Advance] and [Ledger.Confirm]. The
// package knows no HTTP, no SQL, no keys and no nodes. Its errors are [sortie.Error] with a code;
// any other error is internal.
package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common/lru"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
	"github.com/sortie-labs/sortie/internal/verify"
)

// MaxUnfundedDrafts is how many drafts of one creator may wait for funding.
const MaxUnfundedDrafts = 1000

// Token is a reward token on the funding chain.
type Token struct {
	Address  sortie.Address
	Decimals int
}

// Config configures the use cases.
type Config struct {
	Store  *store.DB
	Issuer *funding.Issuer
	Domain sortie.Domain
	Tokens map[sortie.Token]Token
	Now    func() time.Time
	Logger *slog.Logger

	Queue         Queue            // nil: use cases that need a job fail
	Operators     []sortie.Address // wallets of the operators
	AutoApprove   bool             // approve every mission when its funding is confirmed
	Confirmations uint64           // blocks before a funding is reviewed; 0: [onchain.DefaultConfirmations]
	Sender        sortie.Address   // the account that pays for the service's own transactions

	OperatorLimits map[sortie.Token]*big.Int // base units that an operator may accept within an hour without an incident; no entry: no limit
	SecondOperator bool                      // above the limit a second operator must accept as well

	// TrustBlockTime compares the service's clock with the times of blocks. It must be false on a
	// development chain, whose time can jump.
	TrustBlockTime bool
	// DraftRetention is how long a draft may stay unfunded before it is removed; 0 keeps drafts.
	DraftRetention time.Duration

	Wake func() // makes the follower read the chain now; may be nil

	Media          *blob.Objects    // nil: the service takes no submissions
	Incoming       *blob.Incoming   // holds incomplete uploads; nil only if Media is
	Ingester       *ingest.Ingester // nil: this process checks no submissions
	Verification   *verify.Verifier // nil: a person decides about every submission
	AcceptanceHold time.Duration    // before an acceptance becomes final
	Reservations   ReservationLimits
	Settler        Settler                   // nil: receipts are not signed
	SettlerAddress sortie.Address            // of the settler's key; zero: receipts are never renewed
	SettlerRole    SettlerRole               // nil: receipts are never renewed
	PayoutInterval time.Duration             // that payouts of a mission wait to share a transaction
	PayoutCaps     map[sortie.Token]*big.Int // base units that are settled within an hour; no entry: no cap
	PaidSlots      PaidSlots                 // nil: payments are not checked in the contract
	Contract       ContractBooks             // nil: the books are not compared with the chain
	SolvencyEvery  time.Duration             // between comparisons of the books with the chain
	WakeSender     func()                    // makes the sender run now; may be nil
	Links          LinkBuilder               // of the links that the verification provider is sent
}

// Settler signs the settlement of one slot: the receipt of its contributor.
type Settler func(ctx context.Context, domain sortie.Domain, settlement sortie.Settlement) (sortie.Bytes, error)

// SettlerRole asks a contract whether a key may sign settlements. A quorum of nodes answers.
type SettlerRole func(ctx context.Context, factory, account sortie.Address) (bool, error)

// Queue adds jobs in a transaction: they exist if and only if it is committed.
type Queue interface {
	// Refund queues a call of [Ledger.StartRefund].
	Refund(tx *store.Tx, draftID string) error
	// Check queues a call of [App.CheckSubmission].
	Check(tx *store.Tx, submissionID string) error
	// Reconcile queues a comparison of the contract's state with the database and a call of
	// [Ledger.RecordReconcile].
	Reconcile(tx *store.Tx) error
}

// App runs the use cases of creators, contributors and the public, and serves media. It may be used
// by many goroutines.
type App struct{ *core }

// Ledger records what the chain holds and what follows from it: fundings, confirmations, refunds,
// settlements, receipts and the books. The follower, the sender and periodic work call it. It may
// be used by many goroutines.
type Ledger struct{ *core }

// Operators runs the use cases of operators. It may be used by many goroutines.
type Operators struct{ *core }

// Service holds the use cases, which share one state.
type Service struct {
	App       *App
	Ledger    *Ledger
	Operators *Operators
}

// core is the state that [App], [Ledger] and [Operators] share.
type core struct {
	store   *store.DB
	issuer  *funding.Issuer
	domain  sortie.Domain
	tokens  map[sortie.Token]Token
	now     func() time.Time
	log     *slog.Logger
	cursors cursorKey
	quotes  *lru.Cache[quoteKey, sortie.Quote]
	stuck   stuckCache

	queue         Queue
	operators     map[sortie.Address]bool
	autoApprove   bool
	confirmations uint64
	sender        sortie.Address
	retention     time.Duration
	wake          func()

	objects   *blob.Objects // nil: no submissions
	incoming  *blob.Incoming
	ingester  *ingest.Ingester
	verifier  *verify.Verifier
	hold      time.Duration
	reserves  ReservationLimits
	settle    Settler
	renewals  renewals
	settling  settling
	solvency  solvency
	limits    operatorLimits
	buildLink LinkBuilder
	links     linkRing
	verified  *verifiedCache
	outcomes  counters[Outcome]
	steps     counters[PayoutStep]
	clock     *clockWatch
}

// New prepares the use cases. It reads, or makes on the first start, the keys that sign cursors and
// links, and stores the factory: events of every factory in the database count.
func New(ctx context.Context, config Config) (*Service, error) {
	var fresh [32]byte
	_, _ = rand.Read(fresh[:]) // never fails
	var secret []byte
	err := config.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		if secret, err = tx.Setting("cursor-key", fresh[:]); err != nil {
			return err
		}
		if config.Settler != nil && !config.SettlerAddress.IsZero() {
			if err := tx.AddSettler(config.SettlerAddress); err != nil {
				return err
			}
		}
		return tx.AddFactory(config.Domain.ChainID, config.Domain.Factory)
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the use cases: %w", err)
	}
	config = config.withDefaults()
	operators := make(map[sortie.Address]bool, len(config.Operators))
	for _, operator := range config.Operators {
		operators[operator] = true
	}
	c := &core{
		store: config.Store, issuer: config.Issuer, domain: config.Domain, tokens: config.Tokens,
		now: config.Now, log: config.Logger, cursors: cursorKey(secret), quotes: newQuoteCache(cachedQuotes), verified: newVerifiedCache(),
		queue: config.Queue, operators: operators, autoApprove: config.AutoApprove, confirmations: config.Confirmations,
		sender: config.Sender, wake: config.Wake, retention: config.DraftRetention,
		objects: config.Media, incoming: config.Incoming, ingester: config.Ingester, verifier: config.Verification,
		clock: newClockWatch(config.Now, config.TrustBlockTime, config.Logger),
		hold:  config.AcceptanceHold, reserves: config.Reservations, settle: config.Settler, buildLink: config.Links,
		renewals: renewals{settler: config.SettlerAddress, holdsRole: config.SettlerRole},
		settling: settling{interval: config.PayoutInterval, paidSlots: config.PaidSlots, wake: config.WakeSender, caps: newPayoutCaps(config.PayoutCaps, config.Tokens)},
		solvency: solvency{contract: config.Contract, interval: config.SolvencyEvery, retryIn: contractWait, page: bookPageSize, recheck: recheckedBooks},
		limits:   operatorLimits{perHour: config.OperatorLimits, second: config.SecondOperator},
	}
	if err := c.prepareSubmissions(ctx); err != nil {
		return nil, fmt.Errorf("prepare the use cases: %w", err)
	}
	return &Service{App: &App{c}, Ledger: &Ledger{c}, Operators: &Operators{c}}, nil
}

// prepareSubmissions makes the first link key of a database, and slots for missions that are older
// than slots.
func (c *core) prepareSubmissions(ctx context.Context) error {
	if err := c.rotateLinkKeys(ctx); err != nil {
		return err
	}
	if err := c.publishOlder(ctx); err != nil {
		return fmt.Errorf("open published missions to contributors: %w", err)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Queue == nil {
		c.Queue = noQueue{}
	}
	if c.Confirmations == 0 {
		c.Confirmations = onchain.DefaultConfirmations
	}
	if c.Wake == nil {
		c.Wake = func() {}
	}
	if c.WakeSender == nil {
		c.WakeSender = func() {}
	}
	if c.Verification == nil {
		c.Verification = verify.New(verify.Config{})
	}
	return c
}

// noQueue refuses jobs: without its job a refund would never be sent.
type noQueue struct{}

var errNoQueue = errors.New("this process has no job queue")

func (noQueue) Refund(*store.Tx, string) error { return errNoQueue }
func (noQueue) Check(*store.Tx, string) error  { return errNoQueue }
func (noQueue) Reconcile(*store.Tx) error      { return errNoQueue }

// storeError turns an error of the store into an error for a client.
func storeError(err error) error {
	switch {
	case errors.Is(err, store.ErrOverloaded):
		return sortie.NewError(sortie.CodeServiceUnavailable, "too many writes are waiting; try again shortly").Because(err)
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrClosed):
		return sortie.NewError(sortie.CodeServiceUnavailable, "the database cannot be used now; try again, with the same idempotency key if you sent one").Because(err)
	default:
		return err
	}
}

func errNotFound() error {
	return sortie.NewError(sortie.CodeNotFound, "no mission with this id belongs to the wallet that signed the request; check both")
}
