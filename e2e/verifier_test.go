package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sortie-labs/sortie"
)

// verifier is an operator's verifier. It decides by the width of a picture.
type verifier struct {
	t        *testing.T
	away     atomic.Bool
	thinking atomic.Bool  // without end: the client disconnects before the answer
	seen     atomic.Int64 // questions
}

func (v *verifier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.seen.Add(1)
	if v.away.Load() {
		http.Error(w, "out for lunch", http.StatusServiceUnavailable)
		return
	}
	text, err := io.ReadAll(r.Body)
	if v.thinking.Load() {
		<-r.Context().Done()
		return
	}
	var question struct {
		SubmissionID, MissionID, MediaURL string
		Accept                            []string
	}
	if err == nil {
		err = json.Unmarshal(text, &question)
	}
	if err != nil || !slices.Equal(question.Accept, []string{"wide"}) {
		v.t.Errorf("the verifier was asked %+v: %v", question, err)
	}
	media, err := http.Get(question.MediaURL)
	if err != nil {
		v.t.Errorf("the verifier cannot see %s: %v", question.SubmissionID, err)
		return
	}
	defer media.Body.Close()
	width, height, err := pictureSize(media.Body)
	if err != nil || media.StatusCode != http.StatusOK {
		v.t.Errorf("the verifier sees %s of %s: %v", media.Status, question.SubmissionID, err)
	}
	score := map[bool]int{width > height: 90, width < height: 10}[true]
	if width == height {
		score = 50
	}
	_, _ = fmt.Fprintf(w, `{"score": %d, "reason": "It is %d wide and %d high."}`, score, width, height)
}

// A verifier decides about submissions that pass the checks. While it is unavailable, submissions
// wait, and if the service is killed while it waits for an answer, it asks again after the start.
func TestVerifierDecides(t *testing.T) {
	t.Parallel()
	program := &verifier{t: t}
	server := httptest.NewServer(program)
	defer server.Close()
	chain := startAnvil(t)
	f := follow(t, chain, append(chain.keepingFiles(sqliteIn(t), t.TempDir()), "SORTIE_VERIFICATION=http:"+server.URL+"/check"))
	wanted := photoMission(4)
	wanted.Verification = &sortie.VerificationRules{Accept: []string{"wide"}, Reject: []string{}}
	mission := f.publish(wanted)

	for _, c := range []struct {
		width, height int
		want          sortie.SubmissionStatus
		score         int
	}{
		{160, 120, sortie.SubmissionAccepted, 90}, {120, 160, sortie.SubmissionRejected, 10}, {128, 128, sortie.SubmissionFlagged, 50},
	} {
		s := f.submit("contributor1", mission, photoOf(c.width, c.height, c.width))
		seen := f.awaitStatus(s, c.want)
		if reason := fmt.Sprintf("It is %d wide and %d high.", c.width, c.height); seen.Reason != reason || seen.Score == nil || *seen.Score != c.score {
			t.Errorf("%d x %d: %+v", c.width, c.height, seen)
		}
		if reviewed, err := f.operator.Submission(f.ctx, s.id); err != nil || !strings.Contains(reviewed.Policy, "/http-") {
			t.Errorf("decided by the policy %q: %v", reviewed.Policy, err)
		}
		if _, found := f.delivered(mission)[s.id]; found != (c.want == sortie.SubmissionAccepted) {
			t.Errorf("a submission that is %s is delivered: %t", c.want, found)
		}
	}

	program.away.Store(true)
	before := program.seen.Load()
	waiting := f.submit("contributor2", mission, photo(9))
	f.service.await(t, "question to a verifier that is away", func() bool { return program.seen.Load() > before })
	f.awaitStatus(waiting, sortie.SubmissionPending)
	program.away.Store(false)
	f.awaitStatus(waiting, sortie.SubmissionAccepted)

	program.thinking.Store(true)
	before = program.seen.Load()
	killed := f.submit("contributor3", mission, photo(10))
	f.service.await(t, "question to a verifier that thinks", func() bool { return program.seen.Load() > before })
	f.service.kill()
	program.thinking.Store(false)
	f.restart()
	f.awaitStatus(killed, sortie.SubmissionAccepted)
}
