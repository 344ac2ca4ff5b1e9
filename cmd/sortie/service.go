package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/api"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/store"
	"github.com/sortie-labs/sortie/internal/wallet"
	"github.com/sortie-labs/sortie/spec"
)

// serviceConfig is a running service in typed values: what `serve` reads from flags and `dev` makes up.
type serviceConfig struct {
	listen         string
	publicURLs     []string // none: http:// and the Host header, for development
	database       string
	rpcURLs        []string
	deployment     chain.Deployment
	authorizer     funding.Signer
	ttl            time.Duration
	limits         *api.Limits
	trustedProxies []netip.Prefix
	allowedOrigins []string
	logger         *slog.Logger
}

const (
	stopTimeout       = 15 * time.Second
	headerTimeout     = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	writeTimeout      = 60 * time.Second
	maxHeaderBytes    = 16 << 10
	healthPingTimeout = time.Second

	databaseProbeInterval = 2 * time.Second
)

// service is everything of Sortie in this process.
type service struct {
	store    *store.DB
	nodes    *chain.Nodes
	http     *http.Server
	listener net.Listener
}

// openService checks and opens everything. When it fails, nothing is left open; when it returns, requests are accepted as soon
// as run is called.
func openService(ctx context.Context, config serviceConfig) (_ *service, err error) {
	s := &service{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	domain := sortie.Domain{ChainID: config.deployment.ChainID, Factory: config.deployment.Factory}
	issuer, err := funding.NewIssuer(domain, config.authorizer, config.ttl)
	if err != nil {
		return nil, err
	}
	if s.nodes, err = chain.OpenNodes(ctx, config.rpcURLs, config.deployment, config.logger); err != nil {
		return nil, err
	}
	verifier, err := wallet.New(wallet.Config{PublicURLs: config.publicURLs, Call: s.nodes.RunCreationCode})
	if err != nil {
		return nil, fmt.Errorf("--public-url: %w", err)
	}
	// The port comes before the database, so that a second start by mistake fails on the port and touches nothing.
	if s.listener, err = net.Listen("tcp", config.listen); err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	if s.store, err = store.Open(ctx, config.database, store.Options{Logger: config.logger}); err != nil {
		return nil, err
	}
	useCases, err := app.New(ctx, app.Config{
		Store: s.store, Issuer: issuer, Domain: domain, Now: time.Now, Logger: config.logger,
		Tokens: map[sortie.Token]app.Token{
			sortie.TokenUSDC:    {Address: config.deployment.USDC, Decimals: chain.Decimals(sortie.TokenUSDC)},
			sortie.TokenService: {Address: config.deployment.ServiceToken, Decimals: chain.Decimals(sortie.TokenService)},
		},
	})
	if err != nil {
		return nil, err
	}
	handler, err := api.New(api.Config{
		App: useCases, Verifier: verifier, Limits: config.limits, TrustedProxies: config.trustedProxies,
		AllowedOrigins: config.allowedOrigins, Health: s.health, OpenAPI: spec.OpenAPI,
		Registry: newRegistry(s.store, verifier), Logger: config.logger, Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, WriteTimeout: writeTimeout,
		MaxHeaderBytes: maxHeaderBytes, DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(config.logger.Handler(), slog.LevelDebug),
	}
	releaseStart()
	return s, nil
}

// unlessStopped forgets the failure of a start that was told to stop: whoever stopped it knows.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// baseURL is where the service answers on this machine.
func (s *service) baseURL() string { return "http://" + s.listener.Addr().String() }

// run serves until ctx ends, then lets the requests under way finish.
func (s *service) run(ctx context.Context) error {
	defer s.close()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.nodes.Run(ctx) })
	group.Go(func() error { return s.watchDatabase(ctx) })
	group.Go(func() error {
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve HTTP: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if err := s.http.Shutdown(stopping); err != nil {
			return fmt.Errorf("stop: requests were still under way after %s: %w", stopTimeout, err)
		}
		return nil
	})
	return group.Wait()
}

// watchDatabase tries to write while the database is unavailable: a load balancer that takes the service out would otherwise
// leave nobody to notice that it works again.
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
			slog.Info("the database can be written again")
		}
	}
}

func (s *service) close() {
	if s.listener != nil {
		_ = s.listener.Close() // already closed by a clean stop
	}
	if s.nodes != nil {
		s.nodes.Close()
	}
	if s.store != nil {
		if err := s.store.Close(); err != nil {
			slog.Error("close database", "error", err)
		}
	}
}

func (s *service) health(ctx context.Context) api.Health {
	ctx, cancel := context.WithTimeout(ctx, healthPingTimeout)
	defer cancel()
	health := api.Health{Ready: true, Parts: map[string]string{"database": "ok", "chain": "ok"}}
	if err := s.store.Ping(ctx); err != nil {
		health.Ready = false
		health.Parts["database"] = "unavailable"
	}
	if s.nodes.Problem() != "" {
		health.Parts["chain"] = "unavailable" // the reason is in the log: it is not for everybody who can reach this port
	}
	return health
}

// newRegistry collects the figures of the parts that keep their own counters.
func newRegistry(db *store.DB, verifier *wallet.Verifier) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	counter := func(name, help string, labels prometheus.Labels, read func() float64) {
		registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, read))
	}
	gauge := func(name, help string, read func() float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	for result, read := range map[string]func(wallet.Stats) uint64{
		"plain_key":   func(s wallet.Stats) uint64 { return s.Plain },
		"contract":    func(s wallet.Stats) uint64 { return s.Contract },
		"refused":     func(s wallet.Stats) uint64 { return s.Refused },
		"limited":     func(s wallet.Stats) uint64 { return s.Limited },
		"unavailable": func(s wallet.Stats) uint64 { return s.Unavailable },
	} {
		counter("sortie_signature_checks_total", "Signed requests by what became of the signature.",
			prometheus.Labels{"result": result}, func() float64 { return float64(read(verifier.Stats())) })
	}
	counter("sortie_signature_calls_total", "Questions to contract wallets that went to a node.", nil,
		func() float64 { return float64(verifier.Stats().Calls) })
	counter("sortie_database_writes_total", "Committed transactions.", nil, func() float64 { return float64(db.Stats().Writes) })
	counter("sortie_database_commits_total", "Commits; fewer than writes where writes share one.", nil, func() float64 { return float64(db.Stats().Commits) })
	counter("sortie_database_failures_total", "Commits that failed.", nil, func() float64 { return float64(db.Stats().Failures) })
	counter("sortie_database_overloads_total", "Writes refused because too many were waiting.", nil, func() float64 { return float64(db.Stats().Overloads) })
	gauge("sortie_database_waiting", "Writes that wait for their turn.", func() float64 { return float64(db.Stats().Waiting) })
	gauge("sortie_database_connections_in_use", "Connections that run a statement.", func() float64 { return float64(db.Stats().ReadersInUse) })
	return registry
}
