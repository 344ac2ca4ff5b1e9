package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"

	"github.com/sortie-labs/sortie/internal/store"
)

const (
	paymentsPerMission = 100
	paymentsAtATime    = 10 // in one transaction of the settler
	quietBlocks        = 2  // after each one with events
	eventCreators      = 100
)

// history is what happens on a chain.
type history struct {
	name     string
	missions int
	goal     float64 // 0: none
	mine     func(*recording, store.Draft)
}

var histories = []history{
	{"funded, 100 payouts, closed", 110, 0.6, recordLife},
	{"only funded", 300, 0, recordFunding},
}

func recordLife(r *recording, draft store.Draft) {
	recordFunding(r, draft)
	for slot := 0; slot < paymentsPerMission; slot += paymentsAtATime {
		r.mine(paidLogs(draft, slot, slot+paymentsAtATime)...)
		r.mineEmpty(quietBlocks)
	}
	r.mine(reclaimedLog(draft, paymentsPerMission))
	r.mineEmpty(quietBlocks)
	r.hold(draft, paymentsPerMission, closedByCreator)
}

func recordFunding(r *recording, draft store.Draft) {
	r.mine(fundedLog(draft))
	r.mineEmpty(quietBlocks)
	r.hold(draft, 0, 0)
}

// measureEvents compares following a chain with going through its logs.
func (b *bench) measureEvents(ctx context.Context) error {
	var started [2]*process
	for i, command := range []string{followCommand, scanCommand} {
		worker, err := startServer(ctx, os.Args[0], func(address string) []string { return []string{command, address} })
		if err != nil {
			return err
		}
		defer worker.stop()
		started[i] = worker
	}
	for number, h := range histories {
		if err := b.compareOn(ctx, h, number, started[0], started[1]); err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
	}
	return nil
}

// compareOn has both go through a history. How fast logs are decoded is a matter of taste, so that
// the limit does it in three ways. The goal is held against the one in the middle: encoding/json
// and no more than the bytes of every field.
func (b *bench) compareOn(ctx context.Context, h history, number int, follower, scanner *process) error {
	drafts := b.path(fmt.Sprintf("history-%d.db", number))
	r, err := b.record(ctx, h, drafts)
	if err != nil {
		return err
	}
	node := httptest.NewServer(r)
	defer node.Close()
	through := func(worker *process, decoder string) turn {
		return func(ctx context.Context, round int) (cost, error) {
			database := b.path(fmt.Sprintf("history-%d-%s-%d.db", number, decoder, round))
			if err := copyFile(drafts, database); err != nil {
				return cost{}, err
			}
			task := assignment{RPC: node.URL, Database: database, Dev: b.dev, Blocks: uint64(len(r.blocks)), Decoder: decoder}
			return worker.goThrough(ctx, task, r.events)
		}
	}
	ways := []string{decoderLibrary, decoderPlain, decoderByHand}
	turns := []turn{through(follower, "")}
	for _, way := range ways {
		turns = append(turns, through(scanner, way))
	}
	costs, err := compete(ctx, b.rounds, turns...)
	if err != nil {
		return err
	}
	const section = "processor time of an event; limit: fetch, decode, insert one row a range"
	for i, way := range ways {
		product, limit := costs[0].cpu, costs[i+1].cpu
		line := result{Name: h.name + "; limit decodes " + way, Product: exactMicros(product), Limit: exactMicros(limit), Value: quotient(limit, product)}
		if h.goal > 0 && way == decoderPlain {
			line = line.atLeast(h.goal)
		}
		b.report.add(section, line)
	}
	return nil
}

// record makes drafts in a database, and the chain on which they have their history.
func (b *bench) record(ctx context.Context, h history, database string) (r *recording, err error) {
	db, err := store.Open(ctx, "sqlite:"+database, store.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Tx(ctx, func(tx *store.Tx) error {
		for i := range h.missions {
			draft, err := b.sampleDraft(newCreator(i % eventCreators).Address())
			if err != nil {
				return err
			}
			draft.TargetCount = 2 * paymentsPerMission
			if _, err := insertCopy(tx, draft, false); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	drafts, err := db.FundableDrafts(ctx, b.dev.ChainID, 0, 0, h.missions)
	if err != nil {
		return nil, err
	}
	r = newRecording(b.dev.ChainID, b.dev.RPCURL, drafts[0].CreatedAt)
	for _, draft := range drafts {
		h.mine(r, draft)
	}
	r.mineEmpty(unsettled)
	return r, nil
}
