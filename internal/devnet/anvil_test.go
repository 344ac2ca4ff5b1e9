package devnet_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ethereum/go-ethereum/ethclient"
)

const anvilPath = "../../contracts/node_modules/.bin/anvil"

// startAnvil runs another maker's chain for the time of a test.
func startAnvil(t *testing.T, chainID uint64, options ...string) *ethclient.Client {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: needs anvil")
	}
	if _, err := os.Stat(anvilPath); err != nil {
		t.Fatalf("anvil is not installed: run `make setup` (%v)", err)
	}
	arguments := append([]string{"--port", "0", "--chain-id", strconv.FormatUint(chainID, 10)}, options...)
	anvil := exec.Command(anvilPath, arguments...)
	anvil.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it is a script around the program: both must end
	output, err := anvil.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := anvil.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-anvil.Process.Pid, syscall.SIGKILL)
		_ = anvil.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if address, found := strings.CutPrefix(lines.Text(), "Listening on "); found {
			go func() { _, _ = io.Copy(io.Discard, output) }() // or anvil blocks on a full pipe
			return dial(t, "http://"+address)
		}
	}
	t.Fatal("anvil did not start")
	return nil
}
