package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// MissionLogsCall reads the logs of fundings, or of closings, in one block by the missions' keys.
func MissionLogsCall(events []*onchain.Event) Call {
	keys := make([]sortie.Hash, len(events))
	for i, event := range events {
		keys[i] = event.MissionKey
	}
	one := NewLogFilter([]sortie.Address{events[0].Factory})
	one.Only(events[0].Kind, keys...)
	return one.BlockCall(events[0].BlockHash)
}

// LogsByKey decodes a reply to a [MissionLogsCall].
func (r Reply) LogsByKey() (map[sortie.Hash][]onchain.Event, error) {
	logs, err := r.Value()
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

// CheckLogged fails unless the logs have exactly this event of its mission.
func CheckLogged(event *onchain.Event, logs map[sortie.Hash][]onchain.Event) error {
	if found := logs[event.MissionKey]; len(found) != 1 || !same(event, &found[0]) {
		return BadAnswer("the block has no such log")
	}
	return nil
}

// CheckMission decodes a reply to a [MissionCall] and fails unless the mission matches the event.
func (r Reply) CheckMission(event *onchain.Event) error {
	m, err := r.Mission()
	if err != nil {
		return fmt.Errorf("contract: %w", err)
	}
	if funded := event.Funded; funded != nil {
		if m.Creator != funded.Creator || m.Token != funded.Token || m.Reward.ToBig().Cmp(funded.Reward) != 0 ||
			!funded.TargetCount.IsUint64() || m.TargetCount != funded.TargetCount.Uint64() || m.ReclaimAfter != funded.ReclaimAfter {
			return BadAnswer("the contract holds something else")
		}
	}
	if closed := event.Closed; closed != nil && m.Closed != closed.Reason {
		return BadAnswer("the contract holds the mission as it is")
	}
	return nil
}

// HasMined reports whether a node has the transaction of an event in the event's block. If the
// receipt is too large, it reads the event's log instead.
func (n *Node) HasMined(ctx context.Context, event *onchain.Event) (bool, error) {
	readings, err := n.Receipts(ctx, []sortie.Hash{event.Transaction})
	if err != nil {
		return false, err
	}
	reading := readings[event.Transaction]
	switch {
	case errors.Is(reading.Err, ErrAbsent):
		return false, nil
	case reading.Err == nil:
		return reading.Receipt.succeeded && reading.Receipt.blockHash == event.BlockHash, nil
	case !errors.Is(reading.Err, ErrReceiptTooLarge):
		return false, fmt.Errorf("%s: %w", n.name, reading.Err)
	}
	// Nodes refuse to return logs of a replaced block, so the block is read first.
	hashes, err := n.BlockHashes(ctx, []uint64{event.Block})
	if err != nil || hashes[event.Block] != event.BlockHash {
		return false, err
	}
	replies, err := n.Batch(ctx, []Call{MissionLogsCall([]*onchain.Event{event})})
	if err != nil {
		return false, err
	}
	found, err := replies[0].LogsByKey()
	if err != nil {
		return false, fmt.Errorf("%s: %w", n.name, err)
	}
	return len(found) > 0, nil
}
