package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/api"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/jobs"
	"github.com/sortie-labs/sortie/internal/store"
	"github.com/sortie-labs/sortie/internal/wallet"
	"github.com/sortie-labs/sortie/spec"
)

// serviceConfig is a running service in typed values: what `serve` reads from flags and `dev` makes
// up.
type serviceConfig struct {
	roles  roles
	listen string
	// operationsListen is where the metrics are: nowhere if empty, with the API if equal to listen.
	// With operationsOptional the service runs without them when the address is taken.
	operationsListen   string
	operationsOptional bool

	publicURLs       []string // none: http:// and the Host header, for development
	database         string
	rpcURLs          []string
	deployment       chain.Deployment
	authorizer       funding.Signer
	settler          funding.Signer            // nil: refunds and payouts are off
	sender           funding.Signer            // nil: refunds and payouts are off
	maxFeePerGas     *big.Int                  // nil: the sender's default
	payoutInterval   time.Duration             // that payouts of a mission wait for others
	solvencyInterval time.Duration             // between comparisons of the books with the chain
	payoutCaps       map[sortie.Token]*big.Int // base units within an hour; none: no cap
	minGasBalance    *big.Int                  // of the sender, in wei, below which there is an alarm; nil: none
	warnings         []string                  // about this configuration, at every start and in `sortie chain status`
	operators        []sortie.Address
	operatorLimits   operatorLimits
	warnsOfCaps      bool // says so at the start if the contract pays out without a daily cap
	autoApprove      bool
	confirmations    uint64
	finality         chain.Finality
	ttl              time.Duration
	draftRetention   time.Duration // 0: unfunded drafts are kept for ever
	allowDelegated   bool          // the delegate of an EIP-7702 account decides who signed for it
	media            mediaConfig
	limits           *api.Limits
	trustedProxies   []netip.Prefix
	allowedOrigins   []string
	logger           *slog.Logger
}

// roles are what a process does. All of them answer whoever watches over it.
type roles struct {
	api    bool // answers requests
	worker bool // works jobs
	chain  bool // follows the chain and sends transactions, while no other process does
}

var everyRole = roles{api: true, worker: true, chain: true}

// refunds tells whether money can be sent back: somebody must allow it and somebody pay for it.
func (c serviceConfig) refunds() bool { return c.settler != nil && c.sender != nil }

func (c serviceConfig) domain() sortie.Domain {
	return sortie.Domain{ChainID: c.deployment.ChainID, Factory: c.deployment.Factory}
}

const (
	stopTimeout    = 15 * time.Second
	headerTimeout  = 5 * time.Second
	idleTimeout    = 2 * time.Minute
	writeTimeout   = 60 * time.Second
	maxHeaderBytes = 16 << 10

	settling              = time.Second // after which the start is over: every part has begun its work
	databaseProbeInterval = 2 * time.Second
	capsInterval          = 5 * time.Second
	capsTimeout           = 3 * time.Second
	clockInterval         = 5 * time.Second
)

// service is everything of Sortie in this process.
type service struct {
	config    serviceConfig
	store     *store.DB
	nodes     *chain.Nodes
	queue     *jobs.Queue
	app       *app.App
	ledger    *app.Ledger
	operators *app.Operators
	media     *mediaWork
	chain     *chainWork
	http      *http.Server
	listener  net.Listener

	operations         *http.Server
	operationsListener net.Listener // nil: the metrics are with the API, or nowhere
}

// openService checks and opens everything. When it fails, nothing is left open; when it returns,
// requests are accepted as soon as run is called.
func openService(ctx context.Context, config serviceConfig) (_ *service, err error) {
	s := &service{config: config}
	limitMemory(config.logger)
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	issuer, err := funding.NewIssuer(config.domain(), config.authorizer, config.ttl)
	if err != nil {
		return nil, err
	}
	if s.nodes, err = chain.OpenNodes(ctx, config.rpcURLs, config.deployment, config.logger); err != nil {
		return nil, err
	}
	verifier, err := wallet.New(wallet.Config{PublicURLs: config.publicURLs, Call: s.nodes.RunCreationCode, AllowDelegated: config.allowDelegated})
	if err != nil {
		return nil, fmt.Errorf("--public-url: %w", err)
	}
	if err = s.listen(); err != nil {
		return nil, err
	}
	if s.store, err = store.Open(ctx, config.database, store.Options{Logger: config.logger}); err != nil {
		return nil, err
	}
	if s.media, err = openMediaWork(ctx, config); err != nil {
		return nil, err
	}
	if s.queue, err = jobs.Open(ctx, s.store, config.logger); err != nil {
		return nil, err
	}
	if err = s.openApp(ctx, issuer); err != nil {
		return nil, err
	}
	s.chain = newChainWork(s)
	s.serveOn(api.New(api.Config{
		App: s.app, Operators: s.operators, Verifier: verifier, Limits: config.limits, TrustedProxies: config.trustedProxies,
		AllowedOrigins: config.allowedOrigins, Health: s.health, Follower: s.chain.followerStatus, Sender: s.chain.senderStatus, Warnings: config.warnings, OpenAPI: spec.OpenAPI,
		OperationsOnly: !config.roles.api, PrivateMetrics: !config.sharesListener(), Registry: s.newRegistry(verifier), Logger: config.logger, Now: time.Now,
	}))
	return s, nil
}

func (s *service) openApp(ctx context.Context, issuer *funding.Issuer) error {
	config := app.Config{
		Store: s.store, Issuer: issuer, Domain: s.config.domain(), Now: time.Now, Logger: s.config.logger,
		Tokens: map[sortie.Token]app.Token{
			sortie.TokenUSDC:    {Address: s.config.deployment.USDC, Decimals: chain.Decimals(sortie.TokenUSDC)},
			sortie.TokenService: {Address: s.config.deployment.ServiceToken, Decimals: chain.Decimals(sortie.TokenService)},
		},
		Queue: s.queue, Operators: s.config.operators, AutoApprove: s.config.autoApprove, Confirmations: s.config.confirmations,
		OperatorLimits: s.config.operatorLimits.perHour, SecondOperator: s.config.operatorLimits.second,
		SettlerRole:    s.nodes.HoldsSettlerRole,
		TrustBlockTime: !chain.IsDevelopment(s.config.deployment.ChainID), DraftRetention: s.config.draftRetention,
		Wake: func() { s.chain.follower.Wake() }, WakeSender: func() { s.chain.wakeSender() },
		PayoutInterval: s.config.payoutInterval, PayoutCaps: s.config.payoutCaps, PaidSlots: s.nodes.PaidSlots,
		Contract: s.nodes, SolvencyEvery: s.config.solvencyInterval,
	}
	if s.config.refunds() {
		config.Sender = s.config.sender.Address()
	}
	s.media.configure(&config, s.config, s.baseURL())
	opened, err := app.New(ctx, config)
	if err != nil {
		return err
	}
	s.app, s.ledger, s.operators = opened.App, opened.Ledger, opened.Operators
	s.media.app, s.media.ledger = opened.App, opened.Ledger
	return nil
}

// jobs are those that this process can do.
func (s *service) jobs() jobs.Work {
	work := s.chain.jobs()
	if s.media.objects != nil {
		work.Check = s.media.check
	}
	return work
}

// unlessStopped forgets the failure of a start that was told to stop: whoever stopped it knows.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// baseURL is where the service answers on this machine.
func (s *service) baseURL() string {
	address, err := netip.ParseAddrPort(s.listener.Addr().String())
	if err == nil && address.Addr().IsUnspecified() { // every address of the machine, and so this one
		return fmt.Sprintf("http://127.0.0.1:%d", address.Port())
	}
	return "http://" + s.listener.Addr().String()
}

// run does what the process is for until ctx ends, then lets what is under way finish.
func (s *service) run(ctx context.Context) error {
	defer s.close()
	defer time.AfterFunc(settling, releaseStart).Stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.nodes.Run(ctx) })
	group.Go(func() error { return s.watchDatabase(ctx) })
	group.Go(func() error { return s.watchClock(ctx) })
	if s.config.warnsOfCaps && !s.tryToWarnOfCaps(ctx) {
		group.Go(func() error { s.warnOfCaps(ctx); return nil })
	}
	group.Go(func() error { return s.runHTTP(ctx) })
	if s.config.roles.worker {
		group.Go(func() error { return s.queue.Run(ctx, s.jobs()) })
		group.Go(func() error { return s.chain.checkBooks(ctx, s.config.solvencyInterval) })
	}
	group.Go(func() error { return s.media.run(ctx, s.config.roles) })
	if s.config.roles.chain {
		group.Go(func() error { return s.chain.follow(ctx) })
		group.Go(func() error { return s.chain.send(ctx) })
		group.Go(func() error { return s.chain.adopt(ctx) })
	}
	return group.Wait()
}

// watchDatabase tries to write while the database is unavailable: a load balancer that takes the
// service out would otherwise leave nobody to notice that it works again.
func (s *service) watchDatabase(ctx context.Context) error {
	ticker := time.NewTicker(databaseProbeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if s.store.Ping(ctx) != nil && s.store.Heartbeat(ctx) == nil {
			s.config.logger.Info("the database can be written again")
		}
	}
}

// warnOfCaps says once, as soon as enough nodes answer, which tokens the contract pays out without
// a daily cap.
func (s *service) warnOfCaps(ctx context.Context) {
	ticker := time.NewTicker(capsInterval)
	defer ticker.Stop()
	for !s.tryToWarnOfCaps(ctx) {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// tryToWarnOfCaps reports whether the nodes could be asked.
func (s *service) tryToWarnOfCaps(ctx context.Context) bool {
	asking, cancel := context.WithTimeout(ctx, capsTimeout)
	defer cancel()
	uncapped, err := s.nodes.UncappedTokens(asking)
	if err != nil {
		return false
	}
	for _, token := range uncapped {
		s.config.logger.Warn("the contract pays out this token without a daily cap, so a stolen settler key could take all of it: have the admin call setDailyCap",
			"token", token, "factory", s.config.deployment.Factory.String())
	}
	return true
}

// watchClock tells the use cases of new blocks in a process that does not follow the chain. One
// that does is told by the follower before.
func (s *service) watchClock(ctx context.Context) error {
	ticker := time.NewTicker(clockInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		position, err := s.store.ChainPosition(ctx, s.config.deployment.ChainID)
		if err == nil && position.Head == position.Tip.Number { // what is older says nothing about now
			s.ledger.ObserveBlock(position.Tip.Number, position.Tip.Time)
		}
		s.app.Clock() // tells the log
	}
}

func (s *service) close() {
	if s.listener != nil {
		_ = s.listener.Close() // already closed by a clean stop
	}
	if s.operationsListener != nil {
		_ = s.operationsListener.Close()
	}
	if s.nodes != nil {
		s.nodes.Close()
	}
	if s.media != nil {
		s.media.close()
	}
	if s.store != nil {
		if err := s.store.Close(); err != nil {
			s.config.logger.Error("close database", "error", err)
		}
	}
}
