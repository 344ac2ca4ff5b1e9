package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
)

func TestBadParameters(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	var rows []badRequest
	for name, query := range map[string]string{
		"limit 0":                    "limit=0",
		"limit -1":                   "limit=-1",
		"limit 1001":                 "limit=1001",
		"limit 1e2":                  "limit=1e2",
		"limit 10.0":                 "limit=10.0",
		"limit 0x10":                 "limit=0x10",
		"limit 1_0":                  "limit=1_0",
		"limit +1":                   "limit=%2B1",
		"limit 01":                   "limit=01",
		"limit empty":                "limit=",
		"limit without a value":      "limit",
		"limit 2^63":                 "limit=9223372036854775808",
		"limit 2^64 + 1":             "limit=18446744073709551617",
		"limit 10;20":                "limit=10;20",
		"limit 10%3b20":              "limit=10%3b20",
		"two limits":                 "limit=10&limit=20",
		"one limit twice":            "limit=10&limit=10",
		"limit[]":                    "limit[]=10",
		"limit%5B%5D":                "limit%5B%5D=10",
		"Limit":                      "Limit=10",
		"limit with a blank before":  "limit=%2010",
		"limit with a plus before":   "limit=+10",
		"limit with a blank after":   "limit=10%20",
		"full-width digits":          "limit=" + url.QueryEscape("１０"),
		"unknown status":             "status=open",
		"status in capitals":         "status=PUBLISHED",
		"status with a blank":        "status=published%20",
		"two statuses":               "status=published&status=rejected",
		"statuses joined":            "status=published,rejected",
		"status[]":                   "status[]=published",
		"status empty":               "status=",
		"status with an SQL quote":   "status=published'%20OR%20'1'='1",
		"status with NUL":            "status=published%00",
		"status with invalid UTF-8":  "status=%ff",
		"status with line ends":      "status=a%0d%0aX-Injected:%201",
		"an unknown parameter":       "offset=5",
		"a misspelled filter":        "stauts=published",
		"bad escape":                 "status=%zz",
		"cut escape":                 "status=%2",
		"a parameter without a name": "=published",
		"1,000 parameters":           strings.Repeat("a=b&", 1000) + "a=b",
		"a parameter of 10 KB":       strings.Repeat("a", 10_000) + "=1",
	} {
		rows = append(rows, badRequest{name: name, text: s.get(listPath + "?" + query).String(), status: http.StatusBadRequest, code: sortie.CodeInvalidParameter})
	}
	const some = "draft_0123456789abcdefghjkmnpqrs"
	operators := func(method, target, body string) message {
		m := s.unsigned(method, target)
		if m.body = body; body != "" {
			m = m.with("Content-Type", "application/json")
		}
		return s.sign(m, reviewer)
	}
	for name, m := range map[string]message{
		"a parameter of the status":        s.get(listPath + "/" + some + "?expand=1"),
		"a parameter of a create":          s.post(draftsPath+"?dryRun=true", "k1", goodMission),
		"a parameter of a preview":         s.post(previewPath+"?limit=1", "", goodMission),
		"a parameter of the doctor":        s.get(listPath + "/" + some + "/doctor?verbose=1"),
		"a parameter of confirm-funding":   s.post(listPath+"/"+some+"/confirm-funding?transactionHash=0x1", "", "{}"),
		"a parameter of a review":          operators(http.MethodGet, reviewsPath+"/"+some+"?expand=1", ""),
		"a parameter of an approval":       operators(http.MethodPost, decidePath+"/"+some+"/approve?force=1", ""),
		"a parameter of a rejection":       operators(http.MethodPost, decidePath+"/"+some+"/reject?reason=x", goodReason),
		"a parameter of the chain":         operators(http.MethodGet, chainPath+"?limit=1", ""),
		"a parameter of a reconcile":       operators(http.MethodPost, reconcilePath+"?wait=1", ""),
		"a parameter of a clearing":        operators(http.MethodPost, incidentsPath+"/x/clear?all=1", goodReason),
		"a filter that events do not have": s.get(eventsPath + "?type=draft.created"),
	} {
		rows = append(rows, badRequest{name: name, text: m.String(), status: http.StatusBadRequest, code: sortie.CodeInvalidParameter})
	}
	s.refuseAll(t, rows)
}

// All lists without filters have the same two parameters, with the same rules.
func TestBadPages(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	signers := map[string]sortie.Signer{
		eventsPath: creator, reviewsPath: reviewer, auditPath: reviewer, submissionsPath: contributor, queuePath: reviewer,
		listPath + "/" + s.publishedBy(stranger) + "/deliverables": stranger,
	}
	var rows []badRequest
	for path, signer := range signers {
		add := func(name, query string, code sortie.Code) {
			text := s.sign(s.unsigned(http.MethodGet, path+"?"+query), signer).String()
			rows = append(rows, badRequest{name: path + " " + name, text: text, status: http.StatusBadRequest, code: code})
		}
		for name, query := range map[string]string{
			"limit 0": "limit=0", "limit -1": "limit=-1", "limit 1e2": "limit=1e2", "limit 10.0": "limit=10.0", "limit 01": "limit=01",
			"limit +1": "limit=%2B1", "limit empty": "limit=", "limit 2^63": "limit=9223372036854775808", "two limits": "limit=10&limit=20",
			"limit[]": "limit[]=10", "limit with a blank": "limit=%2010", "cursor empty": "cursor=", "two cursors": "cursor=a&cursor=b",
			"unknown parameter status": "status=published", "a wallet": "wallet=" + creator.Address().String(), "bad escape": "cursor=%zz",
		} {
			add(name, query, sortie.CodeInvalidParameter)
		}
		for name, cursor := range map[string]string{
			"cursor of garbage": "zzzz", "cursor that is a number": "2", "cursor that is an id": "draft_0123456789abcdefghjkmnpqrs", "cursor of 10 KB": strings.Repeat("A", 10_000),
		} {
			add(name, "cursor="+cursor, sortie.CodeInvalidCursor)
		}
	}
	s.refuseAll(t, rows)
}

// A cursor is valid for its own list only.
func TestCursorsOfOtherLists(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	for i := range 2 {
		s.createInReview(fmt.Sprint("k", i))
	}
	for range 2 {
		mustBe(t, "reconcile", s.send(testRequest{method: http.MethodPost, target: reconcilePath, signer: reviewer}), http.StatusAccepted)
	}
	type list struct {
		path   string
		signer sortie.Signer
	}
	cursors := make(map[list]string)
	for _, l := range []list{{listPath, creator}, {eventsPath, creator}, {reviewsPath, reviewer}, {auditPath, reviewer}} {
		page := decode[struct{ Summary struct{ NextCursor string } }](t, s.send(testRequest{target: l.path + "?limit=1", signer: l.signer}))
		if cursors[l] = page.Summary.NextCursor; cursors[l] == "" {
			t.Fatalf("%s has no second page", l.path)
		}
	}
	for l := range cursors {
		for from, cursor := range cursors {
			a := s.send(testRequest{target: l.path + "?cursor=" + cursor, signer: l.signer})
			if isOwn := l == from; isOwn != (a.StatusCode == http.StatusOK) || !isOwn && a.code() != sortie.CodeInvalidCursor {
				t.Errorf("%s with the cursor of %s: got %d %s, want invalid_cursor", l.path, from.path, a.StatusCode, a.body)
			}
		}
	}
}

// The pages of every list join into the whole list, for any page size.
func TestPagesOfListsWithoutFilters(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		const missions = 5
		for i := range missions {
			s.createInReview(fmt.Sprint("k", i))
			mustBe(t, "reconcile", s.send(testRequest{method: http.MethodPost, target: reconcilePath, signer: reviewer}), http.StatusAccepted)
		}
		type page struct {
			Events  []struct{ ID string }
			Reviews []struct{ DraftID string }
			Entries []struct{ ID json.Number }
			Summary struct{ NextCursor string }
		}
		walk := func(path string, signer sortie.Signer, limit int) (ids []string) {
			cursor := ""
			for {
				got := decode[page](t, s.send(testRequest{target: fmt.Sprintf("%s?limit=%d%s", path, limit, cursor), signer: signer}))
				before := len(ids)
				for _, event := range got.Events {
					ids = append(ids, event.ID)
				}
				for _, review := range got.Reviews {
					ids = append(ids, review.DraftID)
				}
				for _, entry := range got.Entries {
					ids = append(ids, entry.ID.String())
				}
				if len(ids)-before > limit {
					t.Errorf("%s: %d on a page of %d", path, len(ids)-before, limit)
				}
				if got.Summary.NextCursor == "" || len(ids) == before {
					return ids
				}
				cursor = "&cursor=" + got.Summary.NextCursor
			}
		}
		for path, want := range map[string]int{eventsPath: 3 * missions, reviewsPath: missions, auditPath: missions} {
			signer := sortie.Signer(reviewer)
			if path == eventsPath {
				signer = creator
			}
			whole := walk(path, signer, 100)
			if unique := slices.Compact(slices.Sorted(slices.Values(whole))); len(unique) != want || len(whole) != want {
				t.Errorf("%s: %d, want %d", path, len(whole), want)
			}
			for _, limit := range []int{1, 2, 3, 101, 5000} {
				if got := walk(path, signer, limit); !slices.Equal(got, whole) {
					t.Errorf("%s in pages of %d: %v, want %v", path, limit, got, whole)
				}
			}
		}
	})
}

func TestGoodParameters(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	s.create("k1", goodMission)
	s.create("k2", goodMission)
	for query, drafts := range map[string]int{
		"": 2, "?limit=1": 1, "?limit=101": 2, "?limit=1000": 2, "?status=pending_funding": 2, "?status=pending_funding&limit=1": 1,
		"?status=funded_pending_review": 0, "?status=approved_pending_lock": 0, "?status=published": 0, "?status=rejected": 0,
		"?limit=%31": 1, "?": 2, "?&&limit=1&": 1,
	} {
		a := s.send(testRequest{target: listPath + query})
		if got := decode[sortie.DraftList](t, a); a.StatusCode != http.StatusOK || len(got.Drafts) != drafts || got.Summary.ReturnedDrafts != drafts {
			t.Errorf("%s: got %d %s, want 200 and %d drafts", query, a.StatusCode, a.body, drafts)
		}
	}
}

func TestBadCursors(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	for i := range 3 {
		s.send(testRequest{method: http.MethodPost, target: draftsPath, key: fmt.Sprint("k", i), body: goodMission, signer: stranger})
	}
	page := decode[sortie.DraftList](t, s.send(testRequest{target: listPath + "?limit=1", signer: stranger}))
	foreign := *page.Summary.NextCursor
	raw, err := base64.RawURLEncoding.DecodeString(foreign)
	if err != nil {
		t.Fatal(err)
	}
	older := append([]byte{raw[0] - 1}, raw[1:]...)
	flipped := append([]byte{}, raw...)
	flipped[5] ^= 1
	var rows []badRequest
	for name, cursor := range map[string]string{
		"cursor of garbage":           "zzzz",
		"cursor that is a number":     "2",
		"cursor that is not base64":   "%21%21%21",
		"padded cursor":               foreign + "%3D%3D",
		"cursor in other letters":     url.QueryEscape(base64.StdEncoding.EncodeToString(raw)),
		"cursor of another wallet":    foreign,
		"cursor with one bit changed": base64.RawURLEncoding.EncodeToString(flipped),
		"cursor of an older version":  base64.RawURLEncoding.EncodeToString(older),
		"cursor in the form of a row": "draft_0123456789abcdefghjkmnpqrs",
		"cursor of 10 KB":             strings.Repeat("A", 10_000),
	} {
		rows = append(rows, badRequest{name: name, text: s.get(listPath + "?cursor=" + cursor).String(), status: http.StatusBadRequest, code: sortie.CodeInvalidCursor})
	}
	rows = append(rows,
		badRequest{name: "empty cursor", text: s.get(listPath + "?cursor=").String(), status: http.StatusBadRequest, code: sortie.CodeInvalidParameter},
		badRequest{name: "cursor of 1 MB", text: s.get(listPath + "?cursor=" + strings.Repeat("A", 1<<20)).String(), status: http.StatusRequestHeaderFieldsTooLarge, closes: true})
	s.refuseAll(t, rows)
}

// New drafts do not shift later pages.
func TestPagesWhileDraftsAreCreated(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		var want []string
		for i := range 9 {
			want = append([]string{s.create(fmt.Sprint("old", i), goodMission).DraftID}, want...)
		}
		var got []string
		target := listPath + "?limit=2"
		for page := 0; ; page++ {
			list := decode[sortie.DraftList](t, s.send(testRequest{target: target}))
			for _, draft := range list.Drafts {
				got = append(got, draft.DraftID)
			}
			if list.Summary.NextCursor == nil {
				break
			}
			target = listPath + "?limit=2&cursor=" + *list.Summary.NextCursor
			s.create(fmt.Sprint("new", page), goodMission)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("got %v\nwant %v", got, want)
		}
	})
}

func TestBadIDs(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	a := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission, signer: stranger})
	foreign := decode[sortie.DraftCreated](t, a)
	var rows []badRequest
	for name, id := range map[string]string{
		"prefix of an id alone":                "draft_",
		"id one character too short":           foreign.DraftID[:len(foreign.DraftID)-1],
		"id one character too long":            foreign.DraftID + "0",
		"id with another prefix":               "sub_" + foreign.DraftID[6:],
		"id of 10 KB":                          "draft_" + strings.Repeat("a", 10_000),
		"id of 1 KB":                           "draft_" + strings.Repeat("a", 900),
		"mission of another creator":           foreign.MissionID,
		"draft of another creator":             foreign.DraftID,
		"id with a slash":                      foreign.DraftID + "/x",
		"id with an escaped slash":             foreign.DraftID + "%2fx",
		"id with a look-alike letter":          strings.Replace(foreign.DraftID, "a", "а", 1) + "а", // Cyrillic
		"id with an escaped look-alike letter": url.PathEscape("drаft_" + foreign.DraftID[6:]),
		"id in capitals":                       strings.ToUpper(foreign.DraftID),
		"id with letters of another alphabet":  "draft_" + strings.Repeat("u", 26),
		"id with SQL":                          "'%20OR%20'1'='1",
		"id with SQL, not escaped":             "'OR'1'='1",
		"id that is a pattern":                 "draft_%25",
		"id that is a star":                    "*",
		"a status":                             "published",
		"a word that is a path nearby":         "deliverables",
	} {
		rows = append(rows, badRequest{name: name, text: s.get(listPath + "/" + id).String(), status: http.StatusNotFound, code: sortie.CodeNotFound})
	}
	s.refuseAll(t, rows)
}

func TestBadIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	keyed := func(key string) string {
		m := s.post(draftsPath, "", goodMission).without(sortie.HeaderSignature).and(sortie.HeaderIdempotencyKey, key)
		return s.sign(m, creator).String()
	}
	const bad = sortie.CodeInvalidIdempotencyKey
	s.refuseAll(t, []badRequest{
		{name: "no key", text: s.post(draftsPath, "", goodMission).String(), status: 400, code: sortie.CodeIdempotencyKeyRequired},
		{name: "empty key", text: keyed(""), status: 400, code: bad},
		{name: "key of blanks", text: s.post(draftsPath, "", goodMission).and(sortie.HeaderIdempotencyKey, "  \t ").String(), status: 400, code: bad},
		{name: "key of 256 characters", text: keyed(strings.Repeat("k", 256)), status: 400, code: bad},
		{name: "key of 10,000 characters", text: keyed(strings.Repeat("k", 10_000)), status: 400, code: bad},
		{name: "key with a tab", text: keyed("a\tb"), status: 400, code: bad},
		{name: "key with ESC", text: keyed("a\x1b[31mb"), status: 400},
		{name: "key with NUL", text: keyed("a\x00b"), status: 400},
		{name: "key with DEL", text: keyed("a\x7fb"), status: 400},
		{name: "key with a bare carriage return", text: keyed("a\rb"), status: 400},
		{name: "key that is not ASCII", text: keyed("schlüssel"), status: 400, code: bad},
		{name: "key that is not UTF-8", text: keyed("a\xffb"), status: 400, code: bad},
		{name: "twice", text: s.post(draftsPath, "k1", goodMission).and(sortie.HeaderIdempotencyKey, "k1").String(), status: 400, code: bad},
		{name: "twice, on a read", text: s.get(listPath).and(sortie.HeaderIdempotencyKey, "a").and(sortie.HeaderIdempotencyKey, "b").String(), status: 400, code: bad},
	})
}

func TestGoodIdempotencyKeys(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		drafts := make(map[string]bool)
		keys := []string{"a", "A", "a b", strings.Repeat("k", 255), `!"#$%&'()*+,-./:;<=>?@[\]^_{|}~`, "'; DROP TABLE drafts; --", "%61", "0", "null"}
		for _, key := range keys {
			a := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: key, body: goodMission})
			if a.StatusCode != http.StatusCreated {
				t.Errorf("key %q: got %d %s, want 201", key, a.StatusCode, a.body)
			}
			drafts[decode[sortie.DraftCreated](t, a).DraftID] = true
			other := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: key, body: amountIs("9"), signer: stranger})
			if other.StatusCode != http.StatusCreated {
				t.Errorf("%q of another wallet: got %d %s, want 201", key, other.StatusCode, other.body)
			}
			drafts[decode[sortie.DraftCreated](t, other).DraftID] = true
			if again := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: key, body: goodMission}); again.StatusCode != http.StatusOK {
				t.Errorf("%q again: got %d %s, want 200", key, again.StatusCode, again.body)
			}
		}
		if len(drafts) != 2*len(keys) {
			t.Errorf("%d drafts of %d keys of two wallets", len(drafts), len(keys))
		}
	})
}
