package app

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// A mission takes submissions when it is published, none when its money leaves the contract, and
// again when a reorganization removes the closing.
func TestSlotsFollowTheChain(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, curated)
		ctx := context.Background()
		waiting := s.fund(alice, "unpublished", "locked")
		_, err := s.declare(bob, waiting, "x", photo(9))
		wantCode(t, err, sortie.CodeNotFound)

		draft := s.publish("k", 5, "")
		flagged := s.submitQuickly(bob, draft, "one")
		uploaded, err := s.declare(contributor(1), draft, "two", photo(2))
		s.must(err)
		s.upload(uploaded, photo(2))
		s.pretend(uploaded.SubmissionID)

		tip := s.position.Tip.Number
		s.extend([]onchain.Event{closingOf(draft, closedByCreator)})
		_, err = s.declare(contributor(2), draft, "three", photo(3))
		wantCode(t, err, sortie.CodeMissionClosed)
		_, err = s.operators.AcceptSubmission(ctx, testBase, by(reviewer), flagged, "")
		wantCode(t, err, sortie.CodeMissionClosed)
		if feed, err := s.app.Feed(ctx, FeedQuery{}); err != nil || len(feed.Missions) != 0 {
			t.Errorf("feed %+v, %v, want 0", feed, err)
		}
		s.advance(s.step(tip, nil)) // another block in its place
		again, err := s.declare(contributor(2), draft, "three", photo(3))
		s.must(err)
		_, err = s.app.Withdraw(ctx, contributor(2), again.SubmissionID)
		s.must(err)

		s.extend([]onchain.Event{closingOf(draft, closedByCreator)})
		s.must(s.app.CheckSubmission(ctx, uploaded.SubmissionID))
		s.wantStatus(uploaded.SubmissionID, sortie.SubmissionRejected) // it would not be paid
		_, err = s.operators.RejectSubmission(ctx, testBase, by(reviewer), flagged, "The mission is over.")
		s.must(err)
		s.due()
		if told := s.completions(draft); told != 0 {
			t.Errorf("got %d completion events before the closing was final, want 0", told)
		}
		s.finalTip()
		s.due()
		if types := s.typesOf(draft); types[len(types)-1] != sortie.EventMissionCompleted || s.completions(draft) != 1 {
			t.Errorf("events %v, want one %s at the end", types, sortie.EventMissionCompleted)
		}
		s.checkDraftMoves(draft)
	})
}

// checkDraftMoves checks that submissions do not change the version of the draft.
func (s *testMedia) checkDraftMoves(draft store.Draft) {
	s.t.Helper()
	types := slices.DeleteFunc(s.typesOf(draft), func(event sortie.EventType) bool {
		return slices.Contains([]sortie.EventType{
			sortie.EventSubmissionAccepted, sortie.EventSubmissionRevoked, sortie.EventMissionCompleted,
			sortie.EventPayoutSent, sortie.EventPayoutPaid, sortie.EventPayoutDeferred,
		}, event)
	})
	if after := s.read(draft.ID); int64(len(types)) != after.Version {
		s.t.Errorf("draft has version %d and events %v, want %v", after.Version, types, after.Version)
	}
}

// Missions that were published before slots existed are opened to contributors at the next start.
func TestOlderMissionsAreOpened(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		open, closed := s.publish("k", 5, tower), s.publish("l", 5, "")
		before := s.slots(open)
		s.extend([]onchain.Event{closingOf(closed, closedByCreator)})
		s.must(s.db.Tx(ctx, func(tx *store.Tx) error {
			for _, statement := range []string{`DELETE FROM mission_slots`, `DELETE FROM settings WHERE name = 'older-missions-published'`} {
				if _, err := tx.SQL().ExecContext(ctx, statement); err != nil {
					return err
				}
			}
			return nil
		}))
		s.pass(time.Hour)
		for range 2 {
			s.use(s.another(nil))
		}
		after := s.slots(open)
		after.Seq = before.Seq
		if fmt.Sprint(after.PublishedAt, after.EndsAt, *after.Place, after.ClosedAt, string(after.Summary)) !=
			fmt.Sprint(before.PublishedAt, before.EndsAt, *before.Place, before.ClosedAt, string(before.Summary)) {
			t.Errorf("slots %+v, were %+v", after, before)
		}
		if s.slots(closed).ClosedAt == nil {
			t.Error("a mission without money is open")
		}
		s.submitQuickly(bob, open, "one")
	})
}

// The feed lists missions that take submissions, in pages.
func TestTheFeed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		place := func(meters int) string { // north of the tower
			return fmt.Sprintf(`,"location":{"lat":%.6f,"lng":2.2945}`, 48.8584+float64(meters)/111_195)
		}
		everywhere := s.publish("z", 1, "")
		far, near, nearest := s.publish("a", 1, place(5000)), s.publish("b", 1, place(900)), s.publish("c", 1, place(20))
		full, film := s.publish("d", 1, place(0)), s.publish("e", 1, `,"mediaType":"video"`)
		s.submitQuickly(bob, full, "one")
		all := func(query FeedQuery) (ids []string, distances []int64) {
			t.Helper()
			for query.Limit = 2; ; {
				page, err := s.app.Feed(ctx, query)
				s.must(err)
				for _, mission := range page.Missions {
					ids = append(ids, mission.MissionID)
					if mission.DistanceMeters != nil {
						distances = append(distances, *mission.DistanceMeters)
					}
					if !mission.Open || mission.SlotsLeft != 1 || mission.Reward.Amount != "2.5" || len(mission.NormalizedMission) == 0 {
						t.Errorf("in the feed: %+v", mission)
					}
				}
				if page.Summary.NextCursor == nil {
					return ids, distances
				}
				query.Cursor = *page.Summary.NextCursor
			}
		}
		if ids, _ := all(FeedQuery{}); !slices.Equal(ids, []string{film.MissionID, nearest.MissionID, near.MissionID, far.MissionID, everywhere.MissionID}) {
			t.Errorf("newest first: %v", ids)
		}
		if ids, _ := all(FeedQuery{MediaType: sortie.MediaVideo}); !slices.Equal(ids, []string{film.MissionID}) {
			t.Errorf("videos: %v", ids)
		}
		ids, distances := all(FeedQuery{Near: &MicroDegrees{Lat: 48_858_400, Lng: 2_294_500}})
		if !slices.Equal(ids, []string{nearest.MissionID, near.MissionID, far.MissionID, film.MissionID, everywhere.MissionID}) || !slices.IsSorted(distances) || distances[2] < 4990 || distances[2] > 5010 {
			t.Errorf("nearest first: %v at %v m", ids, distances)
		}
		page, err := s.app.Feed(ctx, FeedQuery{Near: &MicroDegrees{Lat: 48_858_400, Lng: 2_294_500}, Page: Page{Limit: 3}})
		s.must(err)
		if page.Summary.NextCursor == nil { // after the last mission near the point, others follow
			t.Error("a page with all that are near is the last one")
		}
		first, err := s.app.Feed(ctx, FeedQuery{Page: Page{Limit: 1}})
		s.must(err)
		for _, other := range []FeedQuery{{MediaType: sortie.MediaPhoto}, {Near: &MicroDegrees{}}} {
			other.Cursor = *first.Summary.NextCursor
			_, err := s.app.Feed(ctx, other)
			wantCode(t, err, sortie.CodeInvalidCursor)
		}
		shown, err := s.app.OpenMission(ctx, full.MissionID)
		if err != nil || shown.Mission.Open || shown.Mission.SlotsLeft != 0 {
			t.Errorf("a full mission: %+v, %v", shown, err)
		}
		for _, id := range []string{full.ID, "nothing-00000000", "'"} {
			_, err := s.app.OpenMission(ctx, id)
			wantCode(t, err, sortie.CodeNotFound)
		}
		s.pass(31 * 24 * time.Hour)
		if ids, _ := all(FeedQuery{}); len(ids) != 0 {
			t.Errorf("over, and in the feed: %v, want 0", ids)
		}
		_, err = s.declare(bob, near, "late", photo(1))
		wantCode(t, err, sortie.CodeMissionClosed)
	})
}
