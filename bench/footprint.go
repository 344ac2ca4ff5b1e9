package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

const (
	footprint = "start and memory"
	starts    = 3               // of which the median counts
	settling  = 2 * time.Second // before idle memory is read
)

// startOften starts a server several times, leaves the last one running, and gives the median of
// the time until it was ready.
func startOften(start func(number int) (*process, error)) (last *process, seconds float64, err error) {
	var took []time.Duration
	for number := range starts {
		if last != nil {
			last.stop()
		}
		if last, err = start(number); err != nil {
			return nil, 0, err
		}
		took = append(took, last.took)
	}
	return last, median(took, func(d time.Duration) time.Duration { return d }).Seconds(), nil
}

// measureDev reports start and memory of `sortie dev`, and leaves it running.
func (b *bench) measureDev(ctx context.Context) (*process, error) {
	fmt.Fprintln(os.Stderr, "bench: dev")
	dev, seconds, err := startOften(func(number int) (p *process, err error) {
		p, b.dev, err = startDev(ctx, b.sortie, b.path(fmt.Sprintf("dev-%d", number)))
		return p, err
	})
	if err != nil {
		return nil, err
	}
	time.Sleep(settling)
	idle, err := readMemory(dev.pid())
	if err != nil {
		dev.stop()
		return nil, err
	}
	b.report.add(footprint, result{Name: "dev: first start until ready", Value: seconds, Unit: "s"}.atMost(5))
	b.report.add(footprint, result{Name: "dev: resident, with its chain", Value: idle.resident, Unit: "MB"}.atMost(400))
	return dev, nil
}

// measureServe reports start and memory of `sortie serve`: idle, and under requests.
func (b *bench) measureServe(ctx context.Context) error {
	server, seconds, err := startOften(func(number int) (*process, error) {
		return b.serve(ctx, b.path(fmt.Sprintf("serve-%d.db", number)))
	})
	if err != nil {
		return err
	}
	defer server.stop()
	time.Sleep(settling)
	idle, err := readMemory(server.pid())
	if err != nil {
		return err
	}
	half, end, err := b.soakMemory(ctx, server)
	if err != nil {
		return err
	}
	b.report.add(footprint, result{Name: "serve: start until ready", Value: seconds, Unit: "s"}.atMost(1))
	b.report.add(footprint, result{Name: "serve: anonymous memory (RssAnon), idle", Value: idle.anonymous, Unit: "MB"}.atMost(40))
	b.report.add(footprint, result{Name: "serve: resident (VmRSS, with the pages of the program file), idle", Value: idle.resident, Unit: "MB"})
	b.report.add(footprint, result{Name: fmt.Sprintf("serve: resident after %d requests", b.soak), Value: end, Unit: "MB"}.atMost(120))
	b.report.add(footprint, result{Name: "serve: the same, of that after half of them", Value: end / half,
		Product: fmt.Sprintf("%.0f MB", end), Limit: fmt.Sprintf("%.0f MB", half)}.atMost(1.1))
	return nil
}

// soakMemory sends signed requests, of ten one new draft, one list and eight drafts by id, and
// reads the memory at half of them and at the end.
func (b *bench) soakMemory(ctx context.Context, server *process) (half, end float64, err error) {
	if err := server.connect(); err != nil {
		return 0, 0, err
	}
	writes, reader := (&arena{bench: b}).writes(server, 0, pathDrafts), newCreator(3)
	ids := make([]string, 0, 100)
	for i := range cap(ids) {
		body, err := server.connections[0].send(reader.post(pathDrafts, fmt.Sprint(i), missionBody))
		var draft struct{ DraftID string }
		if err == nil {
			err = json.Unmarshal(body, &draft)
		}
		if err != nil {
			return 0, 0, err
		}
		ids = append(ids, draft.DraftID)
	}
	const chunk = 500
	mix := contender{server, chunk, func(n int) []byte {
		switch n % 10 {
		case 0:
			return writes.request(n)
		case 1:
			return reader.get(pathMissions + "?limit=20")
		default:
			return reader.get(pathMissions + "/" + ids[n%len(ids)])
		}
	}}
	for sent := 0; sent < b.soak; sent += chunk {
		if _, err := mix.turn(ctx, sent/chunk); err != nil {
			return 0, 0, err
		}
		now, err := readMemory(server.pid())
		if err != nil {
			return 0, 0, err
		}
		end = now.resident
		if sent < b.soak/2 {
			half = end
		}
	}
	return half, end, nil
}
