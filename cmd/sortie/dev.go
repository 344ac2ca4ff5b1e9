package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/cli"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/service"
	"github.com/sortie-labs/sortie/internal/verify"
)

type devOptions struct {
	listen      string
	chainListen string
	data        string
	expose      bool
	reset       bool
	autoApprove bool
	readyFile   string
	isolation   string
	onReady     func(cli.ReadyFile) // may be nil
}

func newDevCmd() *cobra.Command {
	var options devOptions
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine: the service, a chain and funded wallets",
		Long: `Runs the whole service on embedded parts: a development chain with the contracts deployed and the wallets of the
well-known development mnemonic funded, a SQLite database and the API. Data is kept in the data directory, also after a
kill; --reset removes it. Stop it with Ctrl-C.

The keys are public: never send them anything of value.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDev(cmd.Context(), options, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.listen, "listen", "127.0.0.1:8080", "address of the API")
	flags.StringVar(&options.chainListen, "chain-listen", "127.0.0.1:8545", "address of the chain's JSON-RPC")
	flags.BoolVar(&options.expose, "expose", false, "let other machines reach it, although its keys are public")
	flags.StringVar(&options.data, "data", ".sortie", "directory for all data")
	flags.BoolVar(&options.reset, "reset", false, "remove the data of earlier runs first")
	flags.BoolVar(&options.autoApprove, "auto-approve", false, "approve every funded mission without a review")
	defineIsolation(flags, &options.isolation, ingest.IsolationBestEffort)
	flags.StringVar(&options.readyFile, "ready-file", "", "write addresses and keys to this file as JSON when ready")
	return cmd
}

// The contents of the data directory.
const (
	devChainDir = "chain"
	devDatabase = "sortie.db"
	devMediaDir = "media"
)

func runDev(ctx context.Context, options devOptions, stdout, stderr io.Writer) (err error) {
	if err := options.checkExposure(stderr); err != nil {
		return err
	}
	isolation, err := ingest.ParseIsolation(options.isolation)
	if err != nil {
		return cli.UsageError("--media-isolation %w", err)
	}
	if options.reset {
		if err := removeData(options.data); err != nil {
			return fmt.Errorf("--reset: %w", err)
		}
	}
	if err := service.HideMemory(); err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	// The chain ignores the end of ctx, so that the service stops before its chain.
	net, err := devnet.Start(context.WithoutCancel(ctx), devnet.Config{
		DataDir: filepath.Join(options.data, devChainDir), Listen: options.chainListen, Logger: logger,
	})
	if err != nil {
		return withFlag(err)
	}
	defer func() { err = errors.Join(err, net.Close()) }()
	config, err := devConfig(net, options, isolation, logger)
	if err != nil {
		return err
	}
	running, err := service.Open(ctx, config)
	if err != nil {
		return unlessStopped(ctx, withFlag(err))
	}
	ready := cli.NewReadyFile(net, running.BaseURL())
	kept := filepath.Join(options.data, cli.ReadyFileName)
	for _, path := range []string{kept, options.readyFile} {
		if path == "" {
			continue
		}
		if err := ready.Write(path); err != nil {
			running.Close()
			return err
		}
	}
	ready.Greet(stdout, kept)
	if options.onReady != nil {
		options.onReady(ready)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-net.Done(): // the chain ended, so the service stops too
			stop()
		case <-ctx.Done():
		}
	}()
	return withFlag(running.Run(ctx))
}

// checkExposure refuses addresses that other machines can reach, unless --expose is given.
func (o devOptions) checkExposure(stderr io.Writer) error {
	for _, opened := range []struct{ flag, address, what string }{
		{"listen", o.listen, "the API, where anyone can act as creator, contributor and operator with the development keys, and which has no rate limits"},
		{"chain-listen", o.chainListen, "the development chain, whose funded keys are public"},
	} {
		switch {
		case !isExposed(opened.address):
		case o.expose:
			fmt.Fprintf(stderr, "Warning: --%s %s opens to other machines %s.\n", opened.flag, opened.address, opened.what)
		default:
			return cli.Failed(cli.ExitSafety, fmt.Errorf("--%s %s would open to other machines %s; listen on 127.0.0.1, or add --expose if that is what you want", opened.flag, opened.address, opened.what))
		}
	}
	return nil
}

// devConfig configures the service on the development chain: all roles, no rate limits, any host,
// the development keys.
func devConfig(net *devnet.Chain, options devOptions, isolation ingest.Isolation, logger *slog.Logger) (service.Config, error) {
	deployment := net.Deployment()
	config := service.Config{
		Roles:            service.AllRoles,
		DraftRetention:   defaultDraftRetention,
		Listen:           options.listen,
		Database:         "sqlite:" + filepath.Join(options.data, devDatabase),
		RPCURLs:          []string{net.RPCURL()},
		Operators:        []sortie.Address{devnet.WalletByRole(devnet.RoleOperator).Address},
		AutoApprove:      options.autoApprove,
		Confirmations:    onchain.DefaultConfirmations,
		Media:            devMedia(filepath.Join(options.data, devMediaDir), isolation),
		AuthorizationTTL: funding.DefaultTTL,
		SolvencyInterval: devSolvencyInterval,
		AllowedOrigins:   []string{"*"},
		Logger:           logger,
	}
	if !isExposed(options.listen) { // metrics are for this machine only
		config.OperationsListen = options.listen
	}
	for role, signer := range map[devnet.Role]*funding.Signer{
		devnet.RoleAuthorizer: &config.Authorizer, devnet.RoleSettler: &config.Settler, devnet.RoleSender: &config.Sender,
	} {
		secret, err := devnet.Key(net.ChainID(), int(devnet.WalletByRole(role).Index))
		if err != nil {
			return service.Config{}, err
		}
		if *signer, err = funding.NewKeySigner(secret); err != nil {
			return service.Config{}, err
		}
	}
	config.Deployment = chain.Deployment{
		ChainID: deployment.ChainID, Factory: deployment.Factory, USDC: deployment.USDC, ServiceToken: deployment.ServiceToken,
		Authorizer: config.Authorizer.Address(), Settler: config.Settler.Address(),
	}
	return config, nil
}

// devMedia accepts submissions that pass the checks, without an operator and without a hold.
func devMedia(dir string, isolation ingest.Isolation) service.MediaConfig {
	ffmpeg, _ := findFFmpeg("ffmpeg") // without it, videos have no thumbnails
	return service.MediaConfig{
		Store: "file:" + dir, Uploads: filepath.Join(dir, uploadsDir), FFmpeg: ffmpeg, Isolation: isolation, Verification: verify.Auto,
	}
}

// removeData removes only the data of earlier runs from the directory.
func removeData(data string) error {
	for _, name := range []string{devChainDir, devMediaDir, cli.ReadyFileName, devDatabase, devDatabase + "-wal", devDatabase + "-shm", devDatabase + ".lock"} {
		if err := os.RemoveAll(filepath.Join(data, name)); err != nil {
			return err
		}
	}
	return nil
}

// runDemoService runs the service of `sortie demo`: dev on free ports, without the greeting.
func runDemoService(ctx context.Context, data string, stderr io.Writer, onReady func(cli.ReadyFile)) error {
	return runDev(ctx, devOptions{
		listen: "127.0.0.1:0", chainListen: "127.0.0.1:0", data: data, isolation: ingest.IsolationBestEffort.String(), onReady: onReady,
	}, io.Discard, stderr)
}
