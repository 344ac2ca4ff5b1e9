package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/porttest"
)

const (
	startTimeout = 30 * time.Second
	pollInterval = 2 * time.Millisecond
)

// process is a server in another process.
type process struct {
	command *exec.Cmd
	address string        // host:port
	took    time.Duration // from start until ready

	connections []connection
}

// startServer starts a server on a free address and waits until it is ready.
func startServer(ctx context.Context, binary string, args func(address string) []string) (*process, error) {
	address, release, err := porttest.Hold()
	if err != nil {
		return nil, err
	}
	defer release() // the server listens by then
	return startAt(ctx, address, binary, args(address)...)
}

// startAt starts a server on a given address and waits until it is ready.
func startAt(ctx context.Context, address, binary string, args ...string) (*process, error) {
	p := &process{address: address}
	p.command = exec.CommandContext(ctx, binary, args...)
	p.command.Stderr = os.Stderr
	p.command.Cancel = func() error { return p.command.Process.Signal(syscall.SIGTERM) }
	begin := time.Now()
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	for !p.ready() {
		if time.Since(begin) > startTimeout || ctx.Err() != nil {
			p.stop()
			return nil, fmt.Errorf("%s was not ready after %s; its log is above", p.command, time.Since(begin))
		}
		time.Sleep(pollInterval)
	}
	p.took = time.Since(begin)
	return p, nil
}

func (p *process) ready() bool {
	response, err := http.Get("http://" + p.address + "/readyz")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func (p *process) pid() int { return p.command.Process.Pid }

func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	_ = p.command.Wait() // it was told to end
}

// devInstance is the content of the ready file of `sortie dev`.
type devInstance struct {
	BaseURL string
	RPCURL  string
	ChainID uint64
	Factory sortie.Address `json:"factoryAddress"`
	Tokens  map[sortie.Token]struct{ Address sortie.Address }
}

func (d devInstance) token(name sortie.Token) sortie.Address { return d.Tokens[name].Address }

// startDev starts `sortie dev` on an empty directory.
func startDev(ctx context.Context, binary, data string) (p *process, dev devInstance, err error) {
	p, err = startServer(ctx, binary, func(address string) []string {
		return []string{"dev", "--data", data, "--listen", address, "--chain-listen", "127.0.0.1:0"}
	})
	if err != nil {
		return nil, dev, err
	}
	content, err := os.ReadFile(filepath.Join(data, "ready.json"))
	if err == nil {
		err = json.Unmarshal(content, &dev)
	}
	if err != nil {
		p.stop()
		return nil, dev, fmt.Errorf("ready file: %w", err)
	}
	return p, dev, nil
}
