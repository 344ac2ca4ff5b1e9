package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

const (
	transferring = "memory while large files come and go"
	largeFiles   = 50 // at a time
	mostResident = 250

	smallUploads = 200 // in a turn
	uploaders    = 50
)

// upload is a file that a contributor announces and sends.
type upload struct {
	contentType string
	content     []byte
	tail        []byte // behind the content, to be like no other
}

func (u upload) size() int { return len(u.content) + len(u.tail) }

func (u upload) hash() string {
	sum := sha256.New()
	sum.Write(u.content)
	sum.Write(u.tail)
	return hex.EncodeToString(sum.Sum(nil))
}

// declaration is the body of a declaration of something seen where the sample mission wants it.
func declaration(contentType string, size int, hash string) []byte {
	return fmt.Appendf(nil, `{"location":{"lat":52.52,"lng":13.405,"accuracyMeters":12},"capturedAt":%q,"contentType":%q,"sizeBytes":%d,"sha256":%q}`,
		time.Now().UTC().Format(time.RFC3339), contentType, size, hash)
}

func (g *gallery) declareTarget() string { return "/api/missions/" + g.missionID + "/submissions" }

func (g *gallery) announce(c connection, contributor creator, key string, u upload) (declared sortie.SubmissionDeclared, err error) {
	err = c.fetch(contributor.post(g.declareTarget(), key, declaration(u.contentType, u.size(), u.hash())), &declared)
	if err == nil && declared.Upload == nil {
		err = errors.New("no upload is waited for")
	}
	return declared, err
}

// put sends a file over a connection of its own.
func (p *process) put(declared sortie.SubmissionDeclared, parts ...[]byte) error {
	c, err := p.dial()
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	target := strings.TrimPrefix(declared.Upload.PutURL, publicURL)
	head := fmt.Appendf(nil, "PUT %s HTTP/1.1\r\nHost: bench.example\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n", target, size)
	for _, part := range append([][]byte{head}, parts...) {
		if _, err := c.Write(part); err != nil {
			return errors.Join(err, c.refusal())
		}
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return err
	}
	return refused(response)
}

// refusal is what a server said before it stopped reading.
func (c connection) refusal() error {
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return err
	}
	return refused(response)
}

func refused(response *http.Response) error {
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("the upload was answered with %s: %.300s", response.Status, body)
	}
	return err
}

// transfers reads the most memory that the service has had while many large files came in, and while they went out. The programs that
// look into the files are processes of their own and not counted.
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
	server, err := g.open(ctx, directory, "api,worker,chain")
	if err != nil {
		return err
	}
	defer server.stop()
	if err := server.connect(); err != nil {
		return err
	}
	block := bytes.Repeat([]byte("no film at all, "), largeFile/16-1)
	var declared [largeFiles]sortie.SubmissionDeclared
	var files [largeFiles]upload
	for i := range files {
		files[i] = upload{contentType: "video/mp4", content: block, tail: fmt.Appendf(nil, "%016d", i)}
		if declared[i], err = g.announce(server.connections[0], galleryContributor, fmt.Sprintf("large-%d", i), files[i]); err != nil {
			return err
		}
	}
	c, err := server.measure(ctx, largeFiles, largeFiles, func(_, i int) (int, error) {
		return 0, server.put(declared[i], files[i].content, files[i].tail)
	})
	if err != nil {
		return err
	}
	return g.reportTransfer("uploads", server, c)
}

func (g *gallery) downloads(ctx context.Context) error {
	server, err := g.open(ctx, g.media, "api,worker,chain")
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
		response, err := c.ask(plainGet(link, ""))
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
		return fmt.Errorf("%d bytes came of %d", c.body, largeFile)
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

// declare tells what it costs to announce a photo and to take it in. Nobody looks into the photos meanwhile: that is work for other
// processes.
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
			return 0, server.put(declared[i], files[i].content, files[i].tail)
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
