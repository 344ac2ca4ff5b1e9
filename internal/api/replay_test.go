package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// record signs a request, sends it, and returns a function that sends the same bytes again, as an
// attacker could who recorded them.
func (s *testService) record(r testRequest) (first answer, again func() answer) {
	s.t.Helper()
	signed := s.build(r)
	header := signed.Header.Clone()
	return s.roundTrip(signed), func() answer {
		s.t.Helper()
		replayed, err := http.NewRequest(r.method, s.URL+r.target, strings.NewReader(r.body))
		if err != nil {
			s.t.Fatal(err)
		}
		replayed.Header = header.Clone()
		return s.roundTrip(replayed)
	}
}

// A recorded decision that is sent again does not undo later decisions.
func TestReplayedDecisions(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database, curate: true, hold: 10 * time.Minute})
		id := s.submit(s.publish("k1", wideMission).MissionID, "photo-1", s.shoot(1)).SubmissionID
		first, again := s.record(testRequest{method: http.MethodPost, target: queuePath + "/" + id + "/accept", body: goodReason, signer: reviewer})
		mustBe(t, "accept", first, http.StatusOK)
		mustBe(t, "a retry", again(), http.StatusOK)
		s.clock.advance(time.Minute)
		mustBe(t, "flag", s.judge(colleague, id, "flag", goodReason), http.StatusOK)
		s.clock.advance(time.Minute)
		replayed := again()
		mustBe(t, "the acceptance again", replayed, http.StatusOK)
		if status := decode[sortie.ReviewedSubmissionDetail](t, replayed).Submission.Status; status != sortie.SubmissionFlagged {
			t.Errorf("the acceptance, sent again, made it %s", status)
		}
		mustBe(t, "accepted anew", s.judge(reviewer, id, "accept", goodReason), http.StatusOK)
		if status := s.submission(id).Status; status != sortie.SubmissionCurationAccepted {
			t.Errorf("signed anew, it is %s", status)
		}
	})
}

func TestReplayedRotations(t *testing.T) {
	t.Parallel()
	s, draft, _ := delivered(t, serviceOptions{})
	first, again := s.record(testRequest{method: http.MethodPost, target: rotatePath, body: goodReason, signer: reviewer})
	mustBe(t, "rotate", first, http.StatusOK)
	link := s.deliverables(draft.DraftID, "").Submissions[0].MediaURL
	mustBe(t, "the rotation again", again(), http.StatusOK)
	mustBe(t, "a link from between", s.follow(link, nil), http.StatusOK)
}
