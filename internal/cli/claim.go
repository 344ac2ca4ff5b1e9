package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
)

type claimOptions struct {
	payerOptions
	factory AddressFlag
	token   string
	account AddressFlag
}

func newClaimCmd() *cobra.Command {
	var options claimOptions
	cmd := &cobra.Command{
		Use:   "claim --rpc URL --factory ADDRESS --token TOKEN --key KEY",
		Short: "Claim a deferred credit from the contract, without the service",
		Long: `A payout that the token refused, for example because the wallet was on its denylist, stays in the contract as a deferred
credit of the wallet. This command reads the credit, simulates its payment and sends it. Any wallet may pay the gas: the contract
pays the account of the credit. It works while the factory is paused.

Without a terminal it cannot ask, so --yes is required.`,
		Example: `  sortie claim --rpc https://node.example.com --factory 0x5FbDB2315678afecb367f032d93F642f64180aa3 --token USDC --key keystore:wallet.json`,
		Args:    NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runClaim(cmd, options) },
	}
	options.register(cmd)
	flags := cmd.Flags()
	flags.Var(&options.factory, "factory", "address of the MissionFactory that holds the deferred credit (required)")
	flags.StringVar(&options.token, "token", "", "USDC, SERVICE_TOKEN or the token's address (required)")
	flags.Var(&options.account, "account", "account of the deferred credit (default that of the key)")
	return cmd
}

// claimResult is what `claim --json` prints.
type claimResult struct {
	Outcome         string         `json:"outcome"` // paid, or checked with --dry-run
	Account         sortie.Address `json:"account"`
	Token           sortie.Token   `json:"token"`
	TokenAddress    sortie.Address `json:"tokenAddress"`
	AmountBaseUnits string         `json:"amountBaseUnits"`
	ChainID         uint64         `json:"chainId"`
	Factory         sortie.Address `json:"factory"`
	Transaction     string         `json:"transaction,omitempty"`
	BlockNumber     uint64         `json:"blockNumber,omitempty"`
}

// checkFlags checks the flags before the node is called.
func (o *claimOptions) checkFlags() error {
	if err := o.payerOptions.check(); err != nil {
		return err
	}
	switch {
	case o.factory.IsZero():
		return UsageError("--factory is missing: give the address of the contract that holds the deferred credit")
	case o.token == "":
		return UsageError("--token is missing: give USDC, SERVICE_TOKEN or the token's address")
	case o.token != string(sortie.TokenUSDC) && o.token != string(sortie.TokenService):
		if _, err := sortie.ParseAddress(o.token); err != nil {
			return UsageError("--token: want USDC, SERVICE_TOKEN or the token's address")
		}
	}
	if o.account.IsZero() && o.keysGiven() == 0 {
		return UsageError("--account is missing: give the account of the deferred credit")
	}
	return nil
}

func runClaim(cmd *cobra.Command, options claimOptions) error {
	if err := options.checkFlags(); err != nil {
		return err
	}
	node, chainID, err := options.dial(cmd.Context())
	if err != nil {
		return err
	}
	defer node.Close()
	signer, err := options.signer(cmd.Context(), chainID)
	if err != nil {
		return err
	}
	account := options.account.Address
	if account.IsZero() {
		account = addressOf(signer)
	}
	checking, cancel := context.WithTimeout(cmd.Context(), options.wait)
	defer cancel()
	claim, err := chain.CheckClaim(checking, node, sortie.Domain{ChainID: chainID, Factory: options.factory.Address}, options.token, account)
	if err != nil {
		return payoutError(err)
	}
	amount := sortie.FormatUnits(claim.Amount, chain.Decimals(claim.Token))
	fmt.Fprintf(options.describeTo(cmd), "This pays %s %s, which factory %s holds as a deferred credit of %s, to that account.\n", amount, claim.Token, claim.Domain.Factory, account)
	showPayer(options.describeTo(cmd), signer)
	result := claimResult{
		Outcome: outcomeChecked, Account: account, Token: claim.Token, TokenAddress: claim.TokenAddress, AmountBaseUnits: claim.Amount.String(),
		ChainID: chainID, Factory: claim.Domain.Factory,
	}
	if options.dryRun {
		return show(cmd, result, func(w io.Writer) { fmt.Fprintln(w, "All checks passed. Nothing was sent.") })
	}
	if err := askToSend(cmd, options.yes); err != nil {
		return err
	}
	mined, err := options.send(cmd, node, signer, chainID, chain.PayingCall{To: claim.Domain.Factory, Data: claim.Calldata()})
	if err != nil {
		return err
	}
	paid := claim.PaidBy(mined)
	if paid == nil {
		return Failed(ExitChain, fmt.Errorf("transaction %s succeeded and paid nothing: check --factory and the node", sortie.Hash(mined.TxHash)))
	}
	result.Outcome, result.AmountBaseUnits = string(chain.OutcomePaid), paid.String()
	result.Transaction, result.BlockNumber = mined.TxHash.String(), mined.BlockNumber.Uint64()
	return show(cmd, result, func(w io.Writer) {
		fmt.Fprintf(w, "Paid %s %s to %s in block %d, transaction %s.\n",
			sortie.FormatUnits(paid, chain.Decimals(claim.Token)), claim.Token, account, result.BlockNumber, result.Transaction)
	})
}
