package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
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
func drawEvents(number int) []onchain.Event {
	events := make([]onchain.Event, number)
	for i := range events {
		kind := onchain.EventMissionFunded
		if i%2 == 1 {
			kind = onchain.EventSubmissionPaid
		}
		events[i] = drawEvent(uint64(i/4), uint64(i%4), kind)
	}
	return events
}

// drawEvent makes an event of a kind with hashes of its own.
func drawEvent(block, logIndex uint64, kind onchain.EventKind) onchain.Event {
	draft := drawDraft(alice, "")
	event := onchain.Event{
		Block: block, BlockHash: drawHash(), LogIndex: logIndex, Transaction: drawHash(), Factory: draft.Factory, Kind: kind,
		MissionKey: sortie.MissionKey(draft.MissionID),
	}
	switch kind {
	case onchain.EventMissionFunded:
		event.Funded = &onchain.MissionFunded{
			MissionID: draft.MissionID, Creator: alice, Token: draft.TokenAddress, Reward: draft.Reward,
			TargetCount: big.NewInt(int64(draft.TargetCount)), Nonce: draft.Nonce, ReclaimAfter: 1_790_000_000,
		}
	case onchain.EventSubmissionPaid, onchain.EventPayoutDeferred:
		event.Payment = &onchain.Payment{SubmissionKey: drawHash(), Recipient: bob, Slot: 7, Amount: draft.Reward}
	case onchain.EventMissionClosed:
		event.Closed = &onchain.MissionClosed{Refund: draft.Reward, RefundDeferred: true, Reason: 2}
	}
	return event
}

func drawHash() (hash sortie.Hash) {
	_, _ = rand.Read(hash[:]) // never fails
	return hash
}
