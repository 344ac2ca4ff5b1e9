// Command bench measures the service against limits that it measures in the same run: bare net/http
// handlers that do only what no such service can do without. Product and limit take turns, so that
// a noisy machine is noisy for both, and what is compared is the processor time of the server's
// process. It prints ratios, and microseconds for information.
//
// It informs: a missed goal is printed and the exit code is 0. It fails only when it could not
// measure.
//
// It drives the `sortie` binary from outside. Of the service's packages it uses those that fill a
// database, and nothing that answers a request. Only the follower of the chain is measured as a
// package, in a process of its own: through a recorded chain, which no development chain could mine
// in the time.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"

	"github.com/sortie-labs/sortie"
)

// bench is one run.
type bench struct {
	sortie   string // the binary
	scratch  string // directory on the disk to measure
	drafts   int    // of the wallet with many
	rounds   int
	requests int    // of a turn, when they are cheap
	nginx    string // the binary of the limit for media

	submissions int // of the mission with many
	soak        int // signed requests before memory is read
	only        *regexp.Regexp

	dev    devInstance // lends its chain to all
	report report
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) == 4 && os.Args[1] == bareCommand {
		return runBare(ctx, os.Args[2], os.Args[3])
	}
	if open := workers[os.Args[min(1, len(os.Args)-1)]]; len(os.Args) == 3 && open != nil {
		return runWorker(ctx, os.Args[2], open)
	}
	var b bench
	flag.StringVar(&b.sortie, "sortie", "bin/sortie", "the binary to measure")
	flag.StringVar(&b.scratch, "scratch", "", "empty directory for databases, on a real disk (required)")
	flag.IntVar(&b.drafts, "drafts", 100_000, "drafts of the wallet with many")
	flag.IntVar(&b.rounds, "rounds", 9, "turns that product and limit take")
	flag.IntVar(&b.requests, "requests", 3_000, "cheap requests in a turn; dear ones are fewer")
	flag.IntVar(&b.soak, "soak", 20_000, "signed requests after which memory is read")
	flag.IntVar(&b.submissions, "submissions", 1_000_000, "accepted submissions of the mission with many")
	flag.StringVar(&b.nginx, "nginx", "nginx", "the nginx to measure media against")
	only := flag.String("only", "", "regular expression: measure only what it matches of serve, shown, events, status, list, create, commits, pages, "+
		"deliverables, media, transfers, declare, digests, gas, cycle, payouts")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	if b.scratch == "" || b.drafts < fewDrafts || b.submissions < 2*fewSubmissions || b.rounds < 1 || b.requests < callers || b.soak < callers {
		return fmt.Errorf("--scratch is missing or a count too small: give a directory, from %d drafts, %d submissions, 1 round and %d requests",
			fewDrafts, 2*fewSubmissions, callers)
	}
	var err error
	if b.only, err = regexp.Compile(*only); err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	if _, err := exec.LookPath(b.nginx); err != nil && b.only.MatchString(partMedia) {
		return fmt.Errorf("the limit for media is missing: install nginx (for example: sudo apt-get install nginx), or leave media out with --only: %w", err)
	}
	if err := b.measure(ctx); err != nil {
		return err
	}
	if *asJSON {
		return b.report.writeJSON(os.Stdout)
	}
	return b.report.writeTable(os.Stdout)
}

func (b *bench) measure(ctx context.Context) error {
	b.report.LoadBefore = loadAverage()
	dev, err := b.measureDev(ctx)
	if err != nil {
		return fmt.Errorf("sortie dev: %w", err)
	}
	defer dev.stop()
	err = b.each(ctx, part{"serve", b.measureServe}, part{"shown", b.measureShown}, part{"events", b.measureEvents})
	if err == nil {
		err = b.measureRequests(ctx)
	}
	if err == nil {
		err = b.measureGallery(ctx)
	}
	if err == nil {
		err = b.each(ctx, part{"digests", b.measureDigests}, part{"gas", b.measureGas}, part{"cycle", b.measureCycle}, part{"payouts", b.measurePayouts})
	}
	b.report.LoadAfter = loadAverage()
	return err
}

// part is something to measure.
type part struct {
	name    string
	measure func(context.Context) error
}

// wants tells whether any of the parts was asked for.
func (b *bench) wants(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return b.only.MatchString(p.name) })
}

// each measures the parts that were asked for.
func (b *bench) each(ctx context.Context, parts ...part) error {
	for _, p := range parts {
		if b.only.MatchString(p.name) {
			fmt.Fprintln(os.Stderr, "bench:", p.name)
			if err := p.measure(ctx); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	return nil
}

// publicURL is what requests are signed for, whichever port a server got.
const publicURL = "https://bench.example"

// serve starts the product on a database of its own.
func (b *bench) serve(ctx context.Context, database string, flags ...string) (*process, error) {
	return b.serveAs(ctx, func(string) string { return publicURL }, database, flags...)
}

// serveAs is serve for requests that are signed for another URL, which may depend on the server's
// address.
func (b *bench) serveAs(ctx context.Context, public func(address string) string, database string, flags ...string) (*process, error) {
	return startServer(ctx, b.sortie, func(address string) []string {
		return append([]string{
			"serve", "--listen", address, "--public-url", public(address), "--database", "sqlite:" + database, "--rate-limits", "off",
			"--log-level", "warn", "--rpc", b.dev.RPCURL, "--chain-id", strconv.FormatUint(b.dev.ChainID, 10),
			"--factory", b.dev.Factory.String(), "--usdc", b.dev.token(sortie.TokenUSDC).String(),
			"--service-token", b.dev.token(sortie.TokenService).String(), "--authorizer", "dev:1",
		}, flags...)
	})
}

func (b *bench) path(name string) string { return filepath.Join(b.scratch, name) }
