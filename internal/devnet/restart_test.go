package devnet_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie/internal/devnet"
)

func wantOneLine(t *testing.T, text, part string) {
	t.Helper()
	text = strings.TrimSpace(text)
	if !strings.Contains(text, part) || strings.Contains(text, "\n") {
		t.Errorf("the error is %q, want one line with %q", text, part)
	}
}

func onDisk(dataDir string) devnet.Config {
	config := quiet()
	config.DataDir = dataDir
	return config
}

func TestStateIsKeptAcrossRestarts(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	chain, err := devnet.Start(ctx, onDisk(dataDir))
	if err != nil {
		t.Fatal(err)
	}
	creator := newSender(t, dial(t, chain.RPCURL()), devnet.RoleCreator)
	before := creator.sendMined(creator.transfer(common.HexToAddress("0xbeef")))
	deployed := chain.Deployment()

	stop() // as SIGTERM does
	select {
	case <-chain.Done():
	case <-time.After(stopLimit):
		t.Fatalf("the chain did not stop within %s", stopLimit)
	}
	if err := chain.Close(); err != nil {
		t.Fatal(err)
	}

	chain = startChain(t, onDisk(dataDir))
	client := dial(t, chain.RPCURL())
	if chain.Deployment() != deployed {
		t.Errorf("the contracts were at %+v and are at %+v", deployed, chain.Deployment())
	}
	if after := waitMined(t, client, before.TxHash); after.BlockHash != before.BlockHash {
		t.Errorf("the receipt was in block %s and is in %s", before.BlockHash, after.BlockHash)
	}
	if head := headNumber(t, client); head <= before.BlockNumber.Uint64() {
		t.Errorf("the head is block %d, not above %d", head, before.BlockNumber)
	}
	if deployer := newSender(t, client, devnet.RoleDeployer); deployer.nonce != 15 {
		t.Errorf("the deployer has sent %d transactions, want 3 creations and 12 gifts", deployer.nonce)
	}
}

func TestAddressesAreTheSameOnEveryChain(t *testing.T) {
	t.Parallel()
	one, other := startChain(t, quiet()).Deployment(), startChain(t, quiet()).Deployment()
	if one.ChainID != devnet.DefaultChainID || one.DeployedAtBlock == 0 {
		t.Errorf("the deployment says %+v", one)
	}
	other.DeployedAtBlock = one.DeployedAtBlock // which transactions share a block is chance
	if one != other {
		t.Errorf("two chains have their contracts at %+v and %+v", one, other)
	}
}

func TestOpenClientsDoNotDelayTheEnd(t *testing.T) {
	t.Parallel()
	chain, err := devnet.Start(t.Context(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	headNumber(t, dial(t, chain.RPCURL())) // leaves a connection open
	if _, err := dial(t, chain.WebSocketURL()).SubscribeNewHead(t.Context(), make(chan *types.Header)); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Dial("tcp", strings.TrimPrefix(chain.RPCURL(), "http://")) // never asks anything
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closeSoon(t, chain)
}

func TestClosingLeavesNoGoroutines(t *testing.T) {
	t.Parallel()
	counter := startChild(t, "goroutines", "")
	var counts []string
	var stacks strings.Builder
	for counter.lines.Scan() {
		if count, found := strings.CutPrefix(counter.lines.Text(), "goroutines "); found {
			counts = append(counts, count)
		} else {
			stacks.WriteString(counter.lines.Text() + "\n")
		}
	}
	if len(counts) != 3 || counts[0] != counts[2] {
		t.Errorf("after each of three chains %v goroutines were left (%s):\n%s", counts, counter.stderr.String(), stacks.String())
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, config devnet.Config) string {
		t.Helper()
		config.Logger = slog.New(slog.DiscardHandler)
		chain, err := devnet.Start(t.Context(), config)
		if err == nil {
			chain.Close()
			t.Fatal("the chain started")
		}
		return err.Error()
	}
	t.Run("data of another chain", func(t *testing.T) {
		t.Parallel()
		dataDir := t.TempDir()
		closeSoon(t, startedOn(t, onDisk(dataDir)))
		config := onDisk(dataDir)
		config.ChainID = 1337
		wantOneLine(t, refused(t, config), "belongs to another chain")
		closeSoon(t, startedOn(t, onDisk(dataDir))) // the refusal has let go of it and harmed nothing
	})
	t.Run("a port in use", func(t *testing.T) {
		t.Parallel()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		config := quiet()
		config.Listen = listener.Addr().String()
		wantOneLine(t, refused(t, config), "address already in use")
	})
	t.Run("an address without a port", func(t *testing.T) {
		t.Parallel()
		config := quiet()
		config.Listen = "localhost"
		wantOneLine(t, refused(t, config), "want host:port")
	})
	t.Run("a file for a directory", func(t *testing.T) {
		t.Parallel()
		wantOneLine(t, refused(t, onDisk("doc.go")), "doc.go")
	})
	t.Run("a context that has ended", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if chain, err := devnet.Start(ctx, quiet()); err == nil {
			chain.Close()
			t.Error("the chain started")
		}
	})
}

func startedOn(t *testing.T, config devnet.Config) *devnet.Chain {
	t.Helper()
	chain, err := devnet.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

func TestRPCServerListensOnLoopbackByDefault(t *testing.T) {
	t.Parallel()
	config := quiet()
	config.Listen = ":0"
	if url := startChain(t, config).RPCURL(); !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("the RPC URL is %s, want one on 127.0.0.1", url)
	}
	config.Listen = "0.0.0.0:0"
	chain := startChain(t, config)
	if url := chain.RPCURL(); !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("the RPC URL is %s, want one on 127.0.0.1", url)
	}
	headNumber(t, dial(t, chain.RPCURL()))
}
