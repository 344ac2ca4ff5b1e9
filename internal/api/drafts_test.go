package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

func TestCreateDraft(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		a := s.send(testRequest{method: http.MethodPost, target: "/api/external/missions/drafts", key: "k1", body: goodMission})
		if a.StatusCode != http.StatusCreated {
			t.Fatalf("create: got %d %s, want 201", a.StatusCode, a.body)
		}
		draft := decode[sortie.DraftCreated](t, a)
		if draft.Status != "pending_funding" || draft.ReviewStatus != "draft" || draft.FundingStatus != "pending_funding" ||
			draft.NextAction != "send_create_funded_mission_transaction" {
			t.Errorf("state %+v", draft)
		}
		if a.Header.Get("Location") != "/api/external/missions/"+draft.DraftID || a.Header.Get("Idempotent-Replayed") != "" {
			t.Errorf("headers %v", a.Header)
		}
		if !strings.HasPrefix(draft.MissionID, "photo-of-the-main-entrance-") {
			t.Errorf("mission id %s", draft.MissionID)
		}
		asked := sortie.Ask{Creator: creator.Address(), MissionID: draft.MissionID, Token: "USDC", Amount: "2.5", TargetCount: 4}
		if err := sortie.VerifyQuote(draft.FundingQuote, asked, s.trust, s.clock.Now()); err != nil {
			t.Error(err)
		}
		if draft.FundingQuote.TotalBudgetBaseUnits != "10000000" {
			t.Errorf("budget %s", draft.FundingQuote.TotalBudgetBaseUnits)
		}
	})
}

// Answers that are encoded by hand equal the JSON of the wire types.
func TestAnswersAreWhatTheWireTypesSay(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		s.create("k0", `{"title":"An \"odd\" <title> \u2028 é","reward":{"token":"SERVICE_TOKEN","amount":"0.01"},"targetCount":1,"note":{"b":1,"a":[1.50,"x"]},"location":{"lat":1,"lng":-2.5}}`)
		s.create("k1", goodMission)
		for target, value := range map[string]any{
			"/api/external/missions":                                        new(sortie.DraftList),
			"/api/external/missions?limit=1":                                new(sortie.DraftList),
			"/api/external/missions/" + s.create("k1", goodMission).DraftID: new(sortie.MissionStatus),
			"/api/external/missions/" + s.create("k0", `{"title":"An \"odd\" <title> \u2028 é","reward":{"token":"SERVICE_TOKEN","amount":"0.01"},"targetCount":1,"note":{"b":1,"a":[1.50,"x"]},"location":{"lat":1,"lng":-2.5}}`).MissionID: new(sortie.MissionStatus),
		} {
			a := s.send(testRequest{target: target})
			if a.StatusCode != http.StatusOK {
				t.Fatalf("%s: got %d %s, want 200", target, a.StatusCode, a.body)
			}
			if err := json.Unmarshal(a.body, value); err != nil {
				t.Fatalf("%s: decode: %v", target, err)
			}
			encoded, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if !sameJSON(t, encoded, a.body) {
				t.Errorf("%s:\n got %s\nwant %s", target, a.body, encoded)
			}
		}
	})
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		t.Fatal("not JSON")
	}
	return fmt.Sprint(x) == fmt.Sprint(y) // maps print sorted
}

func TestReplayReturnsTheDraft(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		first := s.create("k1", goodMission)
		s.clock.advance(time.Hour)
		for name, body := range map[string]string{
			"same bytes": goodMission, "other order": `{"targetCount":4,"reward":{"amount":2.5,"token":"USDC"},"title":"Photo of the main entrance"}`,
			"other numbers": `{"title":"Photo of the main entrance","reward":{"token":"USDC","amount":"2.50"},"targetCount":4.0,"maxSubmissionsPerContributor":1}`,
			"other space":   `{ "title" : "  Photo  of the\tmain entrance " , "reward" : {"token":"USDC","amount":25e-1} , "targetCount" : 4 }`,
		} {
			a := s.send(testRequest{method: http.MethodPost, target: "/api/external/missions/drafts", key: "k1", body: body})
			if a.StatusCode != http.StatusOK || a.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s: got %d %s, want 200 and a replay", name, a.StatusCode, a.body)
				continue
			}
			again := decode[sortie.DraftCreated](t, a)
			if again.DraftID != first.DraftID || again.MissionID != first.MissionID || again.FundingQuote.Authorization.Nonce != first.FundingQuote.Authorization.Nonce {
				t.Errorf("%s: another draft: %s", name, a.body)
			}
			asked := sortie.Ask{Creator: creator.Address(), MissionID: first.MissionID, Token: "USDC", Amount: "2.5", TargetCount: 4}
			if err := sortie.VerifyQuote(again.FundingQuote, asked, s.trust, s.clock.Now()); err != nil {
				t.Errorf("%s: the quote is not live: %v", name, err)
			}
		}
		a := s.send(testRequest{method: http.MethodPost, target: "/api/external/missions/drafts", key: "k1",
			body: `{"title":"Photo of the back door","reward":{"token":"USDC","amount":2.5},"targetCount":5}`})
		if a.StatusCode != http.StatusConflict || a.code() != sortie.CodeIdempotencyConflict {
			t.Fatalf("another mission under the same key: got %d %s, want 409 idempotency_conflict", a.StatusCode, a.body)
		}
		if got := fmt.Sprintf("%v %v", a.details()["draftId"], a.details()["fields"]); got != first.DraftID+" [title targetCount]" {
			t.Errorf("details %s", got)
		}
		other := s.send(testRequest{method: http.MethodPost, target: "/api/external/missions/drafts", key: "k1", body: goodMission, signer: stranger})
		if other.StatusCode != http.StatusCreated {
			t.Errorf("another wallet's key: got %d %s, want 201", other.StatusCode, other.body)
		}
	})
}

func TestReplayAfterTheEndStillReturnsTheDraft(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		body := fmt.Sprintf(`{"title":"Ends soon","reward":{"token":"USDC","amount":1},"targetCount":1,"endsAt":%q}`, sortie.FormatTime(s.clock.Now().Add(2*time.Hour)))
		first := s.create("k1", body)
		s.clock.advance(24 * time.Hour)
		if again := s.create("k1", body); again.DraftID != first.DraftID {
			t.Error("another draft")
		}
		a := s.send(testRequest{method: http.MethodPost, target: "/api/external/missions/drafts", key: "k2", body: body})
		if a.StatusCode != http.StatusUnprocessableEntity || a.code() != sortie.CodeValidationFailed {
			t.Errorf("first creation after the end: got %d %s, want 422 validation_failed", a.StatusCode, a.body)
		}
	})
}

func TestParallelPostsOfOneKeyMakeOneDraft(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		var mu sync.Mutex
		statuses, drafts := map[int]int{}, map[string]int{}
		var group sync.WaitGroup
		for range 64 {
			group.Go(func() {
				a := s.roundTrip(s.build(testRequest{method: http.MethodPost, target: "/api/external/missions/drafts", key: "k1", body: goodMission}))
				mu.Lock()
				defer mu.Unlock()
				statuses[a.StatusCode]++
				drafts[decode[sortie.DraftCreated](t, a).DraftID]++
			})
		}
		group.Wait()
		if statuses[http.StatusCreated] != 1 || statuses[http.StatusOK] != 63 || len(drafts) != 1 {
			t.Errorf("statuses %v, drafts %v", statuses, drafts)
		}
	})
}

func TestQuotesAdvanceInSteps(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		draft := s.create("k1", goodMission)
		target := "/api/external/missions/" + draft.DraftID
		s.clock.advance(15*time.Minute - time.Duration(s.clock.Now().UnixNano())%(15*time.Minute) + time.Second) // just after a step
		first := s.send(testRequest{target: target})
		s.clock.advance(14 * time.Minute)
		if second := s.send(testRequest{target: target}); string(second.body) != string(first.body) {
			t.Error("answers inside a step differ")
		}
		s.clock.advance(2 * time.Minute)
		third := s.send(testRequest{target: target})
		before, after := decode[sortie.MissionStatus](t, first).FundingQuote, decode[sortie.MissionStatus](t, third).FundingQuote
		if after.Authorization.Deadline != before.Authorization.Deadline+900 || after.Authorization.Nonce != before.Authorization.Nonce {
			t.Errorf("before %+v\nafter %+v", before.Authorization, after.Authorization)
		}
	})
}

func TestStatusTakesEitherID(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		draft := s.create("k1", goodMission)
		byDraft := s.send(testRequest{target: "/api/external/missions/" + draft.DraftID})
		byMission := s.send(testRequest{target: "/api/external/missions/" + draft.MissionID})
		if byDraft.StatusCode != http.StatusOK || string(byDraft.body) != string(byMission.body) {
			t.Errorf("status by both ids: got %s\nand %s, want the same", byDraft.body, byMission.body)
		}
	})
}

func TestListPages(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		var want []string
		for i := range 25 {
			want = append([]string{s.create(fmt.Sprint("k", i), goodMission).DraftID}, want...)
		}
		s.send(testRequest{method: http.MethodPost, target: "/api/external/missions/drafts", key: "other", body: goodMission, signer: stranger})
		for _, limit := range []int{0, 1, 7, 24, 25, 26, 1000} {
			var got []string
			for draft, err := range s.client(creator).AllDrafts(t.Context(), sortie.ListQuery{Limit: limit}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, draft.DraftID)
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("limit %d: %v", limit, got)
			}
		}
		union := 0
		for _, status := range sortie.ListStatuses() {
			list, err := s.client(creator).Drafts(t.Context(), sortie.ListQuery{Status: status})
			if err != nil {
				t.Fatal(err)
			}
			union += len(list.Drafts)
		}
		if union != 25 {
			t.Errorf("the five lists hold %d drafts", union)
		}
	})
}

func TestCursorsAreBoundToTheirList(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		for i := range 3 {
			s.create(fmt.Sprint("k", i), goodMission)
			s.send(testRequest{method: http.MethodPost, target: "/api/external/missions/drafts", key: fmt.Sprint("k", i), body: goodMission, signer: stranger})
		}
		list := decode[sortie.DraftList](t, s.send(testRequest{target: "/api/external/missions?limit=1"}))
		cursor := *list.Summary.NextCursor
		if a := s.send(testRequest{target: "/api/external/missions?limit=1&cursor=" + cursor}); a.StatusCode != http.StatusOK {
			t.Fatalf("own cursor: got %d %s, want 200", a.StatusCode, a.body)
		}
		bad := map[string]testRequest{
			"another wallet": {target: "/api/external/missions?limit=1&cursor=" + cursor, signer: stranger},
			"another filter": {target: "/api/external/missions?status=pending_funding&limit=1&cursor=" + cursor},
			"garbage":        {target: "/api/external/missions?cursor=zzzz"},
			"cut":            {target: "/api/external/missions?cursor=" + cursor[:len(cursor)-1]},
			"longer":         {target: "/api/external/missions?cursor=" + cursor + "A"},
		}
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		for i := range cursor {
			next := alphabet[(strings.IndexByte(alphabet, cursor[i])+1)%len(alphabet)]
			altered := cursor[:i] + string(next) + cursor[i+1:]
			bad[fmt.Sprintf("byte %d", i)] = testRequest{target: "/api/external/missions?cursor=" + altered}
		}
		for name, r := range bad {
			if a := s.send(r); a.StatusCode != http.StatusBadRequest || a.code() != sortie.CodeInvalidCursor {
				t.Errorf("cursor with %s: got %d %s, want 400 invalid_cursor", name, a.StatusCode, a.body)
			}
		}
	})
}

func TestPreview(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	a := s.send(testRequest{method: http.MethodPost, target: "/api/external/missions/preview", body: goodMission})
	preview := decode[sortie.Preview](t, a)
	if a.StatusCode != http.StatusOK || preview.TotalBudget != (sortie.Budget{Token: "USDC", Amount: "10", BaseUnits: "10000000"}) || preview.Warnings == nil {
		t.Errorf("preview: got %d %s, want 200, a budget of 10 USDC and a list of warnings", a.StatusCode, a.body)
	}
	if list := decode[sortie.DraftList](t, s.send(testRequest{target: "/api/external/missions"})); len(list.Drafts) != 0 {
		t.Error("a preview was stored")
	}
}

func TestACreatorHoldsSoManyUnfundedDrafts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: fills a wallet with drafts")
	}
	s := newService(t, serviceOptions{})
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < app.MaxUnfundedDrafts; i += 8 {
				s.roundTrip(s.build(testRequest{method: http.MethodPost, target: "/api/external/missions/drafts", key: fmt.Sprint(i), body: goodMission}))
			}
		})
	}
	group.Wait()
	a := s.send(testRequest{method: http.MethodPost, target: "/api/external/missions/drafts", key: "one more", body: goodMission})
	if a.StatusCode != http.StatusConflict || a.code() != sortie.CodeWrongState {
		t.Errorf("one draft too many: got %d %s, want 409 wrong_state", a.StatusCode, a.body)
	}
	if a := s.send(testRequest{method: http.MethodPost, target: "/api/external/missions/drafts", key: "1", body: goodMission}); a.StatusCode != http.StatusOK {
		t.Errorf("a replay at the limit: got %d %s, want 200", a.StatusCode, a.body)
	}
	list := decode[sortie.DraftList](t, s.send(testRequest{target: "/api/external/missions"}))
	if len(list.Drafts) != app.MaxUnfundedDrafts || list.Summary.NextCursor != nil {
		t.Errorf("%d drafts in the list, cursor %v", len(list.Drafts), list.Summary.NextCursor)
	}
}

// Confirm-funding makes the follower read the chain; the hint in its body is not trusted.
func TestConfirmFunding(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		draft := s.create("k1", goodMission)
		target := listPath + "/" + draft.DraftID + "/confirm-funding"
		for i, body := range []string{"", "{}", `{"transactionHash":"0x` + strings.Repeat("ab", 32) + `"}`} {
			a := s.send(testRequest{method: http.MethodPost, target: target, body: body})
			mustBe(t, "confirm", a, http.StatusOK)
			check := decode[sortie.FundingCheck](t, a)
			if check.Funding.Seen || check.FundingStatus != sortie.FundingPending || check.NextAction != sortie.ActionSendTransaction || check.DraftID != draft.DraftID {
				t.Errorf("confirm with body %q: got %+v, want a pending funding", body, check)
			}
			if s.chain.woken.Load() != int64(i+1) {
				t.Errorf("woken %d times after %d requests", s.chain.woken.Load(), i+1)
			}
		}
		for body, code := range map[string]sortie.Code{
			`{"transactionHash":"0x12"}`: sortie.CodeValidationFailed, `{"hash":"0x12"}`: sortie.CodeValidationFailed, `[]`: sortie.CodeInvalidJSON,
		} {
			if a := s.send(testRequest{method: http.MethodPost, target: target, body: body}); a.code() != code || s.chain.woken.Load() != 3 {
				t.Errorf("%s: %d %s, woken %d times", body, a.StatusCode, a.body, s.chain.woken.Load())
			}
		}
		s.chain.mine(fundingOf(draft))
		check := decode[sortie.FundingCheck](t, s.send(testRequest{method: http.MethodPost, target: target}))
		if !check.Funding.Seen || *check.Funding.BlockNumber != 101 || *check.Funding.TransactionHash != sortie.MissionKey("funding of "+draft.MissionID) {
			t.Errorf("confirm after the funding: got %+v, want the transaction in block 101", check)
		}
		before := s.chain.woken.Load()
		mustBe(t, "of another", s.send(testRequest{method: http.MethodPost, target: target, signer: stranger}), http.StatusNotFound)
		if s.chain.woken.Load() != before {
			t.Error("a stranger woke the follower")
		}
	})
}
