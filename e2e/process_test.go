package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/porttest"
)

// process is a running program in its own process group. It ends with its test.
type process struct {
	command *exec.Cmd
	output  bytes.Buffer  // complete once ended is closed
	ended   chan struct{} // closed when the process has ended
}

// skipShort skips a test that starts programs under -short, which needs nothing but Go.
func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: starts programs (sortie, anvil, node, an S3 server)")
	}
}

// launch starts sortie with only the given SORTIE_ variables and does not wait for it.
func launch(t *testing.T, environment []string, args ...string) *process {
	t.Helper()
	return spawn(t, environment, filepath.Join(binaries, "sortie"), args...)
}

// spawn starts a program with only the given SORTIE_ variables.
func spawn(t *testing.T, environment []string, program string, args ...string) *process {
	t.Helper()
	skipShort(t)
	p := &process{command: exec.Command(program, args...), ended: make(chan struct{})}
	p.command.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "SORTIE_")
	}), environment...)
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	release := guard(t, p.command.Process.Pid)
	go func() {
		_ = p.command.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		release()
		p.kill()
		if t.Failed() {
			t.Logf("%s %s (%s) said:\n%s", filepath.Base(program), strings.Join(args, " "), p.command.ProcessState, lastLines(p.output.String()))
		}
	})
	return p
}

// lastLines returns the end of a long output.
func lastLines(output string) string {
	const limit = 16 << 10
	if len(output) <= limit {
		return output
	}
	return "[...]" + output[len(output)-limit:]
}

// guard kills a process group when this test binary ends without its cleanups, as at its time
// limit. Once released it kills nothing.
func guard(t *testing.T, group int) (release func()) {
	t.Helper()
	watcher := exec.Command("/bin/sh", "-c", `read _; kill -KILL "-$0"`, strconv.Itoa(group))
	watcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	lifeline, err := watcher.StdinPipe()
	if err == nil {
		err = watcher.Start()
	}
	if err != nil {
		_ = syscall.Kill(-group, syscall.SIGKILL)
		t.Fatal(err)
	}
	return func() {
		_ = watcher.Process.Kill()
		_ = watcher.Wait()
		_ = lifeline.Close()
	}
}

// kill kills the process group with SIGKILL and waits for its end.
func (p *process) kill() {
	select {
	case <-p.ended: // its id may belong to another process by now
	default:
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
		<-p.ended
	}
}

// await waits until done, and fails the test when the process ends or the time is over before.
func (p *process) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(patience)
	for !done() {
		select {
		case <-again.C:
		case <-p.ended:
			t.Fatalf("no %s: %s ended with %s", what, filepath.Base(p.command.Path), p.command.ProcessState)
		case <-deadline:
			t.Fatalf("no %s after %s", what, patience)
		}
	}
}

// ready is what `sortie dev` writes to its ready file.
type ready struct {
	BaseURL        string                      `json:"baseUrl"`
	RPCURL         string                      `json:"rpcUrl"`
	ChainID        uint64                      `json:"chainId"`
	FactoryAddress sortie.Address              `json:"factoryAddress"`
	Authorizer     sortie.Address              `json:"authorizer"`
	Tokens         map[sortie.Token]readyToken `json:"tokens"`
	Wallets        []readyWallet               `json:"wallets"`

	path string // of the ready file itself
}

type readyToken struct {
	Address  sortie.Address `json:"address"`
	Decimals int            `json:"decimals"`
}

type readyWallet struct {
	Role       string         `json:"role"`
	Address    sortie.Address `json:"address"`
	PrivateKey string         `json:"privateKey"`
}

// startDev runs `sortie dev` on free ports and returns its ready file.
func startDev(t *testing.T) ready {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ready.json")
	dev := launch(t, nil, "dev", "--listen", "127.0.0.1:0", "--chain-listen", "127.0.0.1:0", "--data", t.TempDir(), "--ready-file", path)
	var written []byte
	dev.await(t, "ready file", func() (found bool) {
		var err error
		written, err = os.ReadFile(path)
		return err == nil
	})
	r := ready{path: path}
	if err := json.Unmarshal(written, &r); err != nil {
		t.Fatalf("ready file: %v", err)
	}
	return r
}

// key is the private key of the wallet with this role, as 0x hex.
func (r ready) key(t *testing.T, role string) string {
	t.Helper()
	for _, wallet := range r.Wallets {
		if wallet.Role == role {
			return wallet.PrivateKey
		}
	}
	t.Fatalf("the ready file has no wallet of role %q", role)
	return ""
}

// serveEnvironment configures `sortie serve` for this chain and the given database, without rate
// limits, on its own port. The same environment starts the same service again.
func (r ready) serveEnvironment(t *testing.T, database string) []string {
	t.Helper()
	address := porttest.Reserve(t)
	return []string{
		"SORTIE_LISTEN=" + address,
		"SORTIE_OPERATIONS_LISTEN=" + address, // the metrics too
		"SORTIE_PUBLIC_URL=http://" + address,
		"SORTIE_DATABASE=" + database,
		"SORTIE_RPC=" + r.RPCURL,
		"SORTIE_CHAIN_ID=" + fmt.Sprint(r.ChainID),
		"SORTIE_FACTORY=" + r.FactoryAddress.String(),
		"SORTIE_USDC=" + r.Tokens[sortie.TokenUSDC].Address.String(),
		"SORTIE_SERVICE_TOKEN=" + r.Tokens[sortie.TokenService].Address.String(),
		"SORTIE_AUTHORIZER=dev:1",
		"SORTIE_RATE_LIMITS=off",
		"SORTIE_LOG_LEVEL=warn",
	}
}

// server is a running `sortie serve`.
type server struct {
	*process
	url string // the URL that clients use and sign
}

// launchServe starts `sortie serve`, configured by SORTIE_ variables with SORTIE_LISTEN among them,
// and does not wait for it.
func launchServe(t *testing.T, environment ...string) *server {
	t.Helper()
	return &server{launch(t, environment, "serve"), launchedURL(t, environment)}
}

// launchedURL is the URL of a service with these variables.
func launchedURL(t *testing.T, environment []string) string {
	t.Helper()
	i := slices.IndexFunc(environment, func(variable string) bool { return strings.HasPrefix(variable, "SORTIE_LISTEN=") })
	if i < 0 {
		t.Fatal("serve needs SORTIE_LISTEN, so that the test knows its URL")
	}
	return "http://" + strings.TrimPrefix(environment[i], "SORTIE_LISTEN=")
}

// startServe is launchServe, but waits until the service is ready.
func startServe(t *testing.T, environment ...string) *server {
	t.Helper()
	s := launchServe(t, environment...)
	s.awaitReady(t)
	return s
}

func (s *server) awaitReady(t *testing.T) {
	t.Helper()
	probe := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	s.await(t, "readiness of "+s.url, func() bool {
		response, err := probe.Get(s.url + "/readyz")
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}
