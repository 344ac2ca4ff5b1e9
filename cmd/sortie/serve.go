package main

import (
	"context"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/params"
	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/api"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/cli"
	"github.com/sortie-labs/sortie/internal/follower"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/service"
)

type serveOptions struct {
	listen, publicURL, database, rpc string
	operationsListen                 string
	chainID                          uint64
	factory, usdc, serviceToken      cli.AddressFlag
	authorizer, settler, sender      cli.KeyFlag
	operators, finality              string
	limits                           operatorOptions
	confirmations                    int
	maxFeePerGas                     uint64
	payouts                          payoutOptions
	solvency                         solvencyOptions
	media                            mediaOptions
	ttl, draftRetention              time.Duration
	allowDelegated                   bool
	roles, rateLimits                string
	trustedProxies, allowedOrigins   []string
	logLevel                         string
}

func newServeCmd() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service in production",
		Long: `Runs the service on your database and your chain. Every flag has one environment variable: --public-url is
SORTIE_PUBLIC_URL. A KEY is keystore:PATH (its password in PATH.password, both of mode 0600), command:PATH, or dev:N for a
development key on chain ids 1337 and 31337. A wrong or missing value stops it with a one-line error.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address to listen on")
	flags.StringVar(&o.operationsListen, "operations-listen", defaultOperationsListen, "address of /metrics; the address of --listen to share its listener")
	flags.StringVar(&o.publicURL, "public-url", "", "base URLs that clients use and sign, comma-separated (required)")
	flags.StringVar(&o.database, "database", "", "sqlite:PATH or postgres://... (required)")
	flags.StringVar(&o.rpc, "rpc", "", "JSON-RPC URLs of nodes of the funding chain, comma-separated (required)")
	flags.Uint64Var(&o.chainID, "chain-id", 0, "id of the funding chain (required)")
	flags.Var(&o.factory, "factory", "address of MissionFactory (required)")
	flags.Var(&o.usdc, "usdc", "address of USDC (required)")
	flags.Var(&o.serviceToken, "service-token", "address of the service token (required)")
	flags.Var(&o.authorizer, "authorizer", "key that signs funding quotes (required)")
	flags.Var(&o.settler, "settler", "key that signs payouts and refunds")
	flags.Var(&o.sender, "sender", "key that pays gas")
	flags.StringVar(&o.operators, "operators", "", "addresses of the operators' wallets, comma-separated")
	o.limits.define(flags)
	flags.IntVar(&o.confirmations, "confirmations", onchain.DefaultConfirmations, "blocks before the review of a funded mission begins")
	flags.StringVar(&o.finality, "finality", "finalized", "when funding is final: finalized (the chain's tag) or a number of blocks")
	o.payouts.addTo(flags)
	o.solvency.addTo(flags)
	flags.Uint64Var(&o.maxFeePerGas, "max-fee-per-gas", defaultMaxFeePerGas, "highest fee that the sender pays for a unit of gas, in gwei")
	o.media.define(flags)
	flags.DurationVar(&o.ttl, "authorization-ttl", funding.DefaultTTL, "life of a funding authorization, 5m to 1h")
	flags.DurationVar(&o.draftRetention, "draft-retention", defaultDraftRetention, "how long unfunded drafts are kept: 24h to 87600h; 0 keeps them")
	flags.BoolVar(&o.allowDelegated, "allow-delegated-accounts", false, "let the delegate of an EIP-7702 account verify its signatures; otherwise only its own key can sign")
	flags.StringVar(&o.roles, "roles", "api,worker,chain", "what this process does, comma-separated")
	flags.StringVar(&o.rateLimits, "rate-limits", "on", "on or off")
	flags.StringSliceVar(&o.trustedProxies, "trusted-proxies", nil, "networks of load balancers whose X-Forwarded-For is believed")
	flags.StringSliceVar(&o.allowedOrigins, "allowed-origins", []string{"*"}, "web origins whose pages may read answers")
	flags.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	return cmd
}

// defaultOperationsListen is reachable from this machine only.
const defaultOperationsListen = "127.0.0.1:9464"

// In gwei. No chain has required a fee above the upper bound: such a value is probably in wei.
const (
	defaultMaxFeePerGas = 500
	highestMaxFeePerGas = 100_000
)

// Bounds of the retention of unfunded drafts.
const (
	defaultDraftRetention  = 30 * 24 * time.Hour
	shortestDraftRetention = 24 * time.Hour
	longestDraftRetention  = 10 * 365 * 24 * time.Hour
)

func runServe(cmd *cobra.Command, options serveOptions) error {
	if err := service.HideMemory(); err != nil { // before it holds a key
		return err
	}
	config, err := options.config(cmd)
	if err != nil {
		return err
	}
	running, err := service.Open(cmd.Context(), config)
	if err != nil {
		return unlessStopped(cmd.Context(), withFlag(err))
	}
	options.announce(config, running)
	return withFlag(running.Run(cmd.Context()))
}

// announce logs the configuration and warnings.
func (options serveOptions) announce(c service.Config, running *service.Service) {
	what := []any{"address", running.BaseURL(), "operations", running.OperationsURL(), "roles", options.roles, "publicURL", strings.Join(c.PublicURLs, " "),
		"chainId", c.Deployment.ChainID, "factory", c.Deployment.Factory.String(), "authorizer", c.Deployment.Authorizer.String(),
		"operators", len(c.Operators), "confirmations", c.Confirmations, "finality", options.finality, "nodes", len(c.RPCURLs)}
	if c.Refunds() {
		what = append(what, "settler", c.Settler.Address().String(), "sender", c.Sender.Address().String(), "maxFeePerGas", options.maxFeePerGas)
	}
	if c.Media.Store != "" {
		what = append(what, "media", shownStore(c.Media.Store), "uploads", c.Media.Uploads, "verification", c.Media.Verification.String(), "acceptanceHold", c.Media.Hold.String())
	}
	c.Logger.Info("serving", what...)
	for _, warning := range c.Warnings {
		c.Logger.Warn(warning)
	}
	if (c.Roles.Worker || c.Roles.Chain) && !c.Refunds() {
		c.Logger.Warn("refunds and payouts are off; they wait in the database: give --settler and --sender to turn them on")
	}
	if strings.HasPrefix(c.Database, "sqlite:") && c.Roles != service.AllRoles {
		c.Logger.Warn("an SQLite database allows only one process, and this process does not have all roles: give --roles api,worker,chain")
	}
	if c.Roles.API && c.Limits != nil && len(c.TrustedProxies) == 0 && strings.HasPrefix(c.PublicURLs[0], "https:") {
		c.Logger.Warn("the public URL is https, so there is a proxy, but no proxy is trusted: the rate limits count all its clients as one; give its network in --trusted-proxies")
	}
	if c.Roles.API && c.AllowDelegated {
		c.Logger.Warn("delegates of EIP-7702 accounts verify signatures: a delegate that accepts every signature opens its account to everyone; leave out --allow-delegated-accounts to accept only the keys of the accounts")
	}
	if c.Roles.API && len(c.Operators) == 0 {
		c.Logger.Warn("there are no operators to review missions and submissions: give their wallets in --operators")
	}
	switch {
	case !c.Roles.API && !c.Roles.Worker:
	case c.Media.Store == "":
		c.Logger.Warn("submissions are off: give --media to turn them on")
	case c.Roles.Worker && c.Media.FFmpeg == "":
		c.Logger.Warn("videos get no thumbnails: install ffmpeg, or give its path in --ffmpeg")
	}
}

// config checks all values before the service opens anything.
func (o serveOptions) config(cmd *cobra.Command) (config service.Config, err error) {
	if err := o.check(); err != nil {
		return service.Config{}, err
	}
	config = service.Config{
		Listen: o.listen, OperationsListen: o.operationsListen, OperationsOptional: !cmd.Flags().Changed("operations-listen"), Database: o.database, RPCURLs: splitList(o.rpc), AuthorizationTTL: o.ttl, DraftRetention: o.draftRetention, AllowedOrigins: o.allowedOrigins, WarnsOfCaps: true,
		AllowDelegated: o.allowDelegated,
		Deployment:     chain.Deployment{ChainID: o.chainID, Factory: o.factory.Address, USDC: o.usdc.Address, ServiceToken: o.serviceToken.Address},
	}
	if err := o.parseChainWork(&config); err != nil {
		return service.Config{}, err
	}
	if config.Media, err = o.media.parse(cmd, o.database); err != nil {
		return service.Config{}, err
	}
	if config.PublicURLs, err = parsePublicURLs(o.publicURL); err != nil {
		return service.Config{}, err
	}
	if config.TrustedProxies, err = parseProxies(o.trustedProxies); err != nil {
		return service.Config{}, err
	}
	if o.rateLimits == "on" {
		config.Limits = api.DefaultLimits()
	} else {
		config.Media.Reservations = app.ReservationLimits{TotalBytes: config.Media.Reservations.TotalBytes}
	}
	if config.Logger, err = newLogger(cmd.ErrOrStderr(), o.logLevel); err != nil {
		return service.Config{}, err
	}
	if config.Authorizer, err = o.authorizer.Open(cmd.Context(), "authorizer", o.chainID); err != nil {
		return service.Config{}, err
	}
	config.Deployment.Authorizer = config.Authorizer.Address()
	if o.settler.Given() {
		if config.Settler, err = o.settler.Open(cmd.Context(), "settler", o.chainID); err != nil {
			return service.Config{}, err
		}
		config.Deployment.Settler = config.Settler.Address()
	}
	if o.sender.Given() {
		if config.Sender, err = o.sender.Open(cmd.Context(), "sender", o.chainID); err != nil {
			return service.Config{}, err
		}
	}
	return config, o.payouts.checkKeys(&config)
}

// parseChainWork reads the flags about the chain, reviews and payouts.
func (o serveOptions) parseChainWork(config *service.Config) (err error) {
	if config.Roles, err = parseRoles(o.roles); err != nil {
		return err
	}
	for _, text := range splitList(o.operators) {
		operator, err := sortie.ParseAddress(text)
		if err != nil {
			return cli.UsageError("--operators: %w", err)
		}
		config.Operators = append(config.Operators, operator)
	}
	if config.OperatorLimits, err = o.limits.parse(len(config.Operators)); err != nil {
		return err
	}
	if o.confirmations < 1 {
		return cli.UsageError("--confirmations %d: want at least 1 block", o.confirmations)
	}
	config.Confirmations = uint64(o.confirmations)
	if config.Finality, err = follower.ParseFinality(o.finality); err != nil {
		return cli.UsageError("--finality %q: want finalized or a number of blocks from 1", o.finality)
	}
	if o.maxFeePerGas < 1 || o.maxFeePerGas > highestMaxFeePerGas {
		return cli.UsageError("--max-fee-per-gas %d: want gwei from 1 to %d", o.maxFeePerGas, highestMaxFeePerGas)
	}
	config.MaxFeePerGas = new(big.Int).Mul(new(big.Int).SetUint64(o.maxFeePerGas), big.NewInt(params.GWei))
	if err := o.solvency.apply(config); err != nil {
		return err
	}
	return o.payouts.apply(config)
}

func parseRoles(text string) (parsed service.Roles, err error) {
	for _, role := range splitList(text) {
		switch role {
		case "api":
			parsed.API = true
		case "worker":
			parsed.Worker = true
		case "chain":
			parsed.Chain = true
		default:
			return service.Roles{}, cli.UsageError("--roles: unknown role %q; want some of api,worker,chain", role)
		}
	}
	if parsed == (service.Roles{}) {
		return service.Roles{}, cli.UsageError("--roles is empty: want some of api,worker,chain")
	}
	return parsed, nil
}

func (o serveOptions) check() error {
	for _, required := range []struct {
		flag    string
		missing bool
		what    string
	}{
		{"public-url", o.publicURL == "", "the base URL that clients use, such as https://api.example.com"},
		{"database", o.database == "", "sqlite:PATH or postgres://..."},
		{"rpc", o.rpc == "", "the URL of a node of the funding chain"},
		{"chain-id", o.chainID == 0, "the id of the funding chain"},
		{"factory", o.factory.IsZero(), "the address that `sortie contracts deploy` printed"},
		{"usdc", o.usdc.IsZero(), "the address of USDC on the funding chain"},
		{"service-token", o.serviceToken.IsZero(), "the address of the service token on the funding chain"},
	} {
		if required.missing {
			return cli.UsageError("--%s is missing: give %s", required.flag, required.what)
		}
	}
	if err := o.authorizer.Check("authorizer"); err != nil {
		return err
	}
	for flag, key := range map[string]cli.KeyFlag{"settler": o.settler, "sender": o.sender} {
		if key.Given() {
			if err := key.Check(flag); err != nil {
				return err
			}
		}
	}
	if o.draftRetention != 0 && (o.draftRetention < shortestDraftRetention || o.draftRetention > longestDraftRetention) {
		return cli.UsageError("--draft-retention %s: want %s to %s, or 0 to keep unfunded drafts", o.draftRetention, shortestDraftRetention, longestDraftRetention)
	}
	if o.rateLimits != "on" && o.rateLimits != "off" {
		return cli.UsageError("--rate-limits %q: want on or off", o.rateLimits)
	}
	return nil
}

func parsePublicURLs(text string) ([]string, error) {
	urls := splitList(text)
	for _, one := range urls {
		parsed, err := url.Parse(one)
		switch {
		case err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" || parsed.User != nil ||
			parsed.RawQuery != "" || parsed.Fragment != "" || strings.Trim(parsed.Path, "/") != "":
			return nil, cli.UsageError("--public-url: want https:// and a host and nothing else, such as https://api.example.com")
		case parsed.Scheme == "http" && !isLoopback(parsed.Hostname()):
			return nil, cli.UsageError("--public-url %s: plain http is for this machine only, because media links must not be readable: use https", one)
		}
	}
	return urls, nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && address.IsLoopback())
}

func parseProxies(texts []string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			address, addressErr := netip.ParseAddr(text)
			if addressErr != nil {
				return nil, cli.UsageError("--trusted-proxies %q: want a network such as 10.0.0.0/8, or an address", text)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		if prefix.Bits() == 0 {
			return nil, cli.UsageError("--trusted-proxies %s: that is every client, and clients could forge their addresses; give the networks of your proxies", text)
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}

func newLogger(w io.Writer, level string) (*slog.Logger, error) {
	var parsed slog.Level
	if err := parsed.UnmarshalText([]byte(level)); err != nil {
		return nil, cli.UsageError("--log-level %q: want debug, info, warn or error", level)
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: parsed})), nil
}

func splitList(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// isExposed reports whether other machines can reach a listen address. The listener refuses
// malformed addresses.
func isExposed(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && !isLoopback(strings.TrimSpace(host))
}

// unlessStopped drops the error of a start that was stopped.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
