package devnet_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/devnet"
)

// childVariable makes the test binary play another process: one that is killed, or one whose
// goroutines are counted.
const (
	childVariable = "SORTIE_DEVNET_CHILD"
	dataVariable  = "SORTIE_DEVNET_DATA"
)

func TestMain(m *testing.M) {
	children := map[string]func() error{"chain": runChain, "goroutines": countGoroutines}
	run, found := children[os.Getenv(childVariable)]
	if !found {
		os.Exit(m.Run())
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runChain is the child that serves a chain until it is told to stop, or killed.
func runChain() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	chain, err := devnet.Start(ctx, devnet.Config{
		DataDir: os.Getenv(dataVariable), BlockInterval: 20 * time.Millisecond, ClockLead: 24 * time.Hour,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	fmt.Println("ready", chain.RPCURL())
	<-chain.Done()
	return chain.Close()
}

// countGoroutines is the child that starts and stops chains and prints the number of goroutines
// after each.
func countGoroutines() error {
	for range 3 {
		chain, err := devnet.Start(context.Background(), quiet())
		if err != nil {
			return err
		}
		if err := chain.Close(); err != nil {
			return err
		}
		fmt.Println("goroutines", settledGoroutines())
	}
	fmt.Println(allStacks())
	return nil
}

// settledGoroutines counts goroutines once the number has not changed for 200 ms: some are still
// ending when Close returns.
func settledGoroutines() int {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	count, same := runtime.NumGoroutine(), 0
	for same < 40 {
		<-again.C
		if now := runtime.NumGoroutine(); now == count {
			same++
		} else {
			count, same = now, 0
		}
	}
	return count
}

func allStacks() string {
	stacks := make([]byte, 1<<20)
	return string(stacks[:runtime.Stack(stacks, true)])
}

// child is another process running this test binary.
type child struct {
	t       testing.TB
	process *exec.Cmd
	lines   *bufio.Scanner
	stderr  strings.Builder
}

func startChild(t testing.TB, role, dataDir string) *child {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, process: exec.Command(binary)}
	c.process.Env = append(os.Environ(), childVariable+"="+role, dataVariable+"="+dataDir)
	c.process.Stderr = &c.stderr
	output, err := c.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(output)
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	return c
}

// url waits until the child's chain is ready.
func (c *child) url() string {
	c.t.Helper()
	for c.lines.Scan() {
		if url, found := strings.CutPrefix(c.lines.Text(), "ready "); found {
			return url
		}
	}
	err := c.process.Wait() // and until all of stderr is read
	c.t.Fatalf("the chain did not start: %v: %s", err, c.stderr.String())
	return ""
}

// kill is kill -9, and harmless for a process that has ended.
func (c *child) kill() {
	_ = c.process.Process.Kill()
	_ = c.process.Wait()
}

// terminate is a plain kill, and waits for the clean end.
func (c *child) terminate() {
	c.t.Helper()
	if err := c.process.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	begun := time.Now()
	if err := c.process.Wait(); err != nil {
		c.t.Fatalf("stop: %v: %s", err, c.stderr.String())
	}
	if took := time.Since(begun); took > stopLimit {
		c.t.Errorf("the chain took %s to stop", took)
	}
}
