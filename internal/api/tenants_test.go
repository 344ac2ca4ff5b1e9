package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
)

// withoutID returns an answer with its request id replaced, so that answers can be compared.
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

// bodyOf returns a valid body for a route that requires one.
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

// alike checks that the answers to all ids are the same 404.
func (s *testService) alike(t *testing.T, r route, signer sortie.Signer, ids map[string]string) {
	t.Helper()
	before, after, _ := strings.Cut(r.pattern, "{id}")
	want := ""
	for name, id := range ids {
		a := s.send(testRequest{method: r.method, target: before + id + after, body: bodyOf(r), signer: signer})
		if a.StatusCode != http.StatusNotFound || a.code() != sortie.CodeNotFound {
			t.Errorf("%s with id %s: got %d %s, want 404 not_found", r.pattern, name, a.StatusCode, a.body)
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

// Every path with an id gives the same answer for ids of others, absent ids and malformed ids.
// Operators see all missions, so for them only absent and malformed ids are compared.
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
				t.Errorf("%s: got 404 for an existing id, want it found", r.pattern)
			}
		}
		if checked[signed] < 3 || checked[operator] < 4 {
			t.Errorf("checked %v", checked)
		}
	})
}

// A wallet that is no operator learns nothing from operator paths and changes nothing.
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
						t.Errorf("%s %s by a creator: got %d %s, want 403 wallet_not_allowed", r.method, r.pattern, a.StatusCode, a.body)
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
			t.Errorf("status: got %+v, want it unchanged", status)
		}
		overview := decode[sortie.ChainOverview](t, s.send(testRequest{target: chainPath, signer: reviewer}))
		if !overview.Halted {
			t.Error("the incident is gone")
		}
	})
}

// Events and their cursors belong to one wallet.
func TestEventsAreTheWalletsOwn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		own := s.createInReview("k1")
		page := decode[sortie.EventPage](t, s.send(testRequest{target: eventsPath}))
		if len(page.Events) != 3 {
			t.Fatalf("own events: got %+v, want 3", page)
		}
		for name, signer := range map[string]sortie.Signer{"a stranger": stranger, "an operator": reviewer} {
			a := s.send(testRequest{target: eventsPath, signer: signer})
			if theirs := decode[sortie.EventPage](t, a); len(theirs.Events) != 0 || strings.Contains(string(a.body), own.MissionID) {
				t.Errorf("events of %s: got %s, want none of the mission", name, a.body)
			}
			if a := s.send(testRequest{target: eventsPath + "?cursor=" + page.Summary.NextCursor, signer: signer}); a.code() != sortie.CodeInvalidCursor {
				t.Errorf("%s with the cursor: got %d %s, want invalid_cursor", name, a.StatusCode, a.body)
			}
		}
	})
}

// neighbour returns an id that differs in its last character.
func neighbour(id string) string {
	last := "0"
	if strings.HasSuffix(id, last) {
		last = "1"
	}
	return id[:len(id)-1] + last
}

// Listing, reusing a key and unsigned requests reveal nothing about another wallet's drafts.
func TestWalletsSeeTheirOwn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		own := s.create("k1", goodMission)
		before := s.send(testRequest{target: listPath, signer: stranger})
		if list := decode[sortie.DraftList](t, before); len(list.Drafts) != 0 {
			t.Errorf("a stranger's list: %s", before.body)
		}
		// The key is used by another wallet, which must not cause a conflict.
		a := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: amountIs("9"), signer: stranger})
		if a.StatusCode != http.StatusCreated || strings.Contains(string(a.body), own.DraftID) || strings.Contains(string(a.body), own.MissionID) {
			t.Errorf("same key of another wallet: got %d %s, want 201 and another draft", a.StatusCode, a.body)
		}
		for _, query := range []string{"", "?limit=1", "?status=pending_funding"} {
			list := decode[sortie.DraftList](t, s.send(testRequest{target: listPath + query}))
			if len(list.Drafts) != 1 || list.Drafts[0].DraftID != own.DraftID || list.Summary.NextCursor != nil {
				t.Errorf("own drafts %q: got %+v, want the one draft", query, list)
			}
		}
		unsignedOwn := s.send(testRequest{target: listPath + "/" + own.DraftID, unsigned: true})
		unsignedAbsent := s.send(testRequest{target: listPath + "/" + neighbour(own.DraftID), unsigned: true})
		if unsignedOwn.StatusCode != http.StatusUnauthorized || withoutID(unsignedOwn) != withoutID(unsignedAbsent) {
			t.Errorf("without a signature:\n%s\n%s", withoutID(unsignedOwn), withoutID(unsignedAbsent))
		}
	})
}

// A spelling that is refused before authentication gives the same answer for existing and absent
// ids.
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
			t.Errorf("%s: got %+v\nand %+v, want the same 404", spell("ID"), one, other)
		}
	}
}
