package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/funding"
)

// Where `sortie dev` is found when nobody says otherwise.
const (
	defaultURL   = "http://127.0.0.1:8080"
	defaultTrust = ".sortie/" + ReadyFileName
)

// clientOptions say which service a command speaks to, and as whom.
type clientOptions struct {
	url           string
	keystore      string
	passwordFile  string
	signerCommand string
	devWallet     string
	devExample    string // the development wallet to suggest; empty: creator
}

func (o *clientOptions) register(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&o.url, "url", defaultURL, "base URL of the service")
	o.registerKey(flags)
}

// registerKey adds the flags that say which key signs.
func (o *clientOptions) registerKey(flags *pflag.FlagSet) {
	flags.StringVar(&o.keystore, "keystore", "", "sign with this keystore file (mode 0600)")
	flags.StringVar(&o.passwordFile, "password-file", "", "file with the keystore's password; KEYSTORE.password unless given")
	flags.StringVar(&o.signerCommand, "signer-command", "", "sign with this program: JSON on its stdin, the signature on its stdout")
	flags.StringVar(&o.devWallet, "wallet", "", "sign with a development wallet: creator, creator2, contributor1..3 or operator")
}

// signer opens the key. A development wallet is for development chains, which its caller sees to
// before money moves.
func (o *clientOptions) signer(ctx context.Context) (funding.Signer, error) {
	given := 0
	for _, value := range []string{o.keystore, o.signerCommand, o.devWallet} {
		if value != "" {
			given++
		}
	}
	if given != 1 {
		return nil, UsageError("who are you? give one of --keystore FILE, --signer-command PROGRAM or, with sortie dev, --wallet %s", cmp.Or(o.devExample, "creator"))
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
		var roles []devnet.Role
		for _, wallet := range wallets {
			roles = append(roles, wallet.Role)
		}
		return nil, UsageError("--wallet %q: want one of %v", o.devWallet, roles)
	}
	secret, err := devnet.Key(devnet.DefaultChainID, int(wallets[i].Index))
	if err != nil {
		return nil, err
	}
	return funding.NewKeySigner(secret)
}

// messageSigner lets a key of the service's kind sign requests of the client's kind.
type messageSigner struct{ funding.Signer }

func (s messageSigner) SignMessage(ctx context.Context, message []byte) ([]byte, error) {
	return funding.SignMessage(ctx, s.Signer, message)
}

// open gives a client that speaks for the chosen key.
func (o *clientOptions) open(ctx context.Context) (*sortie.Client, funding.Signer, error) {
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

// openPublic gives a client for what everybody may see. Nobody needs to say who they are.
func (o *clientOptions) openPublic() (*sortie.Client, error) {
	client, err := sortie.NewPublicClient(o.url)
	if err != nil {
		return nil, UsageError("--url: %w", err)
	}
	return client, nil
}

// requestError says how the process ends when a request failed.
func (o *clientOptions) requestError(err error) error {
	var unreachable *url.Error
	if errors.As(err, &unreachable) && !errors.Is(err, context.Canceled) {
		return Failed(ExitServer, fmt.Errorf("%s cannot be reached: %w; check that the service is running", o.url, unreachable.Err))
	}
	return err
}

// trustFile holds the values that quotes are checked against. The ready file of `sortie dev` is
// one.
type trustFile struct {
	RPCURL         string                      `json:"rpcUrl"`
	ChainID        uint64                      `json:"chainId"`
	FactoryAddress sortie.Address              `json:"factoryAddress"`
	Authorizer     sortie.Address              `json:"authorizer"`
	Tokens         map[sortie.Token]readyToken `json:"tokens"`
}

func readTrust(path string) (trustFile, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return trustFile{}, UsageError("--trust %s: no such file; it holds chainId, factoryAddress, authorizer and tokens as your service documents them (sortie dev writes one)", path)
	}
	var trust trustFile
	if err == nil {
		err = json.Unmarshal(data, &trust)
	}
	if err != nil {
		return trustFile{}, UsageError("--trust %s: %w", path, err)
	}
	if trust.ChainID == 0 || trust.FactoryAddress.IsZero() || trust.Authorizer.IsZero() || len(trust.Tokens) == 0 {
		return trustFile{}, UsageError("--trust %s: it must hold chainId, factoryAddress, authorizer and tokens", path)
	}
	return trust, nil
}

func (t trustFile) values() sortie.Trust {
	trust := sortie.Trust{
		ChainID: t.ChainID, Factory: t.FactoryAddress, Authorizers: []sortie.Address{t.Authorizer},
		Tokens: make(map[sortie.Token]sortie.TrustedToken, len(t.Tokens)),
	}
	for name, token := range t.Tokens {
		trust.Tokens[name] = sortie.TrustedToken{Address: token.Address, Decimals: token.Decimals}
	}
	return trust
}

// readDefinition reads a mission definition from a file, or from standard input for "-".
func readDefinition(path string, stdin io.Reader) (json.RawMessage, error) {
	const limit = 64 << 10
	source := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, UsageError("--file: %w", err)
		}
		defer file.Close()
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, limit+1))
	if err != nil {
		return nil, UsageError("--file %s: %w", path, err)
	}
	if len(data) > limit {
		return nil, UsageError("--file %s: a mission definition has at most %d bytes", path, limit)
	}
	return data, nil
}
