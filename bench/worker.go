package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// A worker is a process that follows a recorded chain, again and again, each time with a new
// database. It is controlled over HTTP, so that the benchmark can read its processor time before
// and after.

const (
	followCommand = "follow" // the product
	scanCommand   = "scan"   // its limit

	pathOpen  = "/open"
	pathRun   = "/run"
	pathClose = "/close"
)

// assignment says what to go through.
type assignment struct {
	RPC      string
	Database string
	Dev      devInstance // the contracts
	Blocks   uint64
	Decoder  string // a name in decoders, for the limit
}

// work goes through one chain.
type work interface {
	run(ctx context.Context) (events int, err error)
	close() error
}

type opener func(context.Context, assignment) (work, error)

var workers = map[string]opener{followCommand: openFollowing, scanCommand: openScanning}

type worker struct {
	open    opener
	current work
}

// runWorker serves until ctx ends.
func runWorker(ctx context.Context, address string, open opener) error {
	server := &http.Server{Addr: address, Handler: &worker{open: open}, ReadHeaderTimeout: startTimeout}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (w *worker) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var err error
	events := 0
	switch r.URL.Path {
	case pathOpen:
		var task assignment
		if err = json.NewDecoder(r.Body).Decode(&task); err == nil {
			w.current, err = w.open(context.WithoutCancel(r.Context()), task)
		}
	case pathRun:
		events, err = w.current.run(r.Context())
	case pathClose:
		err = w.current.close()
	}
	if err != nil {
		http.Error(out, "worker: "+err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = fmt.Fprint(out, events)
}

// tell sends a worker one of its orders.
func (p *process) tell(ctx context.Context, path string, task any) (events int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.address+path, bytes.NewReader(encoded(task)))
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s was answered with %s: %.300s", path, response.Status, body)
	}
	if err == nil {
		events, err = strconv.Atoi(string(body))
	}
	return events, err
}

// goThrough has a worker go through a chain once, and measures nothing but that.
func (p *process) goThrough(ctx context.Context, task assignment, events int) (cost, error) {
	if _, err := p.tell(ctx, pathOpen, task); err != nil {
		return cost{}, err
	}
	before, err := processCPU(p.pid())
	if err != nil {
		return cost{}, err
	}
	begin := time.Now()
	seen, err := p.tell(ctx, pathRun, nil)
	if err != nil {
		return cost{}, err
	}
	wall := time.Since(begin)
	after, err := processCPU(p.pid())
	if err != nil {
		return cost{}, err
	}
	if seen != events {
		return cost{}, fmt.Errorf("%d events of %d were seen", seen, events)
	}
	_, err = p.tell(ctx, pathClose, nil)
	return cost{cpu: (after - before) / time.Duration(events), wall: wall / time.Duration(events)}, err
}
