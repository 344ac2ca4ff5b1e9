package main

import (
	"context"
	"fmt"
)

const serving = "processor time of media, and with nginx secure_link"

// plainGet returns the bytes of a GET request without wallet headers: the target holds its
// signature.
func plainGet(target, headers string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: bench.example\r\n%s\r\n", target, headers)
}

// mediaProxy compares how the product and nginx serve the same files.
func (g *gallery) mediaProxy(ctx context.Context) error {
	product, err := g.open(ctx, g.media, "api")
	if err != nil {
		return err
	}
	defer product.stop()
	nginx, err := g.startNginx(ctx, g.media)
	if err != nil {
		return err
	}
	defer nginx.stop()
	links, err := g.links(product)
	if err != nil {
		return err
	}
	middle := g.ofSize(20 * megabyte)
	for _, row := range []struct {
		name  string
		files []int // which of those shown
		part  int   // of each; 0: all
		fewer int
		most  float64
	}{
		{"files of 1 MB", g.ofSize(megabyte), 0, 5, 1.4},
		{"files of 20 MB", middle, 0, 50, 1.1},
		{"64 KB of files of 20 MB", middle, rangeLength, 1, 2.5},
	} {
		asking := func(p *process, target func(file int) string) turn {
			return workload{p, g.requests / row.fewer, func(n int) []byte {
				file := row.files[n%len(row.files)]
				return plainGet(target(file), rangeHeader(n, row.part, g.shown[file].size))
			}}.turn
		}
		costs, err := takeTurns(ctx, g.rounds,
			asking(product, func(file int) string { return links[file] }),
			asking(nginx, func(file int) string { return nginxLink(g.shown[file].path()) }))
		if err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
		if costs[0].body != costs[1].body {
			return fmt.Errorf("%s: received %d bytes from the product and %d from nginx", row.name, costs[0].body, costs[1].body)
		}
		g.report.add(serving, result{Name: row.name, Product: micros(costs[0].cpu), Limit: micros(costs[1].cpu),
			Value: quotient(costs[0].cpu, costs[1].cpu)}.atMost(row.most))
	}
	return nil
}

// ofSize returns the indexes of the files of a size.
func (g *gallery) ofSize(size int) (places []int) {
	for i, file := range g.shown {
		if file.size == size {
			places = append(places, i)
		}
	}
	return places
}

// rangeHeader requests the n-th of ranges that are spread over the whole file.
func rangeHeader(n, length, size int) string {
	if length == 0 {
		return ""
	}
	from := n * 7919 % (size / length) * length
	return fmt.Sprintf("Range: bytes=%d-%d\r\n", from, from+length-1)
}
