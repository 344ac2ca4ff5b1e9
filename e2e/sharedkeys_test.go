package e2e

import (
	"crypto/ecdsa"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/uuid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/porttest"
)

// keystoreOf writes a key to a file.
func keystoreOf(t *testing.T, secret *ecdsa.PrivateKey) string {
	t.Helper()
	key := &keystore.Key{Id: uuid.New(), Address: crypto.PubkeyToAddress(secret.PublicKey), PrivateKey: secret}
	text, err := keystore.EncryptKey(key, "password", keystore.LightScryptN, keystore.LightScryptP)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.json")
	for file, content := range map[string][]byte{path: text, path + ".password": []byte("password\n")} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// newKeystore is the reference to a new key in a file.
func newKeystore(t *testing.T) string {
	t.Helper()
	secret, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return "keystore:" + keystoreOf(t, secret)
}

// Outside of development the three keys must be different accounts. --allow-shared-keys warns at
// every start, and operators can see it.
func TestKeysAreSeparateOutsideOfDevelopment(t *testing.T) {
	t.Parallel()
	one, other := newKeystore(t), newKeystore(t)
	operator := newKey(t)
	address := porttest.Reserve(t)
	environment := []string{
		"SORTIE_LISTEN=" + address, "SORTIE_OPERATIONS_LISTEN=" + address, "SORTIE_PUBLIC_URL=http://" + address, "SORTIE_DATABASE=" + sqliteIn(t),
		"SORTIE_RPC=http://127.0.0.1:1", "SORTIE_CHAIN_ID=10", "SORTIE_RATE_LIMITS=off", "SORTIE_OPERATORS=" + operator.Address().String(),
		"SORTIE_FACTORY=0xb19b36b1456E65E3A6D514D3F715f204BD59f431", "SORTIE_USDC=0xA15BB66138824a1c7167f5E85b957d04Dd34E468",
		"SORTIE_SERVICE_TOKEN=0x700b6A60ce7EaaEA56F065753d8dcB9653dbAD35",
	}
	for name, row := range map[string]struct{ authorizer, settler, sender, want string }{
		"settler and sender":     {one, other, other, "--settler and --sender are the same account"},
		"authorizer and sender":  {one, other, one, "--authorizer and --sender are the same account"},
		"authorizer and settler": {one, one, other, "--authorizer and --settler are the same account"},
		"without a sender":       {one, one, "", "--authorizer and --settler are the same account"},
	} {
		t.Run(name, func(t *testing.T) {
			keys := []string{"SORTIE_AUTHORIZER=" + row.authorizer, "SORTIE_SETTLER=" + row.settler, "SORTIE_SENDER=" + row.sender}
			refused := launchServe(t, append(slices.Clone(environment), keys...)...)
			if refused.startsAfterAll() {
				t.Fatalf("serve starts, want that it refuses: %s", row.want)
			}
			output := refused.output.String()
			if refused.command.ProcessState.ExitCode() != 2 || !strings.Contains(output, row.want) || !strings.Contains(output, "--allow-shared-keys") {
				t.Errorf("serve: got %s and %q, want exit code 2 and %q with what to do", refused.command.ProcessState, output, row.want)
			}
		})
	}
	service := startServe(t, append(environment, "SORTIE_AUTHORIZER="+one, "SORTIE_SETTLER="+other, "SORTIE_SENDER="+other, "SORTIE_ALLOW_SHARED_KEYS=true")...)
	client, err := sortie.NewClient(service.url, operator)
	if err != nil {
		t.Fatal(err)
	}
	overview, err := client.Chain(t.Context())
	const want = "--settler and --sender are the same account"
	if err != nil || len(overview.Warnings) != 1 || !strings.Contains(overview.Warnings[0], want) {
		t.Errorf("what an operator sees: got %q, %v; want one warning that %s", overview.Warnings, err, want)
	}
	service.kill()
	if !strings.Contains(service.output.String(), want) {
		t.Errorf("the log: got %s, want a warning that %s", service.output.String(), want)
	}
}

// A low balance of the sender is reported in the status, the health and the metrics, while nothing
// is sent.
func TestLowGasBalanceIsReported(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, append(chain.serviceEnvironment(sqliteIn(t), "8"), "SORTIE_MIN_GAS_BALANCE=20000")) // anvil's accounts have 10000
	f.service.await(t, "alarm about the balance", func() bool { return f.metric("sortie_sender_alarms", `"gas_low"`) == 1 })
	if got := f.metric("sortie_sender_balance", ""); got != 10000 {
		t.Errorf("balance: got %v, want 10000", got)
	}
	if got := f.health().Parts["sender"]; got != "gas_low" {
		t.Errorf("health of the sender: got %q, want gas_low", got)
	}
	secret, err := crypto.HexToECDSA(strings.TrimPrefix(chain.key(t, "operator"), "0x"))
	if err != nil {
		t.Fatal(err)
	}
	status := exec.CommandContext(t.Context(), filepath.Join(binaries, "sortie"), "chain", "status", "--url", f.service.url, "--keystore", keystoreOf(t, secret))
	output, err := status.CombinedOutput()
	for _, want := range []string{"gas_low", "less than the configured minimum", "how long it lasts is not known"} {
		if err != nil || !strings.Contains(string(output), want) {
			t.Errorf("sortie chain status: got %v and %s, want %q in it", err, output, want)
		}
	}
}

// startsAfterAll waits until the service has ended or is ready.
func (s *server) startsAfterAll() bool {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-s.ended:
			return false
		case <-again.C:
		}
		if response, err := http.Get(s.url + "/readyz"); err == nil {
			_ = response.Body.Close()
			return true
		}
	}
}
