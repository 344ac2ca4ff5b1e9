package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/sortie-labs/sortie"
)

// The answer is, byte for byte, what encoding/json makes of the wire type.
func TestDeliverablesHaveTheShapeOfTheInterface(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	const mission = `{"title":"Photo of the main entrance","description":"<b>Ü & \"quotes\"</b>","mediaType":"photo","reward":{"token":"USDC","amount":2.5},"targetCount":3,"maxSubmissionsPerContributor":3}`
	draft := s.publish("k", mission)
	s.submit(draft.MissionID, "one", s.shoot(1))
	s.submit(draft.MissionID, "two", s.shoot(2))
	for _, id := range []string{draft.DraftID, draft.MissionID} {
		a := s.send(testRequest{target: listPath + "/" + id + "/deliverables?limit=1"})
		if a.StatusCode != http.StatusOK {
			t.Fatalf("deliverables of %s: got %d %s, want 200", id, a.StatusCode, a.body)
		}
		page := decode[sortie.Deliverables](t, a)
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false) // links keep their &
		if err := encoder.Encode(page); err != nil {
			t.Fatal(err)
		}
		if string(a.body) != want.String() {
			t.Errorf("deliverables of %s:\ngot  %s\nwant %s", id, a.body, want.String())
		}
		if page.Summary.NextCursor == nil || page.Summary.AcceptedSubmissions != 2 || page.Summary.ReturnedSubmissions != 1 || !page.OK {
			t.Errorf("summary: got %+v, want 1 of 2 submissions and a cursor", page.Summary)
		}
		link, err := url.Parse(page.Submissions[0].MediaURL)
		if err != nil {
			t.Fatal(err)
		}
		wantPath := "/api/external/media/" + page.Submissions[0].SubmissionID + "/original"
		if link.Scheme+"://"+link.Host != s.URL || link.Path != wantPath {
			t.Errorf("media link: got %s, want %s under %s", link, wantPath, s.URL)
		}
	}
}
