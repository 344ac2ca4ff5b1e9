package app

import (
	"context"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// completions counts the completion events of a mission.
func (s *testMedia) completions(draft store.Draft) (told int) {
	s.t.Helper()
	for _, event := range s.typesOf(draft) {
		if event == sortie.EventMissionCompleted {
			told++
		}
	}
	return told
}

// When a reorganization removes a closing, the money is in the contract again: the mission takes
// submissions, and is closed again when it is paid.
func TestAMissionContinuesWhenItsClosingWasReorganized(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		wantEnds := func(when string, draft store.Draft, want int) {
			t.Helper()
			s.due()
			if slots, told := s.slots(draft), s.completions(draft); (slots.CompletedAt != nil) != (want > 0) || told != want {
				t.Errorf("%s: complete since %v with %d completion events; want %d events", when, slots.CompletedAt, told, want)
			}
		}
		draft, full := s.publish("k", 5, ""), s.publish("l", 1, "")
		s.submitQuickly(contributor(1), full, "one")
		s.pass(testHold)
		s.due() // full for good
		s.payAll(full)
		s.wantClosing(full, true)
		tip := s.position.Tip.Number
		s.extend([]onchain.Event{s.restOf(draft, closedByCreator), s.restOf(full, closedBySettler)})
		wantEnds("reclaimed in a block that is not final", draft, 0)
		wantEnds("closed in a block that is not final", full, 0)
		s.advance(s.step(tip, nil))
		one := s.submitQuickly(bob, draft, "one")
		if feed, err := s.app.Feed(context.Background(), FeedQuery{}); err != nil || len(feed.Missions) != 1 {
			t.Errorf("feed %+v, %v, want 1", feed, err)
		}
		wantEnds("a mission that has all it asked for, when its closing is gone", full, 0)
		s.closeMission(full)
		s.finalTip()
		wantEnds("closed again", full, 1)
		wantEnds("a mission that takes submissions again", draft, 0)

		s.pass(31 * 24 * time.Hour)
		s.due()
		s.wantClosing(draft, false)
		s.payAll(draft)
		s.wantPayout("at its end", one, sortie.PayoutPaid)
		s.closeMission(draft)
		beneath := s.position.Tip.Number - 1
		s.finalTip()
		wantEnds("at its end", draft, 1)
		wantEnds("still", draft, 1)
		_, err := s.declare(contributor(2), draft, "late", photo(2))
		wantCode(t, err, sortie.CodeMissionClosed)

		// A final block can be replaced, too. An operator clears the incident, and the mission
		// completes again.
		broken := s.step(beneath, nil)
		broken.Final = beneath
		s.advance(broken)
		s.wantIncidents("finality_broken")
		s.due()
		if slots := s.slots(draft); slots.CompletedAt != nil || slots.Closing {
			t.Errorf("halted, with its money in the contract again: complete since %v, closing is %t; want neither", slots.CompletedAt, slots.Closing)
		}
		wantEnds("a mission whose closing stays", full, 1)
		s.clearIncidents()
		s.due()
		s.closeMission(draft)
		s.finalTip()
		wantEnds("closed by another final block", draft, 2)
	})
}
