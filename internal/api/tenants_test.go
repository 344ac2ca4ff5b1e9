package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
)

// withoutID is an answer as it would be if all had one request id: what is left must not tell two ids apart.
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

// Every path that takes an id answers alike for what is somebody else's, what does not exist and what cannot be an id.
func TestForeignAndAbsentIDsAreAnsweredAlike(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		foreign := decode[sortie.DraftCreated](t, s.send(request{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission, signer: stranger}))
		own := s.create("k1", goodMission)
		ids := map[string]string{
			"foreign draft":        foreign.DraftID,
			"foreign mission":      foreign.MissionID,
			"absent draft":         "draft_0123456789abcdefghjkmnpqrs",
			"absent draft, near":   neighbour(foreign.DraftID),
			"absent mission":       "photo-of-the-main-entrance-00000000",
			"absent mission, near": neighbour(foreign.MissionID),
			"own draft, near":      neighbour(own.DraftID),
			"malformed":            "draft_",
			"malformed, capitals":  strings.ToUpper(foreign.DraftID),
			"malformed, word":      "x",
			"malformed, quote":     "'or'1'='1",
			"malformed, long":      strings.Repeat("a", 500),
			"a submission":         "sub_0123456789abcdefghjkmnpqrs",
		}
		checked := 0
		for _, route := range routes {
			before, after, takesID := strings.Cut(route.pattern, "{id}")
			if !takesID {
				continue
			}
			checked++
			if a := s.send(request{method: route.method, target: before + own.DraftID + after}); a.StatusCode == http.StatusNotFound {
				t.Errorf("%s: the own draft is not found", route.pattern)
			}
			want := ""
			for name, id := range ids {
				a := s.send(request{method: route.method, target: before + id + after})
				if a.StatusCode != http.StatusNotFound || a.code() != sortie.CodeNotFound {
					t.Errorf("%s %s: %d %s", route.pattern, name, a.StatusCode, a.body)
				}
				checkError(t, a)
				got := withoutID(a)
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s %s:\n%s\nothers:\n%s", route.pattern, name, got, want)
				}
			}
		}
		if checked == 0 {
			t.Error("no route takes an id")
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

// Nobody learns of another wallet's drafts by listing, by reusing a key, or by asking without a signature.
func TestWalletsSeeTheirOwn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		own := s.create("k1", goodMission)
		before := s.send(request{target: listPath, signer: stranger})
		if list := decode[sortie.DraftList](t, before); len(list.Drafts) != 0 {
			t.Errorf("a stranger's list: %s", before.body)
		}
		// The key is used, but not by this wallet: no conflict tells of it.
		a := s.send(request{method: http.MethodPost, target: draftsPath, key: "k1", body: amountIs("9"), signer: stranger})
		if a.StatusCode != http.StatusCreated || strings.Contains(string(a.body), own.DraftID) || strings.Contains(string(a.body), own.MissionID) {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
		for _, query := range []string{"", "?limit=1", "?status=pending_funding"} {
			list := decode[sortie.DraftList](t, s.send(request{target: listPath + query}))
			if len(list.Drafts) != 1 || list.Drafts[0].DraftID != own.DraftID || list.Summary.NextCursor != nil {
				t.Errorf("%q: %+v", query, list)
			}
		}
		unsignedOwn := s.send(request{target: listPath + "/" + own.DraftID, unsigned: true})
		unsignedAbsent := s.send(request{target: listPath + "/" + neighbour(own.DraftID), unsigned: true})
		if unsignedOwn.StatusCode != http.StatusUnauthorized || withoutID(unsignedOwn) != withoutID(unsignedAbsent) {
			t.Errorf("without a signature:\n%s\n%s", withoutID(unsignedOwn), withoutID(unsignedAbsent))
		}
	})
}

// A spelling that is refused before anybody is asked who they are is refused alike for ids that exist.
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
