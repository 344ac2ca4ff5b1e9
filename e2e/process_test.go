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

// process is a program that runs by itself, in a process group of its own. It ends with the test
// that started it.
type process struct {
	command *exec.Cmd
	output  bytes.Buffer  // complete once ended is closed
	ended   chan struct{} // closed when the process is gone
}

// launch starts sortie with no SORTIE_ variable but the given ones, and waits for nothing.
func launch(t *testing.T, environment []string, args ...string) *process {
	t.Helper()
	return spawn(t, environment, filepath.Join(binaries, "sortie"), args...)
}

// spawn starts a program with no SORTIE_ variable but the given ones.
func spawn(t *testing.T, environment []string, program string, args ...string) *process {
	t.Helper()
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

// lastLines keeps a failure readable: what matters of a long life is its end.
func lastLines(output string) string {
	const limit = 16 << 10
	if len(output) <= limit {
		return output
	}
	return "[...]" + output[len(output)-limit:]
}

// guard has a process group killed when this test binary ends without its cleanups, as it does when
// it runs into its time limit. Once released it kills nothing.
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

// kill ends the process with all it started, without a chance to tidy up, and waits until it is
// gone.
func (p *process) kill() {
	select {
	case <-p.ended: // its number may belong to somebody else by now
	default:
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
		<-p.ended
	}
}

// await waits until done, and fails the test when the process ends or loses patience before.
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

// startDev runs `sortie dev` on free ports and gives what its ready file says.
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
// limits, on a port of its own. The same environment starts the same service again.
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
	url string // where it answers; also the URL that clients sign
}

// launchServe starts `sortie serve`, configured by SORTIE_ variables with SORTIE_LISTEN among them,
// and waits for nothing.
func launchServe(t *testing.T, environment ...string) *server {
	t.Helper()
	return &server{launch(t, environment, "serve"), launchedURL(t, environment)}
}

// launchedURL is where a service with these variables answers.
func launchedURL(t *testing.T, environment []string) string {
	t.Helper()
	i := slices.IndexFunc(environment, func(variable string) bool { return strings.HasPrefix(variable, "SORTIE_LISTEN=") })
	if i < 0 {
		t.Fatal("serve needs SORTIE_LISTEN: nobody could know where to find it")
	}
	return "http://" + strings.TrimPrefix(environment[i], "SORTIE_LISTEN=")
}

// startServe is launchServe for callers that want it to answer: it returns when the service is
// ready.
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
