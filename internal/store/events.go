package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sortie-labs/sortie"
)

// NewEvent is an event in the terms of the API.
type NewEvent struct {
	Type string
	Data json.RawMessage
}

// Event is a stored event. Events never change, and are removed only with a draft that was never
// funded.
type Event struct {
	NewEvent
	Wallet    sortie.Address
	Seq       int64 // 1, 2, 3, ... for each wallet
	DraftID   string
	CreatedAt time.Time
}

// DraftEvent is an event about a draft of a wallet.
type DraftEvent struct {
	Wallet  sortie.Address
	DraftID string
	NewEvent
}

// AppendEvent adds an event about a draft to the events of a wallet, for events other than
// transitions.
func (tx *Tx) AppendEvent(wallet sortie.Address, draftID string, event NewEvent) error {
	if err := tx.countTransition(wallet, 0); err != nil {
		return fmt.Errorf("append event: %w", err)
	}
	return tx.insertEvent(wallet, draftID, event)
}

// EventsAfter reads up to limit events of the wallet after the one numbered seq, oldest first. No
// later read returns an earlier number.
func (db *DB) EventsAfter(ctx context.Context, wallet sortie.Address, seq int64, limit int) ([]Event, error) {
	return read(ctx, db, func(r reader) ([]Event, error) { return r.eventsAfter(wallet, seq, limit) })
}

func (r reader) eventsAfter(wallet sortie.Address, seq int64, limit int) ([]Event, error) {
	events := make([]Event, 0, min(limit, 64))
	err := r.each(selectEvents, []any{hexAddress(wallet), seq, limit}, func(row scanner) error {
		event := Event{Wallet: wallet}
		var data []byte
		var createdAt int64
		err := row.Scan(&event.Seq, &event.DraftID, &event.Type, &data, &createdAt)
		event.Data, event.CreatedAt = data, time.UnixMicro(createdAt).UTC()
		events = append(events, event)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return events, nil
}

// insertEvent adds an event with the number that was counted last.
func (tx *Tx) insertEvent(wallet sortie.Address, draftID string, event NewEvent) error {
	_, err := tx.exec(insertEvent, hexAddress(wallet), draftID, event.Type, string(event.Data), tx.Now.UnixMicro())
	if err != nil {
		return fmt.Errorf("append event %s: %w", event.Type, err)
	}
	return nil
}

// appendEvents adds many events and changes the wallets' counts. All transactions lock wallets in
// the same order, which prevents deadlocks.
func (tx *Tx) appendEvents(counts map[sortie.Address]walletCount, events []DraftEvent) error {
	for i := range events {
		count := counts[events[i].Wallet]
		count.events++
		counts[events[i].Wallet] = count
	}
	wallets := slices.SortedFunc(maps.Keys(counts), func(a, b sortie.Address) int { return bytes.Compare(a[:], b[:]) })
	next := make(map[sortie.Address]int64, len(wallets))
	for _, wallet := range wallets {
		last, err := tx.count(wallet, counts[wallet])
		if err != nil {
			return fmt.Errorf("append events: %w", err)
		}
		next[wallet] = last - counts[wallet].events + 1
	}
	err := insertRows(tx, insertWalletEvents, tx.Now.UnixMicro(), events, func(args []any, events []DraftEvent) []any {
		for i := range events {
			event := &events[i]
			args = append(args, hexAddress(event.Wallet), next[event.Wallet], event.DraftID, event.Type, string(event.Data))
			next[event.Wallet]++
		}
		return args
	})
	if err != nil {
		return fmt.Errorf("append events: %w", err)
	}
	return nil
}

var insertWalletEvents = newBulk(`INSERT INTO events (created_at, wallet, seq, draft_id, type, data) VALUES `, 5)

var (
	insertEvent = preparedWrite(`INSERT INTO events (wallet, seq, draft_id, type, data, created_at)
VALUES ($1, (SELECT last_event FROM wallets WHERE wallet = $1), $2, $3, $4, $5)`)
	selectEvents = preparedRead(`SELECT seq, draft_id, type, data, created_at FROM events WHERE wallet = $1 AND seq > $2 ORDER BY seq LIMIT $3 + 0`)
)
