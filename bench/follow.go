package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/follower"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/store"
)

// following is the product: the follower, what it does to missions, and the database, as `sortie
// serve` puts them together.
type following struct {
	db       *store.DB
	nodes    *chain.Nodes
	follower *follower.Follower
}

func openFollowing(ctx context.Context, task assignment) (work, error) {
	logger := slog.New(slog.DiscardHandler)
	f := &following{}
	var err error
	if f.db, err = store.Open(ctx, "sqlite:"+task.Database, store.Options{Logger: logger}); err != nil {
		return nil, err
	}
	deployment := chain.Deployment{
		ChainID: task.Dev.ChainID, Factory: task.Dev.Factory, USDC: task.Dev.token(sortie.TokenUSDC), ServiceToken: task.Dev.token(sortie.TokenService),
	}
	if f.nodes, err = chain.OpenNodes(ctx, []string{task.RPC}, deployment, logger); err != nil {
		return nil, errors.Join(err, f.db.Close())
	}
	ledger, err := openLedger(ctx, f.db, deployment, logger)
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	f.follower = follower.New(follower.Config{Nodes: f.nodes, Ledger: ledger, ChainID: task.Dev.ChainID, Logger: logger})
	return f, nil
}

func openLedger(ctx context.Context, db *store.DB, deployment chain.Deployment, logger *slog.Logger) (*app.Ledger, error) {
	signer, err := funding.NewKeySigner([32]byte{31: 1}) // it signs nothing here
	if err != nil {
		return nil, err
	}
	domain := sortie.Domain{ChainID: deployment.ChainID, Factory: deployment.Factory}
	issuer, err := funding.NewIssuer(domain, signer, funding.DefaultTTL)
	if err != nil {
		return nil, err
	}
	opened, err := app.New(ctx, app.Config{Store: db, Issuer: issuer, Domain: domain, Now: time.Now, Logger: logger})
	if err != nil {
		return nil, err
	}
	return opened.Ledger, nil
}

// run follows until there is nothing more to do: every event is stored and has had its effects.
func (f *following) run(ctx context.Context) (events int, err error) {
	for {
		progress, err := f.follower.Converge(ctx)
		events += progress.Events
		if err != nil || !progress.More {
			return events, err
		}
	}
}

func (f *following) close() error {
	f.nodes.Close()
	return f.db.Close()
}
