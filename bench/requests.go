package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"time"
)

const (
	pathMissions     = "/api/external/missions"
	pathDrafts       = pathMissions + "/drafts"
	pageTarget       = pathMissions + "?limit=100"
	draftsPerCreator = 900 // the product refuses more than 1,000 that wait for funding
)

// arena is product and limit, on equal databases.
type arena struct {
	*bench
	product, bare *process
	ids           []string // drafts of fewDraftsCreator
	creates       int      // drafts asked for so far
}

func (b *bench) measureRequests(ctx context.Context) error {
	a := &arena{bench: b}
	parts := []part{{"status", a.status}, {"list", a.list}, {"create", a.create}, {"commits", a.commits}, {"pages", a.pages}}
	if !b.wants(parts) {
		return nil
	}
	fmt.Fprintln(os.Stderr, "bench: seed the databases")
	seeded, copied := b.path("seeded.db"), b.path("bare.db")
	ids, err := b.seed(ctx, seeded)
	if err != nil {
		return err
	}
	if err := copyFile(seeded, copied); err != nil {
		return err
	}
	a.ids = ids[:min(len(ids), b.requests)] // no more than the first round warms
	if a.product, err = b.serve(ctx, seeded); err != nil {
		return err
	}
	defer a.product.stop()
	a.bare, err = startServer(ctx, os.Args[0], func(address string) []string { return []string{bareCommand, address, copied} })
	if err != nil {
		return err
	}
	defer a.bare.stop()
	return b.each(ctx, parts...)
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// reads is a contender that asks for one thing after the other as the same wallet.
func (a *arena) reads(p *process, requests int, owner creator, targetOf func(n int) string) turn {
	return contender{p, requests, func(n int) []byte { return owner.get(targetOf(n)) }}.turn
}

func (a *arena) status(ctx context.Context) error {
	under := func(path string) func(int) string {
		return func(n int) string { return path + a.ids[n%len(a.ids)] }
	}
	costs, err := compete(ctx, a.rounds,
		a.reads(a.product, a.requests, fewDraftsCreator, under(pathMissions+"/")),
		a.reads(a.bare, a.requests, fewDraftsCreator, under(pathCheck)),
		a.reads(a.bare, a.requests, fewDraftsCreator, under(pathRow)))
	if err != nil {
		return err
	}
	if err := a.addCPU("status; limit: check the signature", costs[0], costs[1], 0); err != nil {
		return err
	}
	return a.addCPU("status; limit: check, read a row", costs[0], costs[2], 0.8)
}

func (a *arena) list(ctx context.Context) error {
	const dearer = 10 // than a status
	costs, err := compete(ctx, a.rounds,
		a.reads(a.product, a.requests/dearer, fewDraftsCreator, func(int) string { return pageTarget }),
		a.reads(a.bare, a.requests/dearer, fewDraftsCreator, func(int) string { return pathList }))
	if err != nil {
		return err
	}
	return a.addCPU("list of 100; limit: check, read 100 fragments", costs[0], costs[1], 0)
}

// writes is a contender that creates drafts, as ever new wallets.
func (a *arena) writes(p *process, requests int, path string) contender {
	var owner creator
	owned := draftsPerCreator
	return contender{p, requests, func(int) []byte {
		if owned == draftsPerCreator {
			owner, owned = newCreator(1_000+a.creates), 0
		}
		owned++
		a.creates++
		return owner.post(path, fmt.Sprintf("bench-%020d", a.creates), missionBody)
	}}
}

const createNote = "the goal of create, 0.6, was set for the limit that does not recover what it signed. It is held against the one that does, " +
	"because the protocol demands that of every create; the ratio to the other limit is printed above it, without a verdict."

// create has two limits. The goal is held against the second, which like every create recovers the
// signer of its own quote before it answers: that is a rule of the protocol and no overhead. The
// first shows what the rule costs.
func (a *arena) create(ctx context.Context) error {
	const dearer = 3
	costs, err := compete(ctx, a.rounds,
		a.writes(a.product, a.requests/dearer, pathDrafts).turn,
		a.writes(a.bare, a.requests/dearer, pathCreate).turn,
		a.writes(a.bare, a.requests/dearer, pathCreateChecked).turn)
	if err != nil {
		return err
	}
	a.report.Notes = append(a.report.Notes, createNote)
	if err := a.addCPU("create; limit: check, sign, store durably", costs[0], costs[1], 0); err != nil {
		return err
	}
	return a.addCPU("create; limit: check, sign, recover what was signed, store durably", costs[0], costs[2], 0.6)
}

// pages compares the pages of the wallet with many drafts with those of the one with few.
func (a *arena) pages(ctx context.Context) error {
	const dearer = 15
	var contenders []turn
	for _, list := range []struct {
		owner  creator
		drafts int
	}{{fewDraftsCreator, fewDrafts}, {manyDraftsCreator, a.drafts}} {
		cursor, err := deepCursor(a.product, list.owner, list.drafts)
		if err != nil {
			return err
		}
		for _, target := range []string{pageTarget, pageTarget + "&cursor=" + url.QueryEscape(cursor), pageTarget + "&status=published"} {
			contenders = append(contenders, a.reads(a.product, a.requests/dearer, list.owner, func(int) string { return target }))
		}
	}
	costs, err := compete(ctx, a.rounds, contenders...)
	if err != nil {
		return err
	}
	for i, name := range []string{"first page", "deep page", "rare filter"} {
		few, many := costs[i], costs[i+3]
		a.report.add(fmt.Sprintf("processor time of a list: %d drafts, and %d", a.drafts, fewDrafts), result{
			Name: name, Product: micros(many.cpu), Limit: micros(few.cpu), Value: quotient(many.cpu, few.cpu)}.atMost(1.5))
	}
	return nil
}

// deepCursor walks down nine tenths of a list.
func deepCursor(server *process, owner creator, drafts int) (cursor string, err error) {
	if err := server.connect(); err != nil {
		return "", err
	}
	step := min(1000, drafts/10)
	target := fmt.Sprintf("%s?limit=%d", pathMissions, step)
	for walked := 0; walked < drafts*9/10; walked += step {
		next := target
		if cursor != "" {
			next += "&cursor=" + url.QueryEscape(cursor)
		}
		body, err := server.connections[0].send(owner.get(next))
		if err != nil {
			return "", err
		}
		var page struct{ Summary struct{ NextCursor string } }
		if err := json.Unmarshal(body, &page); err != nil {
			return "", fmt.Errorf("list: %w", err)
		}
		cursor = page.Summary.NextCursor
	}
	return cursor, nil
}

// addCPU reports how much of the product's processor time its limit needs: 1 is as good as it gets.
// A bound of 0 is no goal.
func (a *arena) addCPU(name string, product, limit cost, bound float64) error {
	if difference := product.body - limit.body; max(difference, -difference) > product.body/10 {
		return fmt.Errorf("%s: the answers have %d and %d bytes and cannot be compared; adapt the bare server", name, product.body, limit.body)
	}
	line := result{Name: name, Product: micros(product.cpu), Limit: micros(limit.cpu), Value: quotient(limit.cpu, product.cpu)}
	if bound > 0 {
		line = line.atLeast(bound)
	}
	a.report.add("processor time of a request", line)
	return nil
}

func micros(d time.Duration) string { return fmt.Sprintf("%.0f us", float64(d.Nanoseconds())/1e3) }

// exactMicros is for what takes few of them.
func exactMicros(d time.Duration) string { return fmt.Sprintf("%.1f us", float64(d.Nanoseconds())/1e3) }

func quotient(over, under time.Duration) float64 { return float64(over) / float64(under) }
