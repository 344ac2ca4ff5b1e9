package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// largeMission returns about the largest mission that is accepted.
func largeMission(t testing.TB, title string) string {
	t.Helper()
	rules := make([]string, 10)
	for i := range rules {
		rules[i] = strings.Repeat("😀", 279) + string(rune('a'+i))
	}
	metadata := make(map[string]string)
	for i := range 20 {
		metadata[fmt.Sprintf("key%02d", i)] = strings.Repeat("😀", 120)
	}
	text, err := json.Marshal(map[string]any{
		"title": title, "description": strings.Repeat("😀", 4000), "mediaType": "photo", "targetCount": 4,
		"reward": map[string]any{"token": "USDC", "amount": 2.5}, "verification": map[string]any{"accept": rules, "reject": rules},
		"metadata": metadata, "note": strings.Repeat("x", 8000),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// createLarge stores large drafts of the creator by the use case, without requests.
func (s *testService) createLarge(count int) {
	s.t.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for i := range count {
		body := []byte(largeMission(s.t, fmt.Sprintf("Large mission %04d", i)))
		group.Go(func() error {
			_, _, err := s.app.CreateDraft(context.Background(), creator.Address(), fmt.Sprint("large-", i), body)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		s.t.Fatal(err)
	}
}

// A page of the list ends at 4 MiB, and the pages together have every draft once.
func TestAListOfLargeDraftsIsPagedByBytes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		const count = 100
		s.createLarge(count)
		seen, pages, last := make(map[string]bool), 0, ""
		for cursor := ""; ; pages++ {
			target := listPath
			if cursor != "" {
				target += "?cursor=" + cursor
			}
			a := s.roundTrip(s.build(testRequest{target: target}))
			if a.StatusCode != http.StatusOK || len(a.body) > maxListBytes {
				t.Fatalf("page %d: got status %d and %d bytes, want 200 and at most %d", pages, a.StatusCode, len(a.body), maxListBytes)
			}
			page := decode[sortie.DraftList](t, a)
			if page.Summary.ReturnedDrafts != len(page.Drafts) || len(page.Drafts) == 0 {
				t.Fatalf("page %d: the summary says %d drafts, got %d", pages, page.Summary.ReturnedDrafts, len(page.Drafts))
			}
			for _, draft := range page.Drafts {
				if seen[draft.DraftID] || last != "" && draft.CreatedAt > last {
					t.Fatalf("page %d: draft %s is repeated or out of order", pages, draft.DraftID)
				}
				seen[draft.DraftID], last = true, draft.CreatedAt
			}
			if page.Summary.NextCursor == nil {
				break
			}
			if len(a.body) < maxListBytes-maxMissionBody-4096 {
				t.Errorf("page %d: got %d bytes before the end of the list, want nearly %d", pages, len(a.body), maxListBytes)
			}
			cursor = *page.Summary.NextCursor
		}
		if len(seen) != count || pages < 1 {
			t.Errorf("got %d drafts on %d pages, want %d on several", len(seen), pages+1, count)
		}
		drafts := 0
		for draft, err := range s.client(creator).AllDrafts(t.Context(), sortie.ListQuery{}) {
			if err != nil || !seen[draft.DraftID] {
				t.Fatalf("client: got draft %s, error %v, want one of the list", draft.DraftID, err)
			}
			drafts++
		}
		if drafts != count {
			t.Errorf("client without a limit: got %d drafts, want %d", drafts, count)
		}
		if a := s.send(testRequest{target: listPath + "?limit=3"}); len(decode[sortie.DraftList](t, a).Drafts) != 3 {
			t.Errorf("limit 3: got %d drafts, want 3", len(decode[sortie.DraftList](t, a).Drafts))
		}
		a := s.roundTrip(s.build(testRequest{target: listPath, header: http.Header{"Accept-Encoding": {"gzip"}}}))
		if got := a.Header.Get("Content-Encoding"); got != "gzip" || len(a.body) > maxListBytes/2 {
			t.Errorf("gzip: got Content-Encoding %q and %d bytes, want gzip and fewer than %d", got, len(a.body), maxListBytes/2)
		}
	})
}

// smallBuffers makes the socket buffers small, so that unsent bytes stay in the service.
func smallBuffers(server *http.Server) {
	server.ConnContext = func(ctx context.Context, connection net.Conn) context.Context {
		_ = connection.(*net.TCPConn).SetWriteBuffer(4 << 10)
		return ctx
	}
}

// beginList requests the whole list of the creator, and reads only the header of the answer.
func (s *testService) beginList() net.Conn {
	s.t.Helper()
	connection, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = connection.Close() })
	_ = connection.(*net.TCPConn).SetReadBuffer(4 << 10)
	if err := s.build(testRequest{target: listPath}).Write(connection); err != nil {
		s.t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReaderSize(connection, 512), nil)
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("got %v, %v, want 200", response, err)
	}
	return connection
}

// Eight clients request the whole list and do not read it. The service keeps far less than a page
// for each. Not parallel: it measures the heap.
func TestConcurrentFullListsTakeLittleMemory(t *testing.T) {
	const lists, most = 8, 3 << 20 / 2
	s := newService(t, serviceOptions{prepare: smallBuffers})
	s.createLarge(150)
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // what pools held is free after the second
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before := heap()
	for range lists {
		s.beginList()
	}
	if each := (heap() - before) / lists; each > most {
		t.Errorf("each of %d lists under way takes %d bytes of heap, want at most %d", lists, each, most)
	}
}

// collect reads every page of a list, keyed by one member of its elements, and checks that no page
// is large.
func (s *testService) collect(target, member, id string, signer sortie.Signer) (ids []string, pages int) {
	s.t.Helper()
	separator := "?"
	if strings.Contains(target, "?") {
		separator = "&"
	}
	for cursor := ""; ; {
		built := testRequest{target: target, signer: signer, unsigned: signer == nil}
		if cursor != "" {
			built.target += separator + "cursor=" + cursor
		}
		const most = 5 << 20 / 4 // a mebibyte of missions, and what belongs to them
		a := s.roundTrip(s.build(built))
		if a.StatusCode != http.StatusOK || len(a.body) > most {
			s.t.Fatalf("%s: got %d with %d bytes, want 200 with at most %d", built.target, a.StatusCode, len(a.body), most)
		}
		pages++
		var answer map[string]json.RawMessage
		var elements []map[string]any
		var summary struct{ NextCursor string }
		if err := errors.Join(json.Unmarshal(a.body, &answer), json.Unmarshal(answer[member], &elements), json.Unmarshal(answer["summary"], &summary)); err != nil {
			s.t.Fatal(err)
		}
		for _, element := range elements {
			ids = append(ids, fmt.Sprint(element[id]))
		}
		if summary.NextCursor == "" {
			return ids, pages
		}
		cursor = summary.NextCursor
	}
}

// Large missions make the pages of reviews and of the feed short, and every mission is on one page.
func TestReviewsAndFeedOfLargeMissionsArePagedByBytes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: stores missions of the largest size")
	}
	s := newService(t, serviceOptions{})
	const count = 48
	drafts, missions := make([]string, count), make([]string, count)
	var fundings []onchain.Event
	for i := range count {
		body := largeMission(t, fmt.Sprintf("Large mission %04d", i))
		if i%2 == 0 {
			body = strings.Replace(body, `"targetCount":4`, `"targetCount":4,"location":{"lat":48.8584,"lng":2.2945}`, 1)
		}
		view, _, err := s.app.CreateDraft(t.Context(), creator.Address(), fmt.Sprint("k", i), []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		drafts[i], missions[i] = view.DraftID, view.MissionID
		fundings = append(fundings, fundingOf(sortie.DraftCreated{DraftID: view.DraftID, MissionID: view.MissionID, FundingQuote: view.Quote}))
	}
	check := func(what string, got []string, pages int, want []string) {
		t.Helper()
		slices.Sort(got)
		if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) || pages < 2 {
			t.Errorf("%s: got %d of %d on %d pages, want each once on several pages", what, len(got), len(want), pages)
		}
	}
	s.chain.mine(fundings...)
	s.chain.mine()
	s.chain.finalize()
	ids, pages := s.collect(reviewsPath+"?limit=100", "reviews", "draftId", reviewer)
	check("reviews", ids, pages, drafts)
	for _, id := range drafts {
		if _, err := s.operators.Approve(t.Context(), reviewer.Address(), id, ""); err != nil {
			t.Fatal(err)
		}
	}
	ids, pages = s.collect(feedPath+"?limit=100", "missions", "missionId", nil)
	check("feed", ids, pages, missions)
	ids, pages = s.collect(feedPath+"?limit=100&near=48.8584,2.2945", "missions", "missionId", nil)
	check("feed near a point", ids, pages, missions)
}
