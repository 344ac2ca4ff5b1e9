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

// measureDev reports start and memory of `sortie dev`, and leaves the last one running.
func (b *bench) measureDev(ctx context.Context) (dev *process, err error) {
	fmt.Fprintln(os.Stderr, "bench: dev")
	var took []time.Duration
	for i := range starts {
		if dev != nil {
			dev.stop()
		}
		if dev, b.dev, err = startDev(ctx, b.sortie, b.path(fmt.Sprintf("dev-%d", i))); err != nil {
			return nil, err
		}
		took = append(took, dev.took)
	}
	b.report.add(footprint, result{Name: "dev: first start until ready", Value: medianSeconds(took), Unit: "s"}.atMost(5))
	memory, err := idleMB(dev)
	b.report.add(footprint, result{Name: "dev: resident, with its chain", Value: memory, Unit: "MB"}.atMost(400))
	return dev, err
}

// measureServe reports start and memory of `sortie serve`: idle, and under requests.
func (b *bench) measureServe(ctx context.Context) (err error) {
	var server *process
	var took []time.Duration
	for i := range starts {
		if server != nil {
			server.stop()
		}
		if server, err = b.serve(ctx, b.path(fmt.Sprintf("serve-%d.db", i))); err != nil {
			return err
		}
		took = append(took, server.took)
	}
	defer server.stop()
	b.report.add(footprint, result{Name: "serve: start until ready", Value: medianSeconds(took), Unit: "s"}.atMost(1))
	idle, err := idleMB(server)
	if err != nil {
		return err
	}
	b.report.add(footprint, result{Name: "serve: resident, idle", Value: idle, Unit: "MB"}.atMost(60))
	half, end, err := b.soakMemory(ctx, server)
	if err != nil {
		return err
	}
	b.report.add(footprint, result{Name: fmt.Sprintf("serve: resident after %d requests", b.soak), Value: end, Unit: "MB"}.atMost(120))
	b.report.add(footprint, result{Name: "serve: the same, of that after half of them", Value: end / half,
		Product: fmt.Sprintf("%.0f MB", end), Limit: fmt.Sprintf("%.0f MB", half)}.atMost(1.1))
	return nil
}

func idleMB(p *process) (float64, error) {
	time.Sleep(settling)
	return residentMB(p.pid())
}

func medianSeconds(took []time.Duration) float64 {
	return median(took, func(d time.Duration) time.Duration { return d }).Seconds()
}

// soakMemory sends signed requests, of ten one new draft, one list and eight drafts by id, and reads the memory at half of
// them and at the end.
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
		if end, err = residentMB(server.pid()); err != nil {
			return 0, 0, err
		}
		if sent < b.soak/2 {
			half = end
		}
	}
	return half, end, nil
}
