package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/devnet"
)

// devReadyFile is the name of the ready file in the data directory of `sortie dev`.
const ReadyFileName = "ready.json"

// readyFile is what a program needs to know to use a running `sortie dev`. It is a [trustFile] too.
type ReadyFile struct {
	BaseURL string `json:"baseUrl"`
	trustFile
	Wallets []readyWallet `json:"wallets"`
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

// write puts the file in place whole: a program that waits for it never reads half of it.
func (r ReadyFile) Write(path string) error {
	encoded, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write ready file: %w", err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".ready-*")
	if err != nil {
		return fmt.Errorf("--ready-file: %w", err)
	}
	_, err = temporary.Write(append(encoded, '\n'))
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return fmt.Errorf("--ready-file: %w", err)
	}
	return nil
}

// greet tells a newcomer what runs and what to try.
func (r ReadyFile) Greet(w io.Writer, path string) {
	fmt.Fprintf(w, "Sortie is running. Stop it with Ctrl-C; what happened stays until you start with --reset.\n\n")
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

Try it, in another terminal:

  %[1]s mission create --wallet creator%[2]s --title "Photo of the main entrance" --reward 2.5 --count 3
  %[1]s mission fund DRAFT_ID --wallet creator%[2]s%[3]s
  %[1]s mission status DRAFT_ID --watch --wallet creator%[2]s

and while that one watches, in a third:

  %[1]s review approve DRAFT_ID --wallet operator%[2]s
  %[1]s missions%[2]s
  %[1]s submit MISSION_ID photo.jpg --lat 48.8584 --lng 2.2945 --accuracy 8 --wallet contributor1%[2]s
  %[1]s mission pull DRAFT_ID photos --wallet creator%[2]s
`, program(), url, trust)
}
