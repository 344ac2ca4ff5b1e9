package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// A refusal states whether and when a retry can succeed.
func TestRefusalsOfDeclarationsSayWhatHelps(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	refused := func(wallet sortie.Address, draft store.Draft, key string, code sortie.Code, says, doesNotSay string) {
		t.Helper()
		_, err := s.declare(wallet, draft, key, photo(9))
		wantCode(t, err, code)
		var refusal *sortie.Error
		if !errors.As(err, &refusal) || !strings.Contains(refusal.Message, says) || strings.Contains(refusal.Message, doesNotSay) {
			t.Errorf("got error %v; want %q in it, and not %q", err, says, doesNotSay)
		}
	}
	draft := s.publish("k", 2, "")
	s.submitQuickly(bob, draft, "one")
	refused(bob, draft, "again", sortie.CodeContributorLimit, "this wallet has a submission to the mission", "1 submissions")
	_, err := s.declare(contributor(1), draft, "two", photo(2))
	s.must(err)
	refused(contributor(2), draft, "three", sortie.CodeMissionFull, "every slot of this mission is reserved; a slot whose file does not arrive or is not accepted becomes free", "all it asked for")
	full := s.publish("l", 1, "")
	s.submitQuickly(contributor(3), full, "one")
	refused(contributor(4), full, "two", sortie.CodeMissionFull, "this mission has all it asked for", "again")

	patient := s.publish("m", 5, `,"maxSubmissionsPerContributor":2`)
	for _, key := range []string{"three", "four"} {
		_, err := s.declare(bob, patient, key, photo(3))
		s.must(err)
	}
	refused(bob, patient, "five", sortie.CodeContributorLimit, "this wallet has 2 submissions to the mission", "a submission")
}

// An idempotency key that was used for another declaration is refused with the differences.
func TestAKeyOfAnotherDeclaration(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	draft, another := s.publish("k", 2, ""), s.publish("l", 2, "")
	first, err := s.declare(bob, draft, "one", photo(1))
	s.must(err)
	body := string(declaration(photo(1), s.clock()))
	for _, test := range []struct {
		mission, body string
		want          []string
	}{
		{another.MissionID, body, []string{"missionId"}},
		{draft.MissionID, strings.Replace(body, "48.858370", "48.858371", 1), []string{"location.lat"}},
		{draft.MissionID, strings.Replace(body, "2.294480", "2.294481", 1), []string{"location.lng"}},
		{draft.MissionID, strings.Replace(body, "8.5", "8.6", 1), []string{"location.accuracyMeters"}},
		{draft.MissionID, string(declaration(photo(1), s.clock().Add(-time.Second))), []string{"capturedAt"}},
		{draft.MissionID, strings.Replace(body, "image/jpeg", "image/png", 1), []string{"contentType"}},
		{draft.MissionID, string(declaration(append(photo(1), 0), s.clock())), []string{"sizeBytes", "sha256"}},
	} {
		_, _, err := s.app.Declare(context.Background(), testBase, bob, testNetwork, test.mission, "one", []byte(test.body))
		wantCode(t, err, sortie.CodeIdempotencyConflict)
		var refusal *sortie.Error
		if !errors.As(err, &refusal) {
			t.Fatal(err)
		}
		if fields, _ := refusal.Details["fields"].([]string); !slices.Equal(fields, test.want) || refusal.Details["submissionId"] != first.SubmissionID {
			t.Errorf("details %v, want the fields %v", refusal.Details, test.want)
		}
	}
}
