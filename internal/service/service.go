package service

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
	"github.com/sortie-labs/sortie/internal/follower"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/jobs"
	"github.com/sortie-labs/sortie/internal/setting"
	"github.com/sortie-labs/sortie/internal/store"
	"github.com/sortie-labs/sortie/internal/wallet"
	"github.com/sortie-labs/sortie/spec"
)

// Config configures the service. `serve` fills it from flags, `dev` with fixed values.
type Config struct {
	Roles  Roles
	Listen string
	// OperationsListen is the address of the metrics. Empty turns them off; the same as Listen
	// shares the API's listener. With OperationsOptional the service runs without metrics if the
	// address is in use.
	OperationsListen   string
	OperationsOptional bool

	PublicURLs       []string // empty: http:// and the Host header, for development only
	Database         string
	RPCURLs          []string
	Deployment       chain.Deployment
	Authorizer       funding.Signer
	Settler          funding.Signer            // nil: refunds and payouts are off
	Sender           funding.Signer            // nil: refunds and payouts are off
	MaxFeePerGas     *big.Int                  // nil: the sender's default
	PayoutInterval   time.Duration             // how long payouts of a mission wait for others
	SolvencyInterval time.Duration             // between solvency checks
	PayoutCaps       map[sortie.Token]*big.Int // base units per hour; without an entry: no cap
	MinGasBalance    *big.Int                  // of the sender in wei; below it an alarm is raised; nil: no alarm
	Warnings         []string                  // about this configuration, logged at the start and shown in `sortie chain status`
	Operators        []sortie.Address
	OperatorLimits   OperatorLimits
	WarnsOfCaps      bool // logs a warning if the contract has no daily cap
	AutoApprove      bool
	Confirmations    uint64
	Finality         follower.Finality
	AuthorizationTTL time.Duration
	DraftRetention   time.Duration // 0: unfunded drafts are kept
	AllowDelegated   bool          // the delegate of an EIP-7702 account decides who signed for it
	Media            MediaConfig
	Limits           *api.Limits
	TrustedProxies   []netip.Prefix
	AllowedOrigins   []string
	Logger           *slog.Logger
}

// Roles are the roles of a process. Every role serves health and metrics.
type Roles struct {
	API    bool // answers requests
	Worker bool // runs jobs
	Chain  bool // follows the chain and sends transactions while it holds the leases
}

// AllRoles are the roles of a process that does all the work.
var AllRoles = Roles{API: true, Worker: true, Chain: true}

// OperatorLimits are the amounts that an operator may accept within an hour, in base units. A token
// without an entry has no limit.
type OperatorLimits struct {
	PerHour        map[sortie.Token]*big.Int
	SecondOperator bool
}

// Refunds reports whether the service can pay out and refund: it needs a settler and a sender.
func (c Config) Refunds() bool { return c.Settler != nil && c.Sender != nil }

func (c Config) domain() sortie.Domain {
	return sortie.Domain{ChainID: c.Deployment.ChainID, Factory: c.Deployment.Factory}
}

const (
	stopTimeout    = 15 * time.Second
	headerTimeout  = 5 * time.Second
	idleTimeout    = 2 * time.Minute
	writeTimeout   = 60 * time.Second
	maxHeaderBytes = 16 << 10

	databaseProbeInterval = 2 * time.Second
	capsInterval          = 5 * time.Second
	capsTimeout           = 3 * time.Second
	clockInterval         = 5 * time.Second
)

// Service is one process of the service.
type Service struct {
	config    Config
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
	operationsListener net.Listener // nil: the metrics are on the API's listener, or off
}

// Open checks the configuration and opens everything. If it fails, it closes what it opened. Run
// must follow.
func Open(ctx context.Context, config Config) (_ *Service, err error) {
	s := &Service{config: config}
	limitMemory(config.Logger)
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	issuer, err := funding.NewIssuer(config.domain(), config.Authorizer, config.AuthorizationTTL)
	if err != nil {
		return nil, err
	}
	if s.nodes, err = chain.OpenNodes(ctx, config.RPCURLs, config.Deployment, config.Logger); err != nil {
		return nil, err
	}
	verifier, err := wallet.New(wallet.Config{PublicURLs: config.PublicURLs, Call: s.nodes.RunCreationCode, AllowDelegated: config.AllowDelegated})
	if err != nil {
		return nil, &setting.Error{Name: setting.PublicURL, Err: err}
	}
	if err = s.listen(); err != nil {
		return nil, err
	}
	if s.store, err = store.Open(ctx, config.Database, store.Options{Logger: config.Logger}); err != nil {
		return nil, err
	}
	if s.media, err = openMediaWork(ctx, config); err != nil {
		return nil, err
	}
	if s.queue, err = jobs.Open(ctx, s.store, config.Logger); err != nil {
		return nil, err
	}
	if err = s.openApp(ctx, issuer); err != nil {
		return nil, err
	}
	s.chain = newChainWork(s)
	s.serveOn(api.New(api.Config{
		App: s.app, Operators: s.operators, Verifier: verifier, Limits: config.Limits, TrustedProxies: config.TrustedProxies,
		AllowedOrigins: config.AllowedOrigins, Health: s.health, Follower: s.chain.followerStatus, Sender: s.chain.senderStatus, Warnings: config.Warnings, OpenAPI: spec.OpenAPI,
		OperationsOnly: !config.Roles.API, PrivateMetrics: !config.sharesListener(), Registry: s.newRegistry(verifier), Logger: config.Logger, Now: time.Now,
	}))
	return s, nil
}

func (s *Service) openApp(ctx context.Context, issuer *funding.Issuer) error {
	config := app.Config{
		Store: s.store, Issuer: issuer, Domain: s.config.domain(), Now: time.Now, Logger: s.config.Logger,
		Tokens: map[sortie.Token]app.Token{
			sortie.TokenUSDC:    {Address: s.config.Deployment.USDC, Decimals: chain.Decimals(sortie.TokenUSDC)},
			sortie.TokenService: {Address: s.config.Deployment.ServiceToken, Decimals: chain.Decimals(sortie.TokenService)},
		},
		Queue: s.queue, Operators: s.config.Operators, AutoApprove: s.config.AutoApprove, Confirmations: s.config.Confirmations,
		OperatorLimits: s.config.OperatorLimits.PerHour, SecondOperator: s.config.OperatorLimits.SecondOperator,
		SettlerRole:    s.nodes.HoldsSettlerRole,
		TrustBlockTime: !sortie.IsDevelopmentChain(s.config.Deployment.ChainID), DraftRetention: s.config.DraftRetention,
		Wake: func() { s.chain.follower.Wake() }, WakeSender: func() { s.chain.wakeSender() },
		PayoutInterval: s.config.PayoutInterval, PayoutCaps: s.config.PayoutCaps, PaidSlots: s.nodes.PaidSlots,
		Contract: s.nodes, SolvencyEvery: s.config.SolvencyInterval,
	}
	if s.config.Refunds() {
		config.Sender = s.config.Sender.Address()
	}
	s.media.configure(&config, s.config, s.BaseURL())
	opened, err := app.New(ctx, config)
	if err != nil {
		return err
	}
	s.app, s.ledger, s.operators = opened.App, opened.Ledger, opened.Operators
	s.media.app, s.media.ledger = opened.App, opened.Ledger
	return nil
}

// jobs returns the jobs that this process can run.
func (s *Service) jobs() jobs.Work {
	work := s.chain.jobs()
	if s.media.objects != nil {
		work.Check = s.media.check
	}
	return work
}

// BaseURL returns the URL of the API on this machine.
func (s *Service) BaseURL() string {
	address, err := netip.ParseAddrPort(s.listener.Addr().String())
	if err == nil && address.Addr().IsUnspecified() { // all addresses, so also this one
		return fmt.Sprintf("http://127.0.0.1:%d", address.Port())
	}
	return "http://" + s.listener.Addr().String()
}

// Run runs the work of the process's roles until ctx ends, then waits for requests in progress.
func (s *Service) Run(ctx context.Context) error {
	defer s.Close()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.nodes.Run(ctx) })
	group.Go(func() error { return s.watchDatabase(ctx) })
	group.Go(func() error { return s.watchClock(ctx) })
	if s.config.WarnsOfCaps && !s.tryToWarnOfCaps(ctx) {
		group.Go(func() error { s.warnOfCaps(ctx); return nil })
	}
	group.Go(func() error { return s.runHTTP(ctx) })
	if s.config.Roles.Worker {
		group.Go(func() error { return s.queue.Run(ctx, s.jobs()) })
		group.Go(func() error { return s.chain.checkBooks(ctx, s.config.SolvencyInterval) })
	}
	group.Go(func() error { return s.media.run(ctx, s.config.Roles) })
	if s.config.Roles.Chain {
		group.Go(func() error { return s.chain.follow(ctx) })
		group.Go(func() error { return s.chain.send(ctx) })
		group.Go(func() error { return s.chain.adopt(ctx) })
	}
	return group.Wait()
}

// watchDatabase tries to write while the database is unavailable. Without it, a process that a load
// balancer took out of service would not notice that the database works again.
func (s *Service) watchDatabase(ctx context.Context) error {
	ticker := time.NewTicker(databaseProbeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if s.store.Ping(ctx) != nil && s.store.Heartbeat(ctx) == nil {
			s.config.Logger.Info("the database can be written again")
		}
	}
}

// warnOfCaps logs once, when enough nodes answer, which tokens have no daily cap.
func (s *Service) warnOfCaps(ctx context.Context) {
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

// tryToWarnOfCaps reports whether enough nodes answered.
func (s *Service) tryToWarnOfCaps(ctx context.Context) bool {
	asking, cancel := context.WithTimeout(ctx, capsTimeout)
	defer cancel()
	uncapped, err := s.nodes.UncappedTokens(asking)
	if err != nil {
		return false
	}
	for _, token := range uncapped {
		s.config.Logger.Warn("the contract pays out this token without a daily cap, so a stolen settler key could take all of it: have the admin call setDailyCap",
			"token", token, "factory", s.config.Deployment.Factory.String())
	}
	return true
}

// watchClock passes new blocks to the clock check in a process that does not follow the chain.
func (s *Service) watchClock(ctx context.Context) error {
	ticker := time.NewTicker(clockInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		position, err := s.store.ChainPosition(ctx, s.config.Deployment.ChainID)
		if err == nil && position.Head == position.Tip.Number { // an older block does not show the current time
			s.ledger.ObserveBlock(position.Tip.Number, position.Tip.Time)
		}
		s.app.Clock() // logs changes
	}
}

// Close closes everything that Open opened. Run calls it.
func (s *Service) Close() {
	if s.listener != nil {
		_ = s.listener.Close() // a clean stop has closed it
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
			s.config.Logger.Error("close database", "error", err)
		}
	}
}
