package api

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
)

func TestBadParameters(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	var rows []badRequest
	for name, query := range map[string]string{
		"D1 limit 0":                    "limit=0",
		"D2 limit -1":                   "limit=-1",
		"D3 limit 1001":                 "limit=1001",
		"D4 limit 1e2":                  "limit=1e2",
		"D4 limit 10.0":                 "limit=10.0",
		"D4 limit 0x10":                 "limit=0x10",
		"D4 limit 1_0":                  "limit=1_0",
		"D4 limit +1":                   "limit=%2B1",
		"D4 limit 01":                   "limit=01",
		"D5 limit empty":                "limit=",
		"D5 limit without a value":      "limit",
		"D6 limit 2^63":                 "limit=9223372036854775808",
		"D6 limit 2^64 + 1":             "limit=18446744073709551617",
		"D7 limit 10;20":                "limit=10;20",
		"D7 limit 10%3b20":              "limit=10%3b20",
		"D8 two limits":                 "limit=10&limit=20",
		"D8 one limit twice":            "limit=10&limit=10",
		"D9 limit[]":                    "limit[]=10",
		"D9 limit%5B%5D":                "limit%5B%5D=10",
		"D9 Limit":                      "Limit=10",
		"D10 limit with a blank before": "limit=%2010",
		"D10 limit with a plus before":  "limit=+10",
		"D10 limit with a blank behind": "limit=10%20",
		"D10 full-width digits":         "limit=" + url.QueryEscape("１０"),
		"D24 unknown status":            "status=open",
		"D25 status in capitals":        "status=PUBLISHED",
		"D25 status with a blank":       "status=published%20",
		"D26 two statuses":              "status=published&status=rejected",
		"D26 statuses joined":           "status=published,rejected",
		"D26 status[]":                  "status[]=published",
		"D27 status empty":              "status=",
		"D28 SQL quote":                 "status=published'%20OR%20'1'='1",
		"D29 NUL":                       "status=published%00",
		"D29 invalid UTF-8":             "status=%ff",
		"D29 line ends":                 "status=a%0d%0aX-Injected:%201",
		"a parameter nobody knows":      "offset=5",
		"a misspelled filter":           "stauts=published",
		"bad escape":                    "status=%zz",
		"cut escape":                    "status=%2",
		"a parameter without a name":    "=published",
		"1,000 parameters":              strings.Repeat("a=b&", 1000) + "a=b",
		"a parameter of 10 KB":          strings.Repeat("a", 10_000) + "=1",
	} {
		rows = append(rows, badRequest{name: name, text: s.get(listPath + "?" + query).String(), status: http.StatusBadRequest, code: sortie.CodeInvalidParameter})
	}
	status := s.get(listPath + "/draft_0123456789abcdefghjkmnpqrs?expand=1")
	for name, m := range map[string]message{
		"a parameter of the status": status,
		"a parameter of a create":   s.post(draftsPath+"?dryRun=true", "k1", goodMission),
		"a parameter of a preview":  s.post(previewPath+"?limit=1", "", goodMission),
	} {
		rows = append(rows, badRequest{name: name, text: m.String(), status: http.StatusBadRequest, code: sortie.CodeInvalidParameter})
	}
	s.refuseAll(t, rows)
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
		a := s.send(request{target: listPath + query})
		if got := decode[sortie.DraftList](t, a); a.StatusCode != http.StatusOK || len(got.Drafts) != drafts || got.Summary.ReturnedDrafts != drafts {
			t.Errorf("%s: %d %s", query, a.StatusCode, a.body)
		}
	}
}

func TestBadCursors(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	for i := range 3 {
		s.send(request{method: http.MethodPost, target: draftsPath, key: fmt.Sprint("k", i), body: goodMission, signer: stranger})
	}
	page := decode[sortie.DraftList](t, s.send(request{target: listPath + "?limit=1", signer: stranger}))
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
		"D17 garbage":           "zzzz",
		"D17 a number":          "2",
		"D17 not base64":        "%21%21%21",
		"D17 padded":            foreign + "%3D%3D",
		"D17 in other letters":  url.QueryEscape(base64.StdEncoding.EncodeToString(raw)),
		"D18 of another wallet": foreign,
		"D20 one bit":           base64.RawURLEncoding.EncodeToString(flipped),
		"D21 older version":     base64.RawURLEncoding.EncodeToString(older),
		"D21 the form of a row": "draft_0123456789abcdefghjkmnpqrs",
		"D22 10 KB":             strings.Repeat("A", 10_000),
	} {
		rows = append(rows, badRequest{name: name, text: s.get(listPath + "?cursor=" + cursor).String(), status: http.StatusBadRequest, code: sortie.CodeInvalidCursor})
	}
	rows = append(rows,
		badRequest{name: "D17 empty", text: s.get(listPath + "?cursor=").String(), status: http.StatusBadRequest, code: sortie.CodeInvalidParameter},
		badRequest{name: "D22 1 MB", text: s.get(listPath + "?cursor=" + strings.Repeat("A", 1<<20)).String(), status: http.StatusRequestHeaderFieldsTooLarge, closes: true})
	s.refuseAll(t, rows)
}

// D23: pages go on where they were, whatever is created meanwhile.
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
			list := decode[sortie.DraftList](t, s.send(request{target: target}))
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
	a := s.send(request{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission, signer: stranger})
	foreign := decode[sortie.DraftCreated](t, a)
	var rows []badRequest
	for name, id := range map[string]string{
		"D30 prefix alone":             "draft_",
		"D30 one character short":      foreign.DraftID[:len(foreign.DraftID)-1],
		"D30 one character more":       foreign.DraftID + "0",
		"D30 another prefix":           "sub_" + foreign.DraftID[6:],
		"D31 10 KB":                    "draft_" + strings.Repeat("a", 10_000),
		"D31 1 KB":                     "draft_" + strings.Repeat("a", 900),
		"D32 mission of another":       foreign.MissionID,
		"D32 draft of another":         foreign.DraftID,
		"D33 with a slash":             foreign.DraftID + "/x",
		"D33 with an escaped slash":    foreign.DraftID + "%2fx",
		"D34 look-alike":               strings.Replace(foreign.DraftID, "a", "а", 1) + "а", // Cyrillic
		"D34 look-alike, escaped":      url.PathEscape("drаft_" + foreign.DraftID[6:]),
		"D34 capitals":                 strings.ToUpper(foreign.DraftID),
		"D34 letters that are not in":  "draft_" + strings.Repeat("u", 26),
		"D34 SQL":                      "'%20OR%20'1'='1",
		"D34 SQL, not escaped":         "'OR'1'='1",
		"D34 a pattern":                "draft_%25",
		"D34 star":                     "*",
		"a status":                     "published",
		"a word that is a path nearby": "deliverables",
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
		{name: "D36 missing", text: s.post(draftsPath, "", goodMission).String(), status: 400, code: sortie.CodeIdempotencyKeyRequired},
		{name: "D37 empty", text: keyed(""), status: 400, code: bad},
		{name: "D37 blanks", text: s.post(draftsPath, "", goodMission).and(sortie.HeaderIdempotencyKey, "  \t ").String(), status: 400, code: bad},
		{name: "D38 256 characters", text: keyed(strings.Repeat("k", 256)), status: 400, code: bad},
		{name: "D38 10,000 characters", text: keyed(strings.Repeat("k", 10_000)), status: 400, code: bad},
		{name: "D39 tab", text: keyed("a\tb"), status: 400, code: bad},
		{name: "D39 ESC", text: keyed("a\x1b[31mb"), status: 400},
		{name: "D39 NUL", text: keyed("a\x00b"), status: 400},
		{name: "D39 delete", text: keyed("a\x7fb"), status: 400},
		{name: "D39 bare carriage return", text: keyed("a\rb"), status: 400},
		{name: "D39 not ASCII", text: keyed("schlüssel"), status: 400, code: bad},
		{name: "D39 not UTF-8", text: keyed("a\xffb"), status: 400, code: bad},
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
			a := s.send(request{method: http.MethodPost, target: draftsPath, key: key, body: goodMission})
			if a.StatusCode != http.StatusCreated {
				t.Errorf("%q: %d %s", key, a.StatusCode, a.body)
			}
			drafts[decode[sortie.DraftCreated](t, a).DraftID] = true
			other := s.send(request{method: http.MethodPost, target: draftsPath, key: key, body: amountIs("9"), signer: stranger}) // D40
			if other.StatusCode != http.StatusCreated {
				t.Errorf("%q of another wallet: %d %s", key, other.StatusCode, other.body)
			}
			drafts[decode[sortie.DraftCreated](t, other).DraftID] = true
			if again := s.send(request{method: http.MethodPost, target: draftsPath, key: key, body: goodMission}); again.StatusCode != http.StatusOK {
				t.Errorf("%q again: %d %s", key, again.StatusCode, again.body)
			}
		}
		if len(drafts) != 2*len(keys) {
			t.Errorf("%d drafts of %d keys of two wallets", len(drafts), len(keys))
		}
	})
}
