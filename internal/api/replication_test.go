package api

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

// TestADraftIsAcknowledgedOnlyWhenAStandbyHasIt repeats a request while the only synchronous
// standby is unavailable. A draft that was acknowledged then would be lost in a failover.
func TestADraftIsAcknowledgedOnlyWhenAStandbyHasIt(t *testing.T) {
	t.Parallel()
	primary := pgtest.StartPrimary(t)
	database, err := url.Parse(primary.URL)
	if err != nil {
		t.Fatal(err)
	}
	query := database.Query()
	query.Set("lock_timeout", "200ms")
	database.RawQuery = query.Encode()
	s := newService(t, serviceOptions{database: database.String(), deadline: 3 * time.Second})
	t.Cleanup(primary.RestoreStandby)
	post := testRequest{method: http.MethodPost, target: draftsPath, key: "key", body: goodMission}
	other := testRequest{method: http.MethodPost, target: draftsPath, key: "key", body: goodMission, signer: stranger}

	ends := s.clock.Now().Add(2 * time.Hour).UTC().Format(time.RFC3339)
	timed := testRequest{method: http.MethodPost, target: draftsPath, key: "key", signer: reviewer,
		body: strings.Replace(goodMission, "{", `{"endsAt":"`+ends+`",`, 1)}

	primary.LoseStandby()
	unavailable(t, "a create without a standby", s.send(post), sortie.CodeServiceUnavailable)
	unavailable(t, "another create without a standby", s.send(timed), sortie.CodeServiceUnavailable)
	primary.AwaitCommitsWaiting(2)
	for range 2 {
		unavailable(t, "a repeat while the first commit waits", s.send(post), sortie.CodeServiceUnavailable)
	}
	a := s.send(testRequest{target: listPath})
	if list := decode[sortie.DraftList](t, a); a.StatusCode != http.StatusOK || len(list.Drafts) != 0 {
		t.Errorf("the list while the commit waits: %d with %d drafts, want 200 with none", a.StatusCode, len(list.Drafts))
	}

	primary.CancelCommits() // now the row is visible, and no standby has it
	primary.AwaitCommitsWaiting(0)
	unavailable(t, "a repeat after the wait was cancelled", s.send(post), sortie.CodeServiceUnavailable)
	unavailable(t, "a create of another wallet", s.send(other), sortie.CodeServiceUnavailable)
	s.clock.advance(3 * time.Hour) // now the time of the mission would be refused, were it new
	unavailable(t, "a repeat after the mission's end", s.send(timed), sortie.CodeServiceUnavailable)

	primary.RestoreStandby()
	primary.AwaitCommitsWaiting(0)
	eventually(t, "the draft is acknowledged when the standby is back", func() bool {
		a = s.send(post)
		return a.StatusCode != http.StatusServiceUnavailable
	})
	if replayed := a.Header.Get("Idempotent-Replayed"); a.StatusCode != http.StatusOK || replayed != "true" {
		t.Errorf("a repeat with a standby: %d, Idempotent-Replayed %q, want 200 and true: %s", a.StatusCode, replayed, a.body)
	}
	mustBe(t, "a repeat after the mission's end, with a standby", s.send(timed), http.StatusOK)
}
