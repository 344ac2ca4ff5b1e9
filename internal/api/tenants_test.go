package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
)

// withoutID is an answer as it would be if all had one request id: what is left must not tell two
// ids apart.
func withoutID(a answer) string {
	var b strings.Builder
	b.WriteString(a.Status + "\n")
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		if name != "Date" {
			b.WriteString(name + ": " + strings.Join(a.Header[name], ", ") + "\n")
		}
	}
	b.Write(a.body)
	return strings.ReplaceAll(b.String(), a.Header.Get("X-Request-Id"), "req_")
}

// bodyOf is a body that a route takes, if it must have one.
func bodyOf(r route) string {
	switch {
	case r.body == 0 || r.bodyOptional:
		return ""
	case r.access == operator:
		return goodReason
	default:
		return goodMission
	}
}

// alike holds the answers to many ids against one another: all are 404, and none tells more than
// the others.
func (s *testService) alike(t *testing.T, r route, signer sortie.Signer, ids map[string]string) {
	t.Helper()
	before, after, _ := strings.Cut(r.pattern, "{id}")
	want := ""
	for name, id := range ids {
		a := s.send(testRequest{method: r.method, target: before + id + after, body: bodyOf(r), signer: signer})
		if a.StatusCode != http.StatusNotFound || a.code() != sortie.CodeNotFound {
			t.Errorf("%s %s: %d %s", r.pattern, name, a.StatusCode, a.body)
		}
		checkError(t, a)
		got := withoutID(a)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s %s:\n%s\nothers:\n%s", r.pattern, name, got, want)
		}
	}
}

// Every path that takes an id answers alike for what is somebody else's, what does not exist and
// what cannot be an id. Operators see everybody's missions; for them no more than the last two are
// alike.
func TestForeignAndAbsentIDsAreAnsweredAlike(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		submission := s.declare(s.publish("k0", goodMission).MissionID, "k0", s.shoot(1)).SubmissionID
		final := s.submit(s.publish("k00", goodMission).MissionID, "k00", s.shoot(2)).SubmissionID
		s.due() // its payout is queued
		incident := s.halt()
		foreign := decode[sortie.DraftCreated](t, s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission, signer: stranger}))
		own := s.create("k1", goodMission)
		absent := map[string]string{
			"absent draft":            "draft_0123456789abcdefghjkmnpqrs",
			"absent draft, near":      neighbour(foreign.DraftID),
			"absent mission":          "photo-of-the-main-entrance-00000000",
			"absent mission, near":    neighbour(foreign.MissionID),
			"own draft, near":         neighbour(own.DraftID),
			"absent incident, near":   neighbour(incident),
			"malformed":               "draft_",
			"malformed, capitals":     strings.ToUpper(foreign.DraftID),
			"malformed, word":         "x",
			"malformed, quote":        "'or'1'='1",
			"malformed, long":         strings.Repeat("a", 500),
			"a submission":            "sub_0123456789abcdefghjkmnpqrs",
			"absent submission, near": neighbour(submission),
			"an incident in capitals": strings.ToUpper(incident),
		}
		others := maps.Clone(absent)
		others["foreign draft"], others["foreign mission"], others["an incident"], others["foreign submission"] = foreign.DraftID, foreign.MissionID, incident, submission
		checked := make(map[access]int)
		for _, r := range routes {
			before, after, takesID := strings.Cut(r.pattern, "{id}")
			if !takesID {
				continue
			}
			checked[r.access]++
			signer, theirs, known := creator, others, own.DraftID
			if r.access == operator {
				signer, theirs = reviewer, absent
			}
			switch {
			case strings.Contains(r.pattern, "/incidents/"):
				known = incident
			case strings.Contains(r.pattern, "/submissions/"):
				known = submission
			case strings.Contains(r.pattern, "/payouts/"):
				known = final
			}
			s.alike(t, r, signer, theirs)
			if r.access == signed && known == submission {
				signer = contributor
			}
			if a := s.send(testRequest{method: r.method, target: before + known + after, body: bodyOf(r), signer: signer}); a.StatusCode == http.StatusNotFound {
				t.Errorf("%s: what is there is not found", r.pattern)
			}
		}
		if checked[signed] < 3 || checked[operator] < 4 {
			t.Errorf("checked %v", checked)
		}
	})
}

// Whoever is no operator learns nothing from what is for operators, whatever they ask for, and
// changes nothing.
func TestOperatorsOnly(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		incident := s.halt()
		own := s.createInReview("k1")
		for _, r := range routes {
			if r.access != operator {
				continue
			}
			answers := make(map[string]bool)
			for _, id := range []string{own.DraftID, own.MissionID, incident, neighbour(own.DraftID), "x"} {
				for _, body := range []string{bodyOf(r), strings.ReplaceAll(bodyOf(r), "reason", "raisin")} {
					a := s.send(testRequest{method: r.method, target: strings.Replace(r.pattern, "{id}", id, 1), body: body})
					if a.StatusCode != http.StatusForbidden || a.code() != sortie.CodeWalletNotAllowed {
						t.Errorf("%s %s: %d %s", r.method, r.pattern, a.StatusCode, a.body)
					}
					checkError(t, a)
					answers[withoutID(a)] = true
				}
			}
			mustBe(t, "a parameter that is none", s.send(testRequest{method: r.method, target: strings.Replace(r.pattern, "{id}", "x", 1) + "?x=y", body: bodyOf(r)}), http.StatusForbidden)
			if len(answers) != 1 {
				t.Errorf("%s: %d different answers", r.pattern, len(answers))
			}
			mustBe(t, "unsigned", s.send(testRequest{method: r.method, target: strings.Replace(r.pattern, "{id}", own.DraftID, 1), body: bodyOf(r), unsigned: true}), http.StatusUnauthorized)
		}
		if status := s.status(own.DraftID); status.ReviewStatus != sortie.ReviewInReview || s.chain.reconciles.Load() != 0 {
			t.Errorf("something happened: %+v", status)
		}
		overview := decode[sortie.ChainOverview](t, s.send(testRequest{target: chainPath, signer: reviewer}))
		if !overview.Halted {
			t.Error("the incident is gone")
		}
	})
}

// Events and their cursors are their wallet's alone.
func TestEventsAreTheWalletsOwn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		own := s.createInReview("k1")
		page := decode[sortie.EventPage](t, s.send(testRequest{target: eventsPath}))
		if len(page.Events) != 3 {
			t.Fatalf("%+v", page)
		}
		for name, signer := range map[string]sortie.Signer{"a stranger": stranger, "an operator": reviewer} {
			a := s.send(testRequest{target: eventsPath, signer: signer})
			if theirs := decode[sortie.EventPage](t, a); len(theirs.Events) != 0 || strings.Contains(string(a.body), own.MissionID) {
				t.Errorf("%s: %s", name, a.body)
			}
			if a := s.send(testRequest{target: eventsPath + "?cursor=" + page.Summary.NextCursor, signer: signer}); a.code() != sortie.CodeInvalidCursor {
				t.Errorf("%s with the cursor: %d %s", name, a.StatusCode, a.body)
			}
		}
	})
}

// neighbour is an id of the same form that differs in its last character.
func neighbour(id string) string {
	last := "0"
	if strings.HasSuffix(id, last) {
		last = "1"
	}
	return id[:len(id)-1] + last
}

// Nobody learns of another wallet's drafts by listing, by reusing a key, or by asking without a
// signature.
func TestWalletsSeeTheirOwn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		own := s.create("k1", goodMission)
		before := s.send(testRequest{target: listPath, signer: stranger})
		if list := decode[sortie.DraftList](t, before); len(list.Drafts) != 0 {
			t.Errorf("a stranger's list: %s", before.body)
		}
		// The key is used, but not by this wallet: no conflict tells of it.
		a := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: amountIs("9"), signer: stranger})
		if a.StatusCode != http.StatusCreated || strings.Contains(string(a.body), own.DraftID) || strings.Contains(string(a.body), own.MissionID) {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
		for _, query := range []string{"", "?limit=1", "?status=pending_funding"} {
			list := decode[sortie.DraftList](t, s.send(testRequest{target: listPath + query}))
			if len(list.Drafts) != 1 || list.Drafts[0].DraftID != own.DraftID || list.Summary.NextCursor != nil {
				t.Errorf("%q: %+v", query, list)
			}
		}
		unsignedOwn := s.send(testRequest{target: listPath + "/" + own.DraftID, unsigned: true})
		unsignedAbsent := s.send(testRequest{target: listPath + "/" + neighbour(own.DraftID), unsigned: true})
		if unsignedOwn.StatusCode != http.StatusUnauthorized || withoutID(unsignedOwn) != withoutID(unsignedAbsent) {
			t.Errorf("without a signature:\n%s\n%s", withoutID(unsignedOwn), withoutID(unsignedAbsent))
		}
	})
}

// A spelling that is refused before anybody is asked who they are is refused alike for ids that
// exist.
func TestOddSpellingsOfAnIDTellNothing(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	own := s.create("k1", goodMission).DraftID
	for _, spell := range []func(string) string{
		func(id string) string { return strings.Replace(id, "_", "%5f", 1) },
		func(id string) string { return id + "/" },
		func(id string) string { return "./" + id },
		func(id string) string { return id + "%00" },
	} {
		there, notThere := s.dial(), s.dial()
		there.write(s.get(listPath + "/" + spell(own)).String())
		notThere.write(s.get(listPath + "/" + spell(neighbour(own))).String())
		one, other := there.read(), notThere.read()
		if one == nil || other == nil || one.StatusCode != http.StatusNotFound || withoutID(*one) != withoutID(*other) {
			t.Errorf("%s: %+v\n%+v", spell("ID"), one, other)
		}
	}
}
