package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
)

const (
	smallUploads = 200 // in a turn
	uploaders    = 50
)

// declare measures the cost of declaring a photo and of receiving it. The photos are not checked
// meanwhile: other processes do that.
func (g *gallery) declare(ctx context.Context) error {
	server, err := g.open(ctx, g.path("declared"), "api")
	if err != nil {
		return err
	}
	defer server.stop()
	photo, err := samplePhoto()
	if err != nil {
		return err
	}
	declared := make([]sortie.SubmissionDeclared, smallUploads)
	files := make([]upload, smallUploads)
	announcing := func(ctx context.Context, round int) (cost, error) {
		wire := make([][]byte, smallUploads)
		for i := range files {
			n := round*smallUploads + i
			files[i] = upload{contentType: "image/jpeg", content: photo, tail: fmt.Appendf(nil, "%d", n)} // which decoders ignore
			wire[i] = newCreator(100_000+n).post(g.declareTarget(), "declared", declaration("image/jpeg", files[i].size(), files[i].hash()))
		}
		if err := server.connect(); err != nil {
			return cost{}, err
		}
		return server.measure(ctx, smallUploads, uploaders, func(caller, i int) (int, error) {
			return 0, server.connections[caller].fetch(wire[i], &declared[i])
		})
	}
	uploading := func(ctx context.Context, _ int) (cost, error) {
		return server.measure(ctx, smallUploads, uploaders, func(_, i int) (int, error) {
			return 0, server.put(declared[i], files[i])
		})
	}
	var costs [2][]cost
	for round := range g.rounds + 1 {
		for i, turn := range []turn{announcing, uploading} { // in this order: what is uploaded was announced
			got, err := turn(ctx, round)
			if err != nil {
				return err
			}
			costs[i] = append(costs[i], got)
		}
	}
	section := fmt.Sprintf("photos of %d KB, of %d contributors at a time", len(photo)/1000, uploaders)
	for i, name := range []string{"declare", "upload"} {
		counted := costs[i][1:] // the first warms up
		cpu := median(counted, func(c cost) time.Duration { return c.cpu })
		wall := median(counted, func(c cost) time.Duration { return c.wall })
		g.report.add(section, result{Name: name + ": processor time", Value: float64(cpu.Microseconds()), Unit: "us"})
		g.report.add(section, result{Name: name + ": rate", Value: 1 / wall.Seconds(), Unit: "/s"})
	}
	return nil
}
