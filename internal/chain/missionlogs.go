package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// keyedLogsCall asks for the logs of fundings, or of closings, of one block. There is one of each
// mission.
func keyedLogsCall(events []*onchain.Event) call {
	keys := make([]sortie.Hash, len(events))
	for i, event := range events {
		keys[i] = event.MissionKey
	}
	one := newSieve([]sortie.Address{events[0].Factory})
	one.only(events[0].Kind, keys...)
	return one.blockCall(events[0].BlockHash)
}

// logsByKey reads a reply to a keyedLogsCall.
func (r reply) logsByKey() (map[sortie.Hash][]onchain.Event, error) {
	logs, err := r.value()
	if err != nil {
		return nil, err
	}
	found, err := knownEvents(logs)
	byKey := make(map[sortie.Hash][]onchain.Event, len(found))
	for _, event := range found {
		byKey[event.MissionKey] = append(byKey[event.MissionKey], event)
	}
	return byKey, err
}

// isLogged refuses logs that do not have exactly this event of its mission.
func isLogged(event *onchain.Event, logs map[sortie.Hash][]onchain.Event) error {
	if found := logs[event.MissionKey]; len(found) != 1 || !same(event, &found[0]) {
		return badAnswer("the block has no such log")
	}
	return nil
}

// holds reads a reply to a missionCall and refuses a mission of which the event does not tell.
func (r reply) holds(event *onchain.Event) error {
	m, err := r.mission()
	if err != nil {
		return fmt.Errorf("contract: %w", err)
	}
	if funded := event.Funded; funded != nil {
		if m.creator != funded.Creator || m.token != funded.Token || m.reward.ToBig().Cmp(funded.Reward) != 0 ||
			!funded.TargetCount.IsUint64() || m.targetCount != funded.TargetCount.Uint64() || m.reclaimAfter != funded.ReclaimAfter {
			return badAnswer("the contract holds something else")
		}
	}
	if closed := event.Closed; closed != nil && m.closed != closed.Reason {
		return badAnswer("the contract holds the mission as it is")
	}
	return nil
}

// mined reports whether a node has the transaction of an event in the event's block. Of a receipt
// that is too large to read it looks at the event's log instead.
func (n *Node) mined(ctx context.Context, event *onchain.Event) (bool, error) {
	readings, err := n.receiptsOf(ctx, []sortie.Hash{event.Transaction})
	if err != nil {
		return false, err
	}
	reading := readings[event.Transaction]
	switch {
	case errors.Is(reading.err, errAbsent):
		return false, nil
	case reading.err == nil:
		return reading.receipt.succeeded && reading.receipt.blockHash == event.BlockHash, nil
	case !errors.Is(reading.err, errHeavy):
		return false, fmt.Errorf("%s: %w", n.name, reading.err)
	}
	// A node refuses to give the logs of a block that it has replaced, so the block is asked for
	// first.
	hashes, err := n.hashes(ctx, []uint64{event.Block})
	if err != nil || hashes[event.Block] != event.BlockHash {
		return false, err
	}
	replies, err := n.batch(ctx, []call{keyedLogsCall([]*onchain.Event{event})})
	if err != nil {
		return false, err
	}
	found, err := replies[0].logsByKey()
	if err != nil {
		return false, fmt.Errorf("%s: %w", n.name, err)
	}
	return len(found) > 0, nil
}
