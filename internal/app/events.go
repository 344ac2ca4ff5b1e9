package app

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// Events returns a page of the events of a wallet, oldest first. Every page has a cursor, the
// position after its last event, from which a later call continues.
//
// It fails with invalid_cursor for a cursor of another list or wallet.
func (a *App) Events(ctx context.Context, wallet sortie.Address, page Page) (sortie.EventPage, error) {
	list := "events\n" + wallet.String()
	after, err := a.cursors.open(list, page.Cursor)
	if err != nil {
		return sortie.EventPage{}, err
	}
	stored, err := a.store.EventsAfter(ctx, wallet, after, page.limit())
	if err != nil {
		return sortie.EventPage{}, storeError(err)
	}
	answer := sortie.EventPage{OK: true, Events: make([]sortie.Event, len(stored))}
	for i, event := range stored {
		if answer.Events[i], err = wireEvent(event); err != nil {
			return sortie.EventPage{}, err
		}
		after = event.Seq
	}
	answer.Summary = sortie.EventSummary{
		ReturnedEvents: len(stored), NextCursor: a.cursors.seal(list, after), GeneratedAt: sortie.FormatTime(a.now()),
	}
	return answer, nil
}

func wireEvent(event store.Event) (sortie.Event, error) {
	var ids struct {
		DraftID   string `json:"draftId"` // missing in events for contributors, who must not see draft ids
		MissionID string `json:"missionId"`
	}
	if err := json.Unmarshal(event.Data, &ids); err != nil {
		return sortie.Event{}, fmt.Errorf("read event %d of %s: %w", event.Seq, event.Wallet, err)
	}
	return sortie.Event{
		ID: eventID(event), Type: sortie.EventType(event.Type), CreatedAt: sortie.FormatTime(event.CreatedAt),
		DraftID: ids.DraftID, MissionID: ids.MissionID, Data: event.Data,
	}, nil
}

// eventID is the id of an event, the same for every reader. It is derived from what never changes,
// and does not reveal the wallet.
func eventID(event store.Event) string {
	digest := sha256.Sum256(binary.BigEndian.AppendUint64(append([]byte("event\n"), event.Wallet[:]...), uint64(event.Seq)))
	return mission.NewEventID(mission.Entropy(digest[:10]), event.CreatedAt)
}
