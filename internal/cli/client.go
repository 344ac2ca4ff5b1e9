package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/funding"
)

// defaultURL is the default address of `sortie dev`.
const defaultURL = "http://127.0.0.1:8080"

// clientOptions select the service of a command and the wallet that signs its requests.
type clientOptions struct {
	url           string
	public        bool // no wallet is needed
	keystore      string
	passwordFile  string
	signerCommand string
	devWallet     string
	devExample    string // the development wallet that error messages suggest; empty: creator
}

func (o *clientOptions) register(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	o.registerURL(flags)
	o.registerKey(flags)
}

func (o *clientOptions) registerURL(flags *pflag.FlagSet) {
	flags.StringVar(&o.url, "url", defaultURL, "base URL of the service")
}

// registerKey adds the flags that select the signing key.
func (o *clientOptions) registerKey(flags *pflag.FlagSet) {
	flags.StringVar(&o.keystore, "keystore", "", "sign with this keystore file (mode 0600)")
	flags.StringVar(&o.passwordFile, "password-file", "", "file with the keystore's password (default KEYSTORE.password)")
	flags.StringVar(&o.signerCommand, "signer-command", "", "sign with this program: JSON on its stdin, the signature on its stdout")
	flags.StringVar(&o.devWallet, "wallet", "", "sign with a development wallet: creator, creator2, contributor1..3 or operator")
}

// signer opens the key. Callers must not move money on other chains with a development wallet.
func (o *clientOptions) signer(ctx context.Context) (funding.Signer, error) {
	given := 0
	for _, value := range []string{o.keystore, o.signerCommand, o.devWallet} {
		if value != "" {
			given++
		}
	}
	if given > 1 {
		return nil, UsageError("more than one wallet: give only one of --keystore, --signer-command and --wallet")
	}
	if given == 0 {
		return nil, UsageError("no wallet: give one of --keystore FILE, --signer-command PROGRAM or, with sortie dev, --wallet %s", cmp.Or(o.devExample, "creator"))
	}
	reference := "command:" + o.signerCommand
	switch {
	case o.keystore != "":
		reference = "keystore:" + o.keystore
		if o.passwordFile != "" {
			reference += ",password-file=" + o.passwordFile
		}
	case o.devWallet != "":
		return o.developmentSigner()
	}
	parsed, err := funding.ParseKeyRef(reference)
	if err != nil {
		return nil, UsageError("key: %w", err)
	}
	signer, err := parsed.Open(ctx, 0, nil)
	return signer, Failed(ExitAuthentication, err)
}

func (o *clientOptions) developmentSigner() (funding.Signer, error) {
	wallets := devnet.UserWallets()
	i := slices.IndexFunc(wallets, func(w devnet.Wallet) bool { return string(w.Role) == o.devWallet })
	if i < 0 {
		var roles []string
		for _, wallet := range wallets {
			roles = append(roles, string(wallet.Role))
		}
		return nil, UsageError("--wallet %q: want one of %s", o.devWallet, strings.Join(roles, ", "))
	}
	secret, err := devnet.Key(devnet.DefaultChainID, int(wallets[i].Index))
	if err != nil {
		return nil, err
	}
	return funding.NewKeySigner(secret)
}

// messageSigner makes a funding.Signer sign the requests of a client.
type messageSigner struct{ funding.Signer }

func (s messageSigner) SignMessage(ctx context.Context, message []byte) ([]byte, error) {
	return funding.SignMessage(ctx, s.Signer, message)
}

// open returns a client that signs with the selected key, or one without a key for public commands.
func (o *clientOptions) open(ctx context.Context) (*sortie.Client, error) {
	if o.public {
		client, err := sortie.NewPublicClient(o.url)
		if err != nil {
			return nil, UsageError("--url: %w", err)
		}
		return client, nil
	}
	client, _, err := o.openSigner(ctx)
	return client, err
}

// openSigner returns a client and the key that it signs with.
func (o *clientOptions) openSigner(ctx context.Context) (*sortie.Client, funding.Signer, error) {
	signer, err := o.signer(ctx)
	if err != nil {
		return nil, nil, err
	}
	client, err := sortie.NewClient(o.url, messageSigner{signer})
	if err != nil {
		return nil, nil, UsageError("--url: %w", err)
	}
	return client, signer, nil
}

// request opens a client, sends one request and prints the answer.
func request[T any](cmd *cobra.Command, client *clientOptions, send func(context.Context, *sortie.Client) (T, error), text func(io.Writer, T)) error {
	api, err := client.open(cmd.Context())
	if err != nil {
		return err
	}
	answer, err := send(cmd.Context(), api)
	if err != nil {
		return client.requestError(err)
	}
	return show(cmd, answer, func(w io.Writer) { text(w, answer) })
}

// requestError adds the exit code and a hint to the error of a request that did not reach the
// service.
func (o *clientOptions) requestError(err error) error {
	var unreachable *url.Error
	if errors.As(err, &unreachable) && !errors.Is(err, context.Canceled) {
		return Failed(ExitServer, fmt.Errorf("%s cannot be reached: %w; check that the service is running (sortie dev starts one), or give its address with --url", o.url, unreachable.Err))
	}
	return err
}

// identityFlags returns the flags that select the same service and wallet, for suggested commands.
func (o *clientOptions) identityFlags() string {
	var flags strings.Builder
	for _, flag := range []struct{ name, value, standard string }{
		{"url", o.url, defaultURL}, {"keystore", o.keystore, ""}, {"password-file", o.passwordFile, ""},
		{"signer-command", o.signerCommand, ""}, {"wallet", o.devWallet, ""},
	} {
		if flag.value != flag.standard {
			fmt.Fprintf(&flags, " --%s %s", flag.name, flag.value)
		}
	}
	return flags.String()
}

// suggest returns a command line for the same service and wallet.
func (o *clientOptions) suggest(format string, args ...any) string {
	return programName() + " " + fmt.Sprintf(format, args...) + o.identityFlags()
}
