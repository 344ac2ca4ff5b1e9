package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/cli"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/funding"
)

func newContractsCmd() *cobra.Command {
	group := &cobra.Command{Use: "contracts", Short: "Deploy the contracts, or check a deployment"}
	group.AddCommand(newContractsDeployCmd(), newContractsCheckCmd())
	cli.RequireSubcommand(group)
	return group
}

type deployOptions struct {
	rpc                                             string
	deployer                                        cli.KeyFlag
	authorizer, settler, admin, pauser, usdc, token cli.AddressFlag
	capUSDC, capServiceToken                        string
	withTestTokens                                  bool
}

func newContractsDeployCmd() *cobra.Command {
	var options deployOptions
	cmd := &cobra.Command{
		Use:   "deploy",
		Short: "Deploy MissionFactory to any chain and print its addresses",
		Long: `Deploys MissionFactory, and with --with-test-tokens the reward tokens too, and prints one JSON value
{chainId, factory, usdc, serviceToken, deployedAtBlock} for the flags of sortie serve.

The daily caps bound what a thief of the settler key can take in a UTC day, so there is no default: give an amount in whole tokens,
or none. The admin can change them later.

Nothing is sent before the chain, the keys and the tokens have been checked. A KEY is keystore:PATH (its password in
PATH.password), command:PATH, or dev:N for a development key on chain ids 1337 and 31337.`,
		Example: `  sortie contracts deploy --rpc http://127.0.0.1:8545 --deployer dev:9 --with-test-tokens \
    --cap-usdc 50000 --cap-service-token none \
    --authorizer 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 --settler 0x14dC79964da2C08b23698B3D3cc7Ca32193d9955`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			deployment, err := runDeploy(cmd.Context(), options)
			if err != nil {
				return err
			}
			return cli.PrintJSON(cmd.OutOrStdout(), deployment)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.rpc, "rpc", "", "JSON-RPC URL of a node (required)")
	flags.Var(&options.deployer, "deployer", "key that pays and deploys (required)")
	flags.Var(&options.authorizer, "authorizer", "address whose key signs funding quotes (required)")
	flags.Var(&options.settler, "settler", "address whose key signs payouts (required)")
	flags.Var(&options.admin, "admin", "address that grants roles and sets caps; the deployer unless given")
	flags.Var(&options.pauser, "pauser", "address that may pause; the deployer unless given")
	flags.StringVar(&options.capUSDC, "cap-usdc", "", "most USDC paid out in a UTC day, in whole tokens, or none (required)")
	flags.StringVar(&options.capServiceToken, "cap-service-token", "", "most SERVICE_TOKEN paid out in a UTC day, in whole tokens, or none (required)")
	flags.Var(&options.usdc, "usdc", "address of USDC on this chain")
	flags.Var(&options.token, "service-token", "address of the service token on this chain")
	flags.BoolVar(&options.withTestTokens, "with-test-tokens", false, "deploy both tokens too, for tests")
	return cmd
}

func runDeploy(ctx context.Context, options deployOptions) (devnet.Deployment, error) {
	params, err := options.params()
	if err != nil {
		return devnet.Deployment{}, err
	}
	node, err := cli.Dial(ctx, options.rpc)
	if err != nil {
		return devnet.Deployment{}, err
	}
	defer node.Close()
	chainID, err := node.ChainID(ctx)
	if err != nil {
		return devnet.Deployment{}, cli.Failed(cli.ExitChain, fmt.Errorf("--rpc: %s does not answer: start the node or correct the URL", node.Name()))
	}
	deployer, err := options.deployer.Open(ctx, "deployer", chainID.Uint64())
	if err != nil {
		return devnet.Deployment{}, err
	}
	deployment, err := devnet.Deploy(ctx, node, funding.TransactionSigner{Signer: deployer}, params)
	return deployment, cli.Failed(cli.ExitChain, withFlag(err))
}

func (o deployOptions) params() (devnet.DeployParams, error) {
	switch {
	case o.rpc == "":
		return devnet.DeployParams{}, cli.UsageError("--rpc is missing: give the URL of a node")
	case o.deployer.Check("deployer") != nil:
		return devnet.DeployParams{}, o.deployer.Check("deployer")
	case o.authorizer.IsZero():
		return devnet.DeployParams{}, cli.UsageError("--authorizer is missing: give the address whose key will sign funding quotes")
	case o.settler.IsZero():
		return devnet.DeployParams{}, cli.UsageError("--settler is missing: give the address whose key will sign payouts")
	case o.withTestTokens && !(o.usdc.IsZero() && o.token.IsZero()):
		return devnet.DeployParams{}, cli.UsageError("give --usdc and --service-token, or --with-test-tokens, not both")
	case !o.withTestTokens && (o.usdc.IsZero() || o.token.IsZero()):
		return devnet.DeployParams{}, cli.UsageError("--usdc or --service-token is missing: give both addresses, or --with-test-tokens")
	}
	capUSDC, err := parseCap("cap-usdc", o.capUSDC, sortie.TokenUSDC)
	if err != nil {
		return devnet.DeployParams{}, err
	}
	capServiceToken, err := parseCap("cap-service-token", o.capServiceToken, sortie.TokenService)
	if err != nil {
		return devnet.DeployParams{}, err
	}
	return devnet.DeployParams{
		Admin: o.admin.Address, Pauser: o.pauser.Address, Authorizer: o.authorizer.Address, Settler: o.settler.Address,
		USDCCap: capUSDC, ServiceTokenCap: capServiceToken,
		USDC: o.usdc.Address, ServiceToken: o.token.Address, WithTestTokens: o.withTestTokens,
	}, nil
}

// parseCap reads a cap in whole tokens; nil means no cap. There is no default: the operator must
// decide how much a stolen key could take.
func parseCap(flag, text string, token sortie.Token) (*big.Int, error) {
	switch text {
	case "":
		return nil, cli.UsageError("--%s is missing: give the most %s that may be paid out in a UTC day, in whole tokens, or none for no cap", flag, token)
	case noLimit:
		return nil, nil
	}
	units, err := sortie.ParseUnits(text, chain.Decimals(token))
	if err != nil {
		return nil, cli.UsageError("--%s %q: %w; give an amount in whole tokens, or none for no cap", flag, text, err)
	}
	if units.Sign() == 0 {
		return nil, cli.UsageError("--%s %s: nothing could be paid out; give an amount in whole tokens, or none for no cap", flag, text)
	}
	return units, nil
}

// noLimit is the value of a flag that turns a limit off.
const noLimit = "none"

type checkOptions struct {
	rpc                                       string
	chainID                                   uint64
	factory, usdc, token, authorizer, settler cli.AddressFlag
}

func newContractsCheckCmd() *cobra.Command {
	var options checkOptions
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that a deployment fits the configuration of the service",
		Long: `Compares the addresses with the chain: the chain's id, the contracts' code, the tokens and their decimals, and,
if given, the roles of authorizer and settler. It sends nothing.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runCheck(cmd, options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.rpc, "rpc", "", "JSON-RPC URL of a node (required)")
	flags.Uint64Var(&options.chainID, "chain-id", 0, "id of the chain (required)")
	flags.Var(&options.factory, "factory", "address of MissionFactory (required)")
	flags.Var(&options.usdc, "usdc", "address of USDC (required)")
	flags.Var(&options.token, "service-token", "address of the service token (required)")
	flags.Var(&options.authorizer, "authorizer", "address that should have the authorizer role")
	flags.Var(&options.settler, "settler", "address that should have the settler role")
	return cmd
}

func runCheck(cmd *cobra.Command, options checkOptions) error {
	for flag, missing := range map[string]bool{
		"rpc": options.rpc == "", "chain-id": options.chainID == 0, "factory": options.factory.IsZero(),
		"usdc": options.usdc.IsZero(), "service-token": options.token.IsZero(),
	} {
		if missing {
			return cli.UsageError("--%s is missing; see sortie contracts check --help", flag)
		}
	}
	node, err := cli.Dial(cmd.Context(), options.rpc)
	if err != nil {
		return err
	}
	defer node.Close()
	err = chain.Deployment{
		ChainID: options.chainID, Factory: options.factory.Address, USDC: options.usdc.Address, ServiceToken: options.token.Address,
		Authorizer: options.authorizer.Address, Settler: options.settler.Address,
	}.Check(cmd.Context(), node)
	if errors.Is(err, chain.ErrUnreachable) {
		return cli.Failed(cli.ExitChain, fmt.Errorf("--rpc: %w", err))
	}
	if err != nil {
		return cli.Failed(cli.ExitSafety, withFlag(err))
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), map[string]bool{"ok": true})
	}
	fmt.Fprintln(cmd.OutOrStdout(), "The deployment is correct.")
	return nil
}
