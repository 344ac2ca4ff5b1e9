package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/sortie-labs/sortie"
)

const (
	transferring = "memory while large files come and go"
	largeFiles   = 50 // at a time
	mostResident = 250
)

// transfers measures the service's peak memory while many large files are uploaded, and while they
// are downloaded. The child processes that read the files are not counted.
func (g *gallery) transfers(ctx context.Context) error {
	if err := g.uploads(ctx); err != nil {
		return fmt.Errorf("uploads: %w", err)
	}
	if err := g.downloads(ctx); err != nil {
		return fmt.Errorf("downloads: %w", err)
	}
	return nil
}

func (g *gallery) uploads(ctx context.Context) error {
	directory := g.path("uploads") // its gigabytes go before the next part begins
	defer func() { _ = os.RemoveAll(directory) }()
	server, err := g.open(ctx, directory, allRoles)
	if err != nil {
		return err
	}
	defer server.stop()
	if err := server.connect(); err != nil {
		return err
	}
	block := bytes.Repeat([]byte("no photo at all "), largeFile/16-1)
	var declared [largeFiles]sortie.SubmissionDeclared
	var files [largeFiles]upload
	for i := range files {
		files[i] = upload{contentType: "image/jpeg", content: block, tail: fmt.Appendf(nil, "%016d", i)}
		if declared[i], err = g.announce(server.connections[0], galleryContributor, fmt.Sprintf("large-%d", i), files[i]); err != nil {
			return err
		}
	}
	c, err := server.measure(ctx, largeFiles, largeFiles, func(_, i int) (int, error) {
		return 0, server.put(declared[i], files[i])
	})
	if err != nil {
		return err
	}
	return g.reportTransfer("uploads", server, c)
}

func (g *gallery) downloads(ctx context.Context) error {
	server, err := g.open(ctx, g.media, allRoles)
	if err != nil {
		return err
	}
	defer server.stop()
	links, err := g.links(server)
	if err != nil {
		return err
	}
	link := links[len(links)-1] // the large one is last
	var underway sync.WaitGroup // until the last has begun
	underway.Add(largeFiles)
	c, err := server.measure(ctx, largeFiles, largeFiles, func(caller, _ int) (int, error) {
		c := server.connections[caller]
		response, err := c.roundTrip(plainGet(link, ""))
		underway.Done()
		if err != nil {
			return 0, err
		}
		underway.Wait()
		return c.reader.Discard(int(response.ContentLength))
	})
	if err != nil {
		return err
	}
	if c.body != largeFile {
		return fmt.Errorf("received %d of %d bytes", c.body, largeFile)
	}
	return g.reportTransfer("downloads", server, c)
}

func (g *gallery) reportTransfer(what string, server *process, c cost) error {
	memory, err := readMemory(server.pid())
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d %s of %d MB at a time", largeFiles, what, largeFile/megabyte)
	g.report.add(transferring, result{Name: name + ": most resident", Value: memory.peak, Unit: "MB"}.atMost(mostResident))
	g.report.add(transferring, result{Name: name + ": rate", Value: largeFile / megabyte / c.wall.Seconds(), Unit: "MB/s"})
	return nil
}
