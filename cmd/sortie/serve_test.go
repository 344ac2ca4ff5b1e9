package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/cli"
)

// runningServe is `sortie serve` in this process, on free ports and without a node.
type runningServe struct {
	t       *testing.T
	serving map[string]any // the log line "serving"
	lines   []string       // the log lines of the start
}

// startRunning runs `sortie serve` until the test ends, and waits for the last log line of its
// start.
func startRunning(t *testing.T, flags ...string) *runningServe {
	t.Helper()
	args := append([]string{
		"serve", "--listen", "127.0.0.1:0", "--public-url", "http://127.0.0.1", "--database", "sqlite:" + filepath.Join(t.TempDir(), "sortie.db"),
		"--rpc", "http://127.0.0.1:1", "--chain-id", "31337", "--factory", "0x1111111111111111111111111111111111111111",
		"--usdc", "0x2222222222222222222222222222222222222222", "--service-token", "0x3333333333333333333333333333333333333333", "--authorizer", "dev:1",
	}, flags...)
	ctx, stop := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, args, func(string) (string, bool) { return "", false }, io.Discard, writer)
		_ = writer.Close()
		ended <- code
	}()
	s := &runningServe{t: t}
	log := bufio.NewScanner(reader)
	for s.serving == nil && log.Scan() {
		s.lines = append(s.lines, log.Text())
		var line map[string]any
		if json.Unmarshal(log.Bytes(), &line) == nil && line["msg"] == "serving" {
			s.serving = line
		}
	}
	for !strings.Contains(s.last(), lastWarning) && log.Scan() {
		s.lines = append(s.lines, log.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("serve ended with %d, want 0", code)
		}
	})
	if s.serving == nil {
		t.Fatalf("serve did not start: %s", strings.Join(s.lines, "\n"))
	}
	return s
}

// lastWarning is in the last log line of the start without media.
const lastWarning = "submissions are off"

func (s *runningServe) last() string { return s.lines[len(s.lines)-1] }

func (s *runningServe) get(base, path string) (status int, body string) {
	s.t.Helper()
	response, err := http.Get(fmt.Sprint(s.serving[base]) + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestServeShowsMetricsOnTheOperationsListenerOnly(t *testing.T) {
	s := startRunning(t, "--operations-listen", "localhost:0") // differs from --listen, so it is a second listener
	for _, row := range []struct {
		base, path string
		want       int
	}{
		{"address", "/metrics", 404}, {"operations", "/metrics", 200}, {"address", "/healthz", 200}, {"operations", "/healthz", 200},
		{"address", "/api/missions", 200}, {"operations", "/api/missions", 404},
	} {
		if got, body := s.get(row.base, row.path); got != row.want {
			t.Errorf("%s of %s: got %d %s, want %d", row.path, row.base, got, body, row.want)
		}
	}
	_, metrics := s.get("operations", "/metrics")
	if !strings.Contains(metrics, "go_gc_gomemlimit_bytes ") || strings.Contains(metrics, "go_gc_gomemlimit_bytes 9.223372036854776e+18") {
		t.Errorf("memory limit of the runtime: got none, want one below the memory of the machine")
	}
}

func TestServeShowsMetricsWithTheAPIWhereBothListenToOneAddress(t *testing.T) {
	s := startRunning(t, "--operations-listen", "127.0.0.1:0")
	if s.serving["operations"] != s.serving["address"] {
		t.Errorf("operations: got %v, want %v", s.serving["operations"], s.serving["address"])
	}
	if got, body := s.get("address", "/metrics"); got != 200 {
		t.Errorf("/metrics: got %d %s, want 200", got, body)
	}
}

func TestServeWarnsOfAProxyThatIsNotTrusted(t *testing.T) {
	for name, row := range map[string]struct {
		flags []string
		warns bool
	}{
		"https without trusted proxies": {[]string{"--public-url", "https://api.example.com"}, true},
		"https with trusted proxies":    {[]string{"--public-url", "https://api.example.com", "--trusted-proxies", "10.0.0.0/8"}, false},
		"https without limits":          {[]string{"--public-url", "https://api.example.com", "--rate-limits", "off"}, false},
		"http on this machine":          {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := startRunning(t, append(row.flags, "--operations-listen", "127.0.0.1:0")...)
			if got := strings.Contains(strings.Join(s.lines, "\n"), "--trusted-proxies"); got != row.warns {
				t.Errorf("a warning that names --trusted-proxies: got %t, want %t:\n%s", got, row.warns, strings.Join(s.lines, "\n"))
			}
		})
	}
}

// The development keys are public, so other machines can reach `sortie dev` only with --expose.
func TestDevRefusesToBeReachedByOtherMachines(t *testing.T) {
	for name, flags := range map[string][]string{
		"API on every address":   {"--listen", ":0", "--chain-listen", "127.0.0.1:0"},
		"API on IPv6":            {"--listen", "[::]:0", "--chain-listen", "127.0.0.1:0"},
		"chain on every address": {"--listen", "localhost:0", "--chain-listen", "0.0.0.0:0"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends a dev that starts by mistake
			defer cancel()
			data := filepath.Join(t.TempDir(), "data")
			var stderr bytes.Buffer
			code := run(ctx, append([]string{"dev", "--data", data}, flags...), func(string) (string, bool) { return "", false }, io.Discard, &stderr)
			if code != int(cli.ExitSafety) || !strings.Contains(stderr.String(), "development") || !strings.Contains(stderr.String(), "--expose") {
				t.Errorf("got exit code %d and %q, want %d and a message that names development and --expose", code, stderr.String(), cli.ExitSafety)
			}
			if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("data directory: got %v, want that it does not exist", err)
			}
		})
	}
}
