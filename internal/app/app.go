// Package app holds the use cases of the service: what happens when somebody creates a draft, asks for one, or lists them.
// Each is one function that reads, decides with package mission, and writes in one transaction.
//
// It knows no HTTP, no SQL and no keys. Its errors are [sortie.Error] with a code, or unplanned and therefore internal.
package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/store"
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
}

// App runs the use cases. It may be used by many goroutines.
type App struct {
	store   *store.DB
	issuer  *funding.Issuer
	domain  sortie.Domain
	tokens  map[sortie.Token]Token
	now     func() time.Time
	log     *slog.Logger
	cursors cursorKey
	quotes  *quoteCache
}

// New prepares the use cases: it reads, or on the first start makes, the key that cursors are signed with.
func New(ctx context.Context, config Config) (*App, error) {
	var fresh [32]byte
	_, _ = rand.Read(fresh[:]) // never fails
	var secret []byte
	err := config.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		secret, err = tx.Setting("cursor-key", fresh[:])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("prepare cursors: %w", err)
	}
	return &App{
		store: config.Store, issuer: config.Issuer, domain: config.Domain, tokens: config.Tokens,
		now: config.Now, log: config.Logger, cursors: cursorKey(secret), quotes: newQuoteCache(quotesPerGeneration),
	}, nil
}

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
