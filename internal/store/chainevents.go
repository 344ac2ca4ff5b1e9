package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// AddEvents adds events of the chain, many with one statement. It fails the transaction with
// [ErrConflict] if an event already exists.
func (tx *Tx) AddEvents(chainID uint64, events []onchain.Event) error {
	for i := range events {
		if !isWhole(&events[i]) {
			return fmt.Errorf("add events of chain %d: event %d of block %d has no part that fits its kind %q",
				chainID, events[i].LogIndex, events[i].Block, events[i].Kind)
		}
	}
	var writer eventWriter
	if err := insertRows(tx, insertEvents, int64(chainID), events, writer.appendValues); err != nil {
		return fmt.Errorf("add events of chain %d: %w", chainID, err)
	}
	return nil
}

// RemoveEvent deletes an event, if it exists. It is for repairs.
func (tx *Tx) RemoveEvent(chainID, block, logIndex uint64) error {
	if _, err := tx.exec(deleteEvent, int64(chainID), int64(block), int64(logIndex)); err != nil {
		return fmt.Errorf("remove event %d of block %d: %w", logIndex, block, err)
	}
	return nil
}

// ChainEvents reads the events of the blocks from one number to another, both included, in the
// order of the chain.
func (db *DB) ChainEvents(ctx context.Context, chainID, from, to uint64) ([]onchain.Event, error) {
	return read(ctx, db, func(r reader) ([]onchain.Event, error) {
		args := []any{int64(chainID), int64(min(from, math.MaxInt64)), int64(min(to, math.MaxInt64))}
		events, err := r.chainEvents(selectChainEvents, args)
		if err != nil {
			return nil, fmt.Errorf("read events of chain %d: %w", chainID, err)
		}
		return events, nil
	})
}

func (r reader) chainEvents(query string, args []any) ([]onchain.Event, error) {
	var events []onchain.Event
	err := r.each(query, args, func(row scanner) error {
		event, err := scanChainEvent(row)
		events = append(events, event)
		return err
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

const (
	chainEventColumns = `block_number, log_index, block_hash, transaction_hash, factory, kind, mission_key, data`

	selectChainEvents = `SELECT ` + chainEventColumns + ` FROM chain_events
WHERE chain_id = $1 AND block_number BETWEEN $2 AND $3 ORDER BY block_number, log_index`
	selectEventsAbove = `SELECT ` + chainEventColumns + ` FROM chain_events
WHERE chain_id = $1 AND block_number > $2 ORDER BY block_number DESC, log_index DESC`
	deleteEvent       = `DELETE FROM chain_events WHERE chain_id = $1 AND block_number = $2 AND log_index = $3`
	deleteEventsAbove = `DELETE FROM chain_events WHERE chain_id = $1 AND block_number > $2`
)

var insertEvents = newBulk(`INSERT INTO chain_events (chain_id, `+chainEventColumns+`) VALUES `, 8)

// eventData is the content of the data column. [appendEventData] writes it.
type eventData struct {
	MissionID     string         `json:"missionId"`
	Creator       sortie.Address `json:"creator"`
	Token         sortie.Address `json:"token"`
	Reward        *big.Int       `json:"reward"`
	TargetCount   *big.Int       `json:"targetCount"`
	Nonce         sortie.Hash    `json:"nonce"`
	ReclaimAfter  uint64         `json:"reclaimAfter"`
	Refund        *big.Int       `json:"refund"`
	Deferred      bool           `json:"deferred"`
	Reason        uint8          `json:"reason"`
	SubmissionKey sortie.Hash    `json:"submissionKey"`
	Recipient     sortie.Address `json:"recipient"`
	Slot          uint64         `json:"slot"`
	Amount        *big.Int       `json:"amount"`
}

func scanChainEvent(row scanner) (onchain.Event, error) {
	var event onchain.Event
	var blockHash, transaction, factory string
	var missionKey sql.NullString
	var data []byte
	err := row.Scan(&event.Block, &event.LogIndex, &blockHash, &transaction, &factory, (*string)(&event.Kind), &missionKey, &data)
	if err != nil {
		return onchain.Event{}, err
	}
	err = errors.Join(parse(&event.BlockHash, blockHash, sortie.ParseHash), parse(&event.Transaction, transaction, sortie.ParseHash),
		parse(&event.Factory, factory, sortie.ParseAddress), readEventData(&event, data))
	if missionKey.Valid {
		err = errors.Join(err, parse(&event.MissionKey, missionKey.String, sortie.ParseHash))
	}
	if err != nil {
		return onchain.Event{}, fmt.Errorf("event %d of block %d: %w", event.LogIndex, event.Block, err)
	}
	return event, nil
}

func readEventData(event *onchain.Event, text []byte) error {
	var data eventData
	if err := json.Unmarshal(text, &data); err != nil {
		return err
	}
	switch event.Kind {
	case onchain.EventMissionFunded:
		event.Funded = &onchain.MissionFunded{
			MissionID: data.MissionID, Creator: data.Creator, Token: data.Token, Reward: data.Reward, TargetCount: data.TargetCount,
			Nonce: data.Nonce, ReclaimAfter: data.ReclaimAfter,
		}
	case onchain.EventSubmissionPaid, onchain.EventPayoutDeferred:
		event.Payment = &onchain.Payment{SubmissionKey: data.SubmissionKey, Recipient: data.Recipient, Slot: data.Slot, Amount: data.Amount}
	case onchain.EventMissionClosed:
		event.Closed = &onchain.MissionClosed{Refund: data.Refund, RefundDeferred: data.Deferred, Reason: data.Reason}
	default:
		return fmt.Errorf("unknown kind %q", event.Kind)
	}
	return nil
}

// eventWriter converts events to values. It is optimized, because many thousands are added when a
// chain is followed for the first time.
type eventWriter struct {
	text []byte // the texts of all rows of a statement, concatenated
	ends []int

	// The values of the previous row, which the next row often repeats.
	blockHash, factory any
	lastBlockHash      sortie.Hash
	lastFactory        sortie.Address
}

// eventKinds are the kinds as values.
var eventKinds = map[onchain.EventKind]any{
	onchain.EventMissionFunded: string(onchain.EventMissionFunded), onchain.EventSubmissionPaid: string(onchain.EventSubmissionPaid),
	onchain.EventPayoutDeferred: string(onchain.EventPayoutDeferred), onchain.EventMissionClosed: string(onchain.EventMissionClosed),
}

// appendValues appends the values of chainEventColumns for each event.
func (w *eventWriter) appendValues(args []any, events []onchain.Event) []any {
	w.text, w.ends = w.text[:0], w.ends[:0]
	for i := range events {
		w.mark(appendHash(w.text, events[i].Transaction))
		w.mark(appendHash(w.text, events[i].MissionKey))
		w.mark(appendEventData(w.text, &events[i]))
	}
	all, start, next := string(w.text), 0, 0
	text := func() string {
		value := all[start:w.ends[next]]
		start, next = w.ends[next], next+1
		return value
	}
	for i := range events {
		event := &events[i]
		if w.blockHash == nil || w.lastBlockHash != event.BlockHash {
			w.blockHash, w.lastBlockHash = event.BlockHash.String(), event.BlockHash
		}
		if w.factory == nil || w.lastFactory != event.Factory {
			w.factory, w.lastFactory = hexAddress(event.Factory), event.Factory
		}
		transaction, missionKey, data := any(text()), any(text()), any(text())
		if event.MissionKey == (sortie.Hash{}) {
			missionKey = nil
		}
		args = append(args, int64(event.Block), int64(event.LogIndex), w.blockHash, transaction, w.factory, eventKinds[event.Kind],
			missionKey, data)
	}
	return args
}

// mark sets the text, which has one more value at its end.
func (w *eventWriter) mark(text []byte) {
	w.text, w.ends = text, append(w.ends, len(text))
}

// isWhole reports whether an event has the part of its kind.
func isWhole(event *onchain.Event) bool {
	switch event.Kind {
	case onchain.EventMissionFunded:
		return event.Funded != nil
	case onchain.EventSubmissionPaid, onchain.EventPayoutDeferred:
		return event.Payment != nil
	case onchain.EventMissionClosed:
		return event.Closed != nil
	}
	return false
}

// appendEventData writes the data of a whole event without reflection, which would cost more than
// the insertion.
func appendEventData(dst []byte, event *onchain.Event) []byte {
	switch event.Kind {
	case onchain.EventMissionFunded:
		funded := event.Funded
		dst = appendText(append(dst, `{"missionId":`...), funded.MissionID)
		dst = appendAddress(append(dst, `,"creator":"`...), funded.Creator)
		dst = appendAddress(append(dst, `","token":"`...), funded.Token)
		dst = appendInteger(append(dst, `","reward":`...), funded.Reward)
		dst = appendInteger(append(dst, `,"targetCount":`...), funded.TargetCount)
		dst = appendHash(append(dst, `,"nonce":"`...), funded.Nonce)
		dst = strconv.AppendUint(append(dst, `","reclaimAfter":`...), funded.ReclaimAfter, 10)
	case onchain.EventSubmissionPaid, onchain.EventPayoutDeferred:
		payment := event.Payment
		dst = appendHash(append(dst, `{"submissionKey":"`...), payment.SubmissionKey)
		dst = appendAddress(append(dst, `","recipient":"`...), payment.Recipient)
		dst = strconv.AppendUint(append(dst, `","slot":`...), payment.Slot, 10)
		dst = appendInteger(append(dst, `,"amount":`...), payment.Amount)
	case onchain.EventMissionClosed:
		dst = appendInteger(append(dst, `{"refund":`...), event.Closed.Refund)
		dst = strconv.AppendBool(append(dst, `,"deferred":`...), event.Closed.RefundDeferred)
		dst = strconv.AppendUint(append(dst, `,"reason":`...), uint64(event.Closed.Reason), 10)
	}
	return append(dst, '}')
}
