package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/funding"
)

// payerOptions select the node and the wallet that pays the gas of one call. They need no service.
type payerOptions struct {
	rpc      string
	key      KeyFlag
	identity clientOptions
	yes      bool
	dryRun   bool
	wait     time.Duration
}

func (o *payerOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.rpc, "rpc", "", "JSON-RPC URL of a node (required)")
	flags.Var(&o.key, "key", "key that pays the gas: keystore:PATH, command:PATH or dev:N")
	o.identity.registerKey(flags)
	flags.BoolVarP(&o.yes, "yes", "y", false, "send without asking")
	flags.BoolVar(&o.dryRun, "dry-run", false, "check everything and send nothing; no key is needed")
	flags.DurationVar(&o.wait, "wait", 3*time.Minute, "how long to wait for the transaction")
}

// Dial opens the node of --rpc.
func Dial(ctx context.Context, url string) (*chain.Node, error) {
	node, err := chain.Dial(ctx, url)
	if err != nil {
		return nil, UsageError("--rpc: %w", err)
	}
	return node, nil
}

// keysGiven counts the flags that name a key.
func (o *payerOptions) keysGiven() (given int) {
	for _, value := range []string{o.key.text, o.identity.keystore, o.identity.signerCommand, o.identity.devWallet} {
		if value != "" {
			given++
		}
	}
	return given
}

// check checks the flags before the node is called.
func (o *payerOptions) check() error {
	switch given := o.keysGiven(); {
	case o.rpc == "":
		return UsageError("--rpc is missing: give the URL of a node of the contract's chain")
	case o.wait <= 0:
		return UsageError("--wait %s: want a positive duration, such as 3m", o.wait)
	case given > 1:
		return UsageError("give one of --key, --keystore, --signer-command and --wallet, not %d", given)
	case given == 0 && !o.dryRun:
		return UsageError("no key to pay the gas: give --key KEY (keystore:PATH, command:PATH or dev:N), or --dry-run to check only")
	case o.key.text != "":
		return o.key.Check("key")
	}
	return nil
}

// dial returns the node and its chain id.
func (o *payerOptions) dial(ctx context.Context) (*chain.Node, uint64, error) {
	node, err := Dial(ctx, o.rpc)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	chainID, err := node.ChainID(ctx)
	if err != nil || !chainID.IsUint64() {
		node.Close()
		return nil, 0, Failed(ExitChain, fmt.Errorf("--rpc: %s does not answer: start the node or correct the URL", node.Name()))
	}
	return node, chainID.Uint64(), nil
}

// signer opens the key, or returns nil if none is given.
func (o *payerOptions) signer(ctx context.Context, chainID uint64) (funding.Signer, error) {
	switch {
	case o.keysGiven() == 0:
		return nil, nil
	case o.key.text != "":
		signer, err := o.key.Open(ctx, "key", chainID)
		return signer, Failed(ExitAuthentication, err)
	case o.identity.devWallet != "" && !sortie.IsDevelopmentChain(chainID):
		return nil, Failed(ExitSafety, fmt.Errorf("--wallet %s is a development key, which is public, and chain %d is not a development chain: give --key", o.identity.devWallet, chainID))
	}
	return o.identity.signer(ctx)
}

// describeTo returns where the command describes what it will do. With --json and nothing to
// confirm, it discards the description: standard error has only an error as JSON.
func (o *payerOptions) describeTo(cmd *cobra.Command) io.Writer {
	if wantsOutputJSON(cmd) && (o.yes || o.dryRun || !hasTerminal(cmd)) {
		return io.Discard
	}
	return cmd.ErrOrStderr()
}

// send sends one call and waits until it is mined.
func (o *payerOptions) send(cmd *cobra.Command, node *chain.Node, signer funding.Signer, chainID uint64, call chain.PayingCall) (*types.Receipt, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), o.wait)
	defer cancel()
	receipt, err := call.Send(ctx, node, funding.TransactionSigner{Signer: signer}, chainID, func(hash sortie.Hash) {
		fmt.Fprintf(o.describeTo(cmd), "Sent %s, waiting for it to be mined...\n", hash)
	})
	if err != nil {
		code := ExitChain
		if errors.Is(err, context.Canceled) {
			code = ExitInterrupted
		}
		return nil, Failed(code, fmt.Errorf("%w; it is safe to run this command again: nothing is paid twice", err))
	}
	return receipt, nil
}

// payoutError adds the exit code to the error of a receipt or claim that is refused or cannot be
// checked.
func payoutError(err error) error {
	var refusal *chain.PayoutRefusal
	if !errors.As(err, &refusal) {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return Failed(ExitChain, fmt.Errorf("nothing was sent: %w", err))
	}
	code := map[chain.RefusalKind]ExitCode{
		chain.RefusedForeign: ExitSafety, chain.RefusedOver: ExitConflict, chain.RefusedForNow: ExitChain, chain.RefusedWrongChain: ExitChain,
	}[refusal.Kind]
	return Failed(code, fmt.Errorf("nothing was sent: %s", clean(refusal.Message)))
}

// addressOf returns the address of a signer, or zero without a signer.
func addressOf(signer funding.Signer) sortie.Address {
	if signer == nil {
		return sortie.Address{}
	}
	return signer.Address()
}

// showPayer shows which account pays the gas.
func showPayer(w io.Writer, signer funding.Signer) {
	if signer != nil {
		fmt.Fprintf(w, "Gas is paid by %s.\n", signer.Address())
		return
	}
	fmt.Fprintln(w, "Any wallet may send it and pay the gas.")
}
