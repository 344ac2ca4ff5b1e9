package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/devnet"
)

// ReadyFileName is the name of the ready file in the data directory of `sortie dev`.
const ReadyFileName = "ready.json"

// defaultTrust is the ready file of `sortie dev` with its default data directory.
const defaultTrust = ".sortie/" + ReadyFileName

// ReadyFile has what a program needs to use a running `sortie dev`. It is also a [trustFile].
type ReadyFile struct {
	BaseURL string `json:"baseUrl"`
	trustFile
	Wallets []readyWallet `json:"wallets"`
}

// trustFile has the values that quotes are verified against.
type trustFile struct {
	RPCURL         string                      `json:"rpcUrl"`
	ChainID        uint64                      `json:"chainId"`
	FactoryAddress sortie.Address              `json:"factoryAddress"`
	Authorizer     sortie.Address              `json:"authorizer"`
	Tokens         map[sortie.Token]readyToken `json:"tokens"`
}

type readyToken struct {
	Address  sortie.Address `json:"address"`
	Decimals int            `json:"decimals"`
}

type readyWallet struct {
	Role       devnet.Role    `json:"role"`
	Address    sortie.Address `json:"address"`
	PrivateKey string         `json:"privateKey"`
}

// NewReadyFile describes a development chain and the service on it.
func NewReadyFile(net *devnet.Chain, baseURL string) ReadyFile {
	deployment := net.Deployment()
	ready := ReadyFile{
		BaseURL: baseURL,
		trustFile: trustFile{
			RPCURL:         net.RPCURL(),
			ChainID:        deployment.ChainID,
			FactoryAddress: deployment.Factory,
			Authorizer:     devnet.WalletByRole(devnet.RoleAuthorizer).Address,
			Tokens: map[sortie.Token]readyToken{
				sortie.TokenService: {deployment.ServiceToken, chain.Decimals(sortie.TokenService)},
				sortie.TokenUSDC:    {deployment.USDC, chain.Decimals(sortie.TokenUSDC)},
			},
		},
	}
	for _, wallet := range devnet.UserWallets() {
		ready.Wallets = append(ready.Wallets, readyWallet{wallet.Role, wallet.Address, wallet.PrivateKey})
	}
	return ready
}

// Write writes the file atomically: a program that waits for it never reads a part of it.
func (r ReadyFile) Write(path string) error {
	encoded, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write ready file: %w", err)
	}
	if err := writeFile(path, append(encoded, '\n')); err != nil {
		return fmt.Errorf("--ready-file: %w", err)
	}
	return nil
}

// readTrust reads a trust file.
func readTrust(path string) (trustFile, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return trustFile{}, UsageError("--trust %s: no such file; write one with chainId, factoryAddress, authorizer and tokens as your service documents them (sortie dev writes one)", path)
	}
	var trust trustFile
	if err == nil {
		err = json.Unmarshal(data, &trust)
	}
	if err != nil {
		return trustFile{}, UsageError("--trust %s: %w", path, err)
	}
	if trust.ChainID == 0 || trust.FactoryAddress.IsZero() || trust.Authorizer.IsZero() || len(trust.Tokens) == 0 {
		return trustFile{}, UsageError("--trust %s: want chainId, factoryAddress, authorizer and tokens", path)
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

// Greet prints the addresses of the running parts and commands to try. Path is the path of the
// ready file.
func (r ReadyFile) Greet(w io.Writer, path string) {
	fmt.Fprintf(w, "Sortie is running. Stop it with Ctrl-C. Data is kept; --reset starts with none.\n\n")
	fmt.Fprintf(w, "  API            %s  (documentation at %s/docs)\n", r.BaseURL, r.BaseURL)
	fmt.Fprintf(w, "  chain          %s  (chain id %d)\n", r.RPCURL, r.ChainID)
	fmt.Fprintf(w, "  factory        %s\n", r.FactoryAddress)
	fmt.Fprintf(w, "  USDC           %s\n", r.Tokens[sortie.TokenUSDC].Address)
	fmt.Fprintf(w, "  SERVICE_TOKEN  %s\n\n", r.Tokens[sortie.TokenService].Address)
	for _, wallet := range r.Wallets {
		fmt.Fprintf(w, "  %-14s %s\n", wallet.Role, wallet.Address)
	}
	url, trust := "", ""
	if r.BaseURL != defaultURL {
		url = " --url " + r.BaseURL
	}
	if path != defaultTrust {
		trust = " --trust " + path
	}
	fmt.Fprintf(w, `
The wallets hold gas and both tokens. Their keys are public: never send them anything of value.

Try it in another terminal:

  %[1]s mission create --wallet creator%[2]s --title "Photo of the main entrance" --reward 2.5 --count 3
  %[1]s mission fund DRAFT_ID --wallet creator%[2]s%[3]s
  %[1]s mission status DRAFT_ID --watch --wallet creator%[2]s

While the last one watches, in a third terminal:

  %[1]s review approve DRAFT_ID --wallet operator%[2]s
  %[1]s missions%[2]s
  %[1]s submit MISSION_ID photo.jpg --lat 48.8584 --lng 2.2945 --accuracy 8 --wallet contributor1%[2]s
  %[1]s mission pull DRAFT_ID photos --wallet creator%[2]s
`, programName(), url, trust)
}
