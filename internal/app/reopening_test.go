package app

import (
	"context"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// completions counts how often the creator was told that a mission is complete.
func (s *studio) completions(draft store.Draft) (told int) {
	s.t.Helper()
	for _, event := range s.typesOf(draft) {
		if event == sortie.EventMissionCompleted {
			told++
		}
	}
	return told
}

// A closing that the chain takes back ends nothing for good: the money is in the contract, so the mission takes submissions again.
func TestAMissionGoesOnWhenItsClosingWasReorganized(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openStudio(t, database, nil)
		draft, full := s.publish("k", 5, ""), s.publish("l", 1, "")
		s.submitQuickly(contributor(1), full, "one")
		s.pass(testHold)
		s.due() // full for good
		tip := s.position.Tip.Number
		s.extend([]store.ChainEvent{closingOf(draft, closedByCreator), closingOf(full, closedByCreator)})
		s.due()
		if s.slots(draft).CompletedAt == nil || s.completions(draft) != 1 {
			t.Fatal("a closed mission with nothing open is not complete")
		}
		s.advance(s.step(tip, nil))
		s.submitQuickly(bob, draft, "one")
		if feed, err := s.app.Feed(context.Background(), FeedQuery{}); err != nil || len(feed.Missions) != 1 {
			t.Errorf("feed %+v, %v", feed, err)
		}
		s.due()
		if s.slots(full).CompletedAt == nil || s.completions(full) != 1 {
			t.Errorf("a mission that has all it asked for: %+v, told %d times", s.slots(full), s.completions(full))
		}
		s.pass(31 * 24 * time.Hour)
		s.due()
		s.due()
		if s.slots(draft).CompletedAt == nil || s.completions(draft) != 2 {
			t.Errorf("at its end: %+v, told %d times", s.slots(draft), s.completions(draft))
		}
		// Nobody can submit anything any more, whatever becomes of the closing.
		tip = s.position.Tip.Number
		s.extend([]store.ChainEvent{closingOf(draft, closedByCreator)})
		s.due()
		s.advance(s.step(tip, nil))
		s.due()
		if s.slots(draft).CompletedAt == nil || s.completions(draft) != 2 {
			t.Errorf("after its end: %+v, told %d times", s.slots(draft), s.completions(draft))
		}
	})
}
