package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
)

// deliverables compares the first page of a large mission with the bare server, and with its last
// page.
func (g *gallery) deliverables(ctx context.Context) error {
	const fewer = 10 // fewer requests: each costs more than a status
	product, err := g.open(ctx, g.media, "api")
	if err != nil {
		return err
	}
	defer product.stop()
	// Both servers read the same database; neither writes, and each has its own page cache.
	bare, err := startServer(ctx, os.Args[0], func(address string) []string { return []string{bareCommand, address, g.database} })
	if err != nil {
		return err
	}
	defer bare.stop()
	last, err := g.lastCursor(product)
	if err != nil {
		return err
	}
	a := requestBench{bench: g.bench}
	asking := func(p *process, target string) turn {
		return a.reads(p, g.requests/fewer, galleryCreator, func(int) string { return target })
	}
	costs, err := takeTurns(ctx, g.rounds,
		asking(product, g.deliverablesTarget()),
		asking(product, g.deliverablesTarget()+"&cursor="+url.QueryEscape(last)),
		asking(bare, pathPage+g.draftID))
	if err != nil {
		return err
	}
	first, end, limit := costs[0], costs[1], costs[2]
	if err := a.addCPU("deliverables, 100; limit: check, read 100 fragments, sign 200 links", first, limit, 0.7); err != nil {
		return err
	}
	g.report.add(fmt.Sprintf("processor time of a page of %d submissions", g.accepted), result{
		Name: "the last one, and the first", Product: micros(end.cpu), Limit: micros(first.cpu), Value: quotient(end.cpu, first.cpu)}.atMost(1.3))
	return nil
}

// lastCursor reads all pages up to the last one, which is full, and fails if the list is too short.
// It uses its own connection: the server would close the idle ones meanwhile.
func (g *gallery) lastCursor(server *process) (cursor string, err error) {
	c, err := server.dial()
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	for walked := 0; walked < g.accepted-fewSubmissions; walked += fewSubmissions {
		target := g.deliverablesTarget()
		if cursor != "" {
			target += "&cursor=" + url.QueryEscape(cursor)
		}
		page, err := c.send(galleryCreator.get(target))
		if err != nil {
			return "", err
		}
		if cursor, err = nextCursor(page); err != nil {
			return "", fmt.Errorf("after %d submissions: %w", walked+fewSubmissions, err)
		}
	}
	return cursor, nil
}

// nextCursor returns the cursor of a page without decoding the page.
func nextCursor(page []byte) (string, error) {
	_, after, found := bytes.Cut(page, []byte(`"nextCursor":"`))
	cursor, _, closed := bytes.Cut(after, []byte(`"`))
	if !found || !closed {
		return "", errors.New("the list ended too early")
	}
	return string(cursor), nil
}
