package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"testing"

	"github.com/sortie-labs/sortie"
)

// BenchmarkAddEvents adds the events of a range in one transaction. An operation is one event.
func BenchmarkAddEvents(b *testing.B) {
	for _, engine := range engines {
		for _, events := range []int{10, 2_000, 10_000} {
			b.Run(fmt.Sprintf("%s/range=%d", engine.name, events), func(b *testing.B) {
				db := open(b, engine.newURL(b), Options{})
				batch := drawEvents(events)
				b.ReportAllocs()
				b.ResetTimer()
				before := processCPU()
				for done := 0; done < b.N; done += events {
					batch = batch[:min(events, b.N-done)]
					for i := range batch {
						batch[i].Block += uint64(events)
					}
					if err := db.Tx(context.Background(), func(tx *Tx) error { return tx.AddEvents(31337, batch) }); err != nil {
						b.Fatal(err)
					}
				}
				reportCPU(b, before)
			})
		}
	}
}

// drawEvents makes events in blocks of four, fundings and payments in turn.
func drawEvents(number int) []ChainEvent {
	events := make([]ChainEvent, number)
	for i := range events {
		kind := EventMissionFunded
		if i%2 == 1 {
			kind = EventSubmissionPaid
		}
		events[i] = drawEvent(uint64(i/4), uint64(i%4), kind)
	}
	return events
}

// drawEvent makes an event of a kind with hashes of its own.
func drawEvent(block, logIndex uint64, kind EventKind) ChainEvent {
	draft := drawDraft(alice, "")
	event := ChainEvent{
		Block: block, BlockHash: drawHash(), LogIndex: logIndex, Transaction: drawHash(), Factory: draft.Factory, Kind: kind,
		MissionKey: sortie.MissionKey(draft.MissionID),
	}
	switch kind {
	case EventMissionFunded:
		event.Funded = &MissionFunded{
			MissionID: draft.MissionID, Creator: alice, Token: draft.TokenAddress, Reward: draft.Reward,
			TargetCount: big.NewInt(int64(draft.TargetCount)), Nonce: draft.Nonce, ReclaimAfter: 1_790_000_000,
		}
	case EventSubmissionPaid, EventPayoutDeferred:
		event.Payment = &Payment{SubmissionKey: drawHash(), Recipient: bob, Slot: 7, Amount: draft.Reward}
	case EventMissionClosed:
		event.Closed = &MissionClosed{Refund: draft.Reward, RefundDeferred: true, Reason: 2}
	}
	return event
}

func drawHash() (hash sortie.Hash) {
	_, _ = rand.Read(hash[:]) // never fails
	return hash
}
