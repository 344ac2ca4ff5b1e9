package main

import (
	"io"
	"log/slog"
	"math/big"
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
	"github.com/sortie-labs/sortie/internal/funding"
)

type serveOptions struct {
	listen, publicURL, database, rpc string
	operationsListen                 string
	chainID                          uint64
	factory, usdc, serviceToken      addressFlag
	authorizer, settler, sender      keyFlag
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
development key on chain ids 1337 and 31337. A bad or missing value stops it with one line.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address to listen on")
	flags.StringVar(&o.operationsListen, "operations-listen", defaultOperationsListen, "address of /metrics, kept apart from clients; the address of --listen to have both there")
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
	flags.StringVar(&o.operators, "operators", "", "addresses of the wallets that review, comma-separated")
	o.limits.define(flags)
	flags.IntVar(&o.confirmations, "confirmations", 2, "blocks before the review of a funded mission begins")
	flags.StringVar(&o.finality, "finality", "finalized", "what locks funding: the chain's finalized tag, or a number of blocks")
	o.payouts.addTo(flags)
	o.solvency.addTo(flags)
	flags.Uint64Var(&o.maxFeePerGas, "max-fee-per-gas", defaultMaxFeePerGas, "most that the sender pays for a unit of gas, in gwei")
	o.media.define(flags)
	flags.DurationVar(&o.ttl, "authorization-ttl", funding.DefaultTTL, "life of a funding authorization, 5m to 1h")
	flags.DurationVar(&o.draftRetention, "draft-retention", defaultDraftRetention, "how long a draft may stay unfunded before it is removed, in hours: 24h to 87600h; 0 for ever")
	flags.BoolVar(&o.allowDelegated, "allow-delegated-accounts", false, "let the delegate of an EIP-7702 account decide who signed for it; otherwise only its own key counts")
	flags.StringVar(&o.roles, "roles", "api,worker,chain", "what this process does, comma-separated")
	flags.StringVar(&o.rateLimits, "rate-limits", "on", "on or off")
	flags.StringSliceVar(&o.trustedProxies, "trusted-proxies", nil, "networks of load balancers whose X-Forwarded-For is believed")
	flags.StringSliceVar(&o.allowedOrigins, "allowed-origins", []string{"*"}, "web origins whose pages may read answers")
	flags.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	return cmd
}

// In gwei. The upper bound is no price that was ever paid; whoever gives more has given wei.
const (
	defaultMaxFeePerGas = 500
	highestMaxFeePerGas = 100_000
)

// How long unfunded drafts are kept.
const (
	defaultDraftRetention  = 30 * 24 * time.Hour
	shortestDraftRetention = 24 * time.Hour
	longestDraftRetention  = 10 * 365 * 24 * time.Hour
)

func runServe(cmd *cobra.Command, options serveOptions) error {
	if err := hideMemory(); err != nil { // before it holds a key
		return err
	}
	config, err := options.config(cmd)
	if err != nil {
		return err
	}
	service, err := openService(cmd.Context(), config)
	if err != nil {
		return unlessStopped(cmd.Context(), err)
	}
	config.announce(service, options)
	return service.run(cmd.Context())
}

// announce says what the process does, and what it does not.
func (c serviceConfig) announce(service *service, options serveOptions) {
	what := []any{"address", service.baseURL(), "operations", service.operationsURL(), "roles", options.roles, "publicURL", strings.Join(c.publicURLs, " "),
		"chainId", c.deployment.ChainID, "factory", c.deployment.Factory.String(), "authorizer", c.deployment.Authorizer.String(),
		"operators", len(c.operators), "confirmations", c.confirmations, "finality", options.finality, "nodes", len(c.rpcURLs)}
	if c.refunds() {
		what = append(what, "settler", c.settler.Address().String(), "sender", c.sender.Address().String(), "maxFeePerGas", options.maxFeePerGas)
	}
	if c.media.store != "" {
		what = append(what, "media", c.media.shownStore(), "uploads", c.media.uploads, "verification", c.media.verification.String(), "acceptanceHold", c.media.hold.String())
	}
	c.logger.Info("serving", what...)
	for _, warning := range c.warnings {
		c.logger.Warn(warning)
	}
	if (c.roles.worker || c.roles.chain) && !c.refunds() {
		c.logger.Warn("refunds and payouts are off: give --settler and --sender to turn them on; what is due waits until then")
	}
	if strings.HasPrefix(c.database, "sqlite:") && c.roles != everyRole {
		c.logger.Warn("an SQLite database has room for one process, and this one does not do everything: give --roles api,worker,chain")
	}
	if c.roles.api && c.limits != nil && len(c.trustedProxies) == 0 && strings.HasPrefix(c.publicURLs[0], "https:") {
		c.logger.Warn("clients use https, so there is a proxy in front, and none is trusted: the rate limits count all clients of the proxy as one; name its network in --trusted-proxies")
	}
	if c.roles.api && c.allowDelegated {
		c.logger.Warn("delegates of EIP-7702 accounts decide who signed for them: a delegate that accepts every signature opens its account to everyone; leave --allow-delegated-accounts out to accept only their keys")
	}
	if c.roles.api && len(c.operators) == 0 {
		c.logger.Warn("there is no operator to review missions and submissions: give their wallets in --operators")
	}
	switch {
	case !c.roles.api && !c.roles.worker:
	case c.media.store == "":
		c.logger.Warn("submissions are off: give --media to turn them on")
	case c.roles.worker && c.media.ffmpeg == "":
		c.logger.Warn("videos get no thumbnails: install ffmpeg, or name it in --ffmpeg")
	}
}

// config checks every value before anything is opened.
func (o serveOptions) config(cmd *cobra.Command) (config serviceConfig, err error) {
	if err := o.check(); err != nil {
		return serviceConfig{}, err
	}
	config = serviceConfig{
		listen: o.listen, operationsListen: o.operationsListen, operationsOptional: !cmd.Flags().Changed("operations-listen"), database: o.database, rpcURLs: splitList(o.rpc), ttl: o.ttl, draftRetention: o.draftRetention, allowedOrigins: o.allowedOrigins, warnsOfCaps: true,
		allowDelegated: o.allowDelegated,
		deployment:     chain.Deployment{ChainID: o.chainID, Factory: o.factory.Address, USDC: o.usdc.Address, ServiceToken: o.serviceToken.Address},
	}
	if err := o.parseChainWork(&config); err != nil {
		return serviceConfig{}, err
	}
	if config.media, err = o.media.parse(cmd, o.database); err != nil {
		return serviceConfig{}, err
	}
	if config.publicURLs, err = parsePublicURLs(o.publicURL); err != nil {
		return serviceConfig{}, err
	}
	if config.trustedProxies, err = parseProxies(o.trustedProxies); err != nil {
		return serviceConfig{}, err
	}
	if o.rateLimits == "on" {
		config.limits = api.DefaultLimits()
	} else {
		config.media.reservations = app.ReservationLimits{TotalBytes: config.media.reservations.TotalBytes}
	}
	if config.logger, err = newLogger(cmd.ErrOrStderr(), o.logLevel); err != nil {
		return serviceConfig{}, err
	}
	if config.authorizer, err = o.authorizer.open(cmd.Context(), "authorizer", o.chainID); err != nil {
		return serviceConfig{}, err
	}
	config.deployment.Authorizer = config.authorizer.Address()
	if o.settler.text != "" {
		if config.settler, err = o.settler.open(cmd.Context(), "settler", o.chainID); err != nil {
			return serviceConfig{}, err
		}
		config.deployment.Settler = config.settler.Address()
	}
	if o.sender.text != "" {
		if config.sender, err = o.sender.open(cmd.Context(), "sender", o.chainID); err != nil {
			return serviceConfig{}, err
		}
	}
	return config, o.payouts.checkKeys(&config)
}

// parseChainWork reads what the process does with the chain.
func (o serveOptions) parseChainWork(config *serviceConfig) (err error) {
	if config.roles, err = parseRoles(o.roles); err != nil {
		return err
	}
	for _, text := range splitList(o.operators) {
		operator, err := sortie.ParseAddress(text)
		if err != nil {
			return usageError("--operators: %w", err)
		}
		config.operators = append(config.operators, operator)
	}
	if config.operatorLimits, err = o.limits.parse(len(config.operators)); err != nil {
		return err
	}
	if o.confirmations < 1 {
		return usageError("--confirmations %d: want at least 1 block", o.confirmations)
	}
	config.confirmations = uint64(o.confirmations)
	if config.finality, err = chain.ParseFinality(o.finality); err != nil {
		return usageError("--finality %q: want finalized or a number of blocks from 1", o.finality)
	}
	if o.maxFeePerGas < 1 || o.maxFeePerGas > highestMaxFeePerGas {
		return usageError("--max-fee-per-gas %d: want gwei from 1 to %d", o.maxFeePerGas, highestMaxFeePerGas)
	}
	config.maxFeePerGas = new(big.Int).Mul(new(big.Int).SetUint64(o.maxFeePerGas), big.NewInt(params.GWei))
	if err := o.solvency.apply(config); err != nil {
		return err
	}
	return o.payouts.apply(config)
}

func parseRoles(text string) (parsed roles, err error) {
	for _, role := range splitList(text) {
		switch role {
		case "api":
			parsed.api = true
		case "worker":
			parsed.worker = true
		case "chain":
			parsed.chain = true
		default:
			return roles{}, usageError("--roles: unknown role %q; want some of api,worker,chain", role)
		}
	}
	if parsed == (roles{}) {
		return roles{}, usageError("--roles is empty: want some of api,worker,chain")
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
			return usageError("--%s is missing: give %s", required.flag, required.what)
		}
	}
	if err := o.authorizer.check("authorizer"); err != nil {
		return err
	}
	for flag, key := range map[string]keyFlag{"settler": o.settler, "sender": o.sender} {
		if key.text != "" {
			if err := key.check(flag); err != nil {
				return err
			}
		}
	}
	if o.draftRetention != 0 && (o.draftRetention < shortestDraftRetention || o.draftRetention > longestDraftRetention) {
		return usageError("--draft-retention %s: want %s to %s, or 0 to keep unfunded drafts for ever", o.draftRetention, shortestDraftRetention, longestDraftRetention)
	}
	if o.rateLimits != "on" && o.rateLimits != "off" {
		return usageError("--rate-limits %q: want on or off", o.rateLimits)
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
			return nil, usageError("--public-url: want https:// and a host and nothing after it, such as https://api.example.com")
		case parsed.Scheme == "http" && !isLoopback(parsed.Hostname()):
			return nil, usageError("--public-url %s: plain http is for this machine only; media links would travel unprotected: use https", one)
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
				return nil, usageError("--trusted-proxies %q: want a network such as 10.0.0.0/8, or an address", text)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		if prefix.Bits() == 0 {
			return nil, usageError("--trusted-proxies %s: that is everybody, and everybody could make up their address; name your load balancers", text)
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}

func newLogger(w io.Writer, level string) (*slog.Logger, error) {
	var parsed slog.Level
	if err := parsed.UnmarshalText([]byte(level)); err != nil {
		return nil, usageError("--log-level %q: want debug, info, warn or error", level)
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
