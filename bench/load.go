package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
)

// callers is how many connections send requests at a time.
const callers = 64

// creator is a wallet that signs requests.
type creator struct{ *sortie.Key }

// newCreator makes the same wallet of the same number in every run.
func newCreator(number int) creator {
	key, err := sortie.NewKey(sha256.Sum256(fmt.Append(nil, "bench", number)))
	if err != nil {
		panic(err) // one of 2^128 numbers
	}
	return creator{key}
}

// get is a signed request as it goes over the wire.
func (c creator) get(target string) []byte { return c.request(http.MethodGet, target, "", nil) }

func (c creator) post(target, idempotencyKey string, body []byte) []byte {
	return c.request(http.MethodPost, target, idempotencyKey, body)
}

func (c creator) request(method, target, idempotencyKey string, body []byte) []byte {
	request, err := http.NewRequest(method, publicURL+target, bytes.NewReader(body))
	if err != nil {
		panic(err) // the targets are ours
	}
	if body != nil {
		request.Header.Set(sortie.HeaderIdempotencyKey, idempotencyKey)
		request.Header.Set("Content-Type", "application/json")
	}
	var wire bytes.Buffer
	err = errors.Join(sortie.SignRequest(context.Background(), request, body, c, time.Now()), request.Write(&wire))
	if err != nil {
		panic(err) // neither a key nor a buffer fails
	}
	return wire.Bytes()
}

// connection sends one request after the other. It is cheaper than http.Client, which would compete
// with the server for the processors.
type connection struct {
	net.Conn
	reader *bufio.Reader
}

func (c connection) send(wire []byte) (body []byte, err error) {
	response, err := c.ask(wire)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(response.Body)
}

// skim sends a request and only counts what comes back.
func (c connection) skim(wire []byte) (length int, err error) {
	response, err := c.ask(wire)
	if err != nil {
		return 0, err
	}
	if response.ContentLength < 0 {
		read, err := io.Copy(io.Discard, response.Body)
		return int(read), err
	}
	return c.reader.Discard(int(response.ContentLength)) // without another copy
}

// ask gives the answer to a request, if it is a good one. Its body is still to be read.
func (c connection) ask(wire []byte) (*http.Response, error) {
	if _, err := c.Write(wire); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		body, err := io.ReadAll(response.Body)
		return nil, errors.Join(fmt.Errorf("%.60q was answered with %s: %.300s", wire, response.Status, body), err)
	}
	return response, nil
}

// connect opens the connections, the first time it is called.
func (p *process) connect() error {
	for len(p.connections) < callers {
		c, err := p.dial()
		if err != nil {
			return err
		}
		p.connections = append(p.connections, c)
	}
	return nil
}

func (p *process) dial() (connection, error) {
	conn, err := net.Dial("tcp", p.address)
	return connection{conn, bufio.NewReaderSize(conn, 64<<10)}, err
}

// cost is what a request costs on average.
type cost struct {
	cpu  time.Duration // of the server
	wall time.Duration // until the next one is answered: the inverse of the rate
	body int           // bytes
}

// load sends all requests, over all connections at a time.
func (p *process) load(ctx context.Context, wire [][]byte) (cost, error) {
	if err := p.connect(); err != nil {
		return cost{}, err
	}
	return p.measure(ctx, len(wire), len(p.connections), func(caller, i int) (int, error) { return p.connections[caller].skim(wire[i]) })
}

// measure has callers share n calls of do, which gives the bytes it received, and tells what one of
// them cost the server.
func (p *process) measure(ctx context.Context, n, callers int, do func(caller, i int) (received int, err error)) (cost, error) {
	before, err := processCPU(p.pid())
	if err != nil {
		return cost{}, err
	}
	begin := time.Now()
	var next, received atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for caller := range callers {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				length, err := do(caller, int(i))
				if err != nil {
					return err
				}
				received.Add(int64(length))
			}
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return cost{}, err
	}
	wall := time.Since(begin)
	after, err := processCPU(p.pid())
	return cost{cpu: (after - before) / time.Duration(n), wall: wall / time.Duration(n), body: int(received.Load()) / n}, err
}

// contender is a server under one kind of request.
type contender struct {
	server   *process
	requests int                // in a turn
	request  func(n int) []byte // the n-th of all
}

// turn signs the requests, which is not measured, and sends them.
func (c contender) turn(ctx context.Context, round int) (cost, error) {
	wire := make([][]byte, c.requests)
	for i := range wire {
		wire[i] = c.request(round*c.requests + i)
	}
	return c.server.load(ctx, wire)
}

// turn is what a contender does in a round, and what that cost.
type turn func(ctx context.Context, round int) (cost, error)

// compete gives every contender its turn in every round, and returns the median of what a request
// cost each. The first round warms up and does not count.
func compete(ctx context.Context, rounds int, contenders ...turn) ([]cost, error) {
	costs := make([][]cost, len(contenders))
	for round := range rounds + 1 {
		for i := range contenders {
			i = (i + round) % len(contenders) // none is always first
			got, err := contenders[i](ctx, round)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				costs[i] = append(costs[i], got)
			}
		}
	}
	medians := make([]cost, len(contenders))
	for i, all := range costs {
		medians[i] = cost{
			cpu:  median(all, func(c cost) time.Duration { return c.cpu }),
			wall: median(all, func(c cost) time.Duration { return c.wall }),
			body: median(all, func(c cost) int { return c.body }),
		}
	}
	return medians, nil
}

func median[T any, V time.Duration | int](all []T, value func(T) V) V {
	values := make([]V, len(all))
	for i, one := range all {
		values[i] = value(one)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
