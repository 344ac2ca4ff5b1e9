// Package app holds the use cases of the service: what happens when somebody creates a draft, when
// the chain moves, when a contributor submits something, when an operator decides. Each is one
// function that reads, decides with packages mission and verify, and writes in one transaction.
// Files are put into the media store before a row points to them, and looked at outside of
// transactions.
//
// It knows no HTTP, no SQL, no keys and no nodes: package chain tells it what the chain holds
// ([App.Advance], [App.Deepen]). Its errors are [sortie.Error] with a code, or unplanned and
// therefore internal.
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

// Config is what the use cases work with.
type Config struct {
	Store  *store.DB
	Issuer *funding.Issuer
	Domain sortie.Domain
	Tokens map[sortie.Token]Token
	Now    func() time.Time
	Logger *slog.Logger

	Queue         Queue            // nil: this process does nothing that needs a job
	Operators     []sortie.Address // who may review and clear incidents
	AutoApprove   bool             // a confirmed funding is its own approval
	Confirmations uint64           // blocks after which a funding is reviewed; 0: [onchain.DefaultConfirmations]
	Sender        sortie.Address   // the account that pays for the service's own transactions

	OperatorLimits map[sortie.Token]*big.Int // base units that an operator accepts within an hour without an alarm; none: no limit
	SecondOperator bool                      // above the limit a second operator must accept, too

	// TrustBlockTime says that the times of blocks are those of the world: not on a development
	// chain, which can jump.
	TrustBlockTime bool
	// DraftRetention is how long a draft may stay unfunded before it is removed; 0: for ever.
	DraftRetention time.Duration

	Wake func() // makes the follower look at the chain now; nil: it looks when its time has come

	Media          *blob.Objects    // nil: nobody can submit anything
	Incoming       *blob.Incoming   // where uploads are until they are whole; nil only if Media is
	Ingester       *ingest.Ingester // nil: this process checks no submissions
	Verification   *verify.Verifier // nil: a person decides about every submission
	AcceptanceHold time.Duration    // for which an acceptance can be taken back
	Reservations   ReservationLimits
	Settler        Settler                   // nil: receipts wait
	SettlerAddress sortie.Address            // whose signature the settler gives; zero: receipts are never renewed
	SettlerRole    SettlerRole               // nil: receipts are never renewed
	PayoutInterval time.Duration             // that payouts of a mission wait for others to share a transaction
	PayoutCaps     map[sortie.Token]*big.Int // base units that settlements are made for within an hour; none: no cap
	PaidSlots      PaidSlots                 // nil: the contract is not asked whether it paid what its events say
	Contract       ContractBooks             // nil: the books are not compared with the chain
	SolvencyEvery  time.Duration             // between comparisons of the books with the chain
	WakeSender     func()                    // makes the sender look now; nil: it looks when its time has come
	Links          LinkBuilder               // of the links that the verification provider is sent
}

// Settler signs the payment of one slot: the receipt of its contributor.
type Settler func(ctx context.Context, domain sortie.Domain, settlement sortie.Settlement) (sortie.Bytes, error)

// SettlerRole asks a contract whether a key may sign settlements. Answers come from as many nodes
// as money depends on.
type SettlerRole func(ctx context.Context, factory, account sortie.Address) (bool, error)

// Queue takes jobs in the transaction that made them necessary: they exist exactly if it is
// committed.
type Queue interface {
	// Refund makes sure that [App.StartRefund] is called for the draft.
	Refund(tx *store.Tx, draftID string) error
	// Check makes sure that [App.CheckSubmission] is called for the submission.
	Check(tx *store.Tx, submissionID string) error
	// Reconcile makes sure that the contract's state is compared with the database soon, and
	// [App.RecordReconcile] called.
	Reconcile(tx *store.Tx) error
}

// App runs the use cases of creators, contributors and the public, and serves media. It may be used
// by many goroutines.
type App struct{ *core }

// Ledger records what the chain holds and what follows from it: fundings, confirmations, refunds,
// settlements, receipts and the books. The follower, the sender and periodic work call it. It may be
// used by many goroutines.
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

// New prepares the use cases: it reads, or on the first start makes, the keys that cursors and
// links are signed with, and remembers the factory, whose events count from now on for as long as
// the database lives.
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

// prepareSubmissions makes the first link key of a database, and slots for the missions that are
// older than those.
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

// noQueue refuses: a job that is forgotten is money that stays where it is.
type noQueue struct{}

var errNoQueue = errors.New("this needs a job, and the process was started without a job queue")

func (noQueue) Refund(*store.Tx, string) error { return errNoQueue }
func (noQueue) Check(*store.Tx, string) error  { return errNoQueue }
func (noQueue) Reconcile(*store.Tx) error      { return errNoQueue }

// storeError says what a failure of the store means to a client.
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
