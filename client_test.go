package sortie_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// fakeService answers each request with the next handler, and repeats the last.
func fakeService(t *testing.T, handlers ...http.HandlerFunc) (url string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[min(int(requests.Add(1)), len(handlers))-1](w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func answerWith(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func newClient(t *testing.T, url string, options ...sortie.ClientOption) *sortie.Client {
	t.Helper()
	client, err := sortie.NewClient(url, mustKey(t, loadVectors(t).Keys.Creator.PrivateKey), options...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Replayed is false when the earlier call was this call's own attempt.
func TestClientReportsReplayedDrafts(t *testing.T) {
	t.Parallel()
	created, again := answerWith(201, `{"draftId":"draft_1"}`), answerWith(200, `{"draftId":"draft_1"}`, "Idempotent-Replayed", "true")
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		want    bool
	}{
		"new":                         {[]http.HandlerFunc{created}, false},
		"replayed":                    {[]http.HandlerFunc{again}, true},
		"created by a failed attempt": {[]http.HandlerFunc{unavailable("0"), again}, false},
	} {
		url, _ := fakeService(t, c.answers...)
		draft, err := newClient(t, url).CreateDraft(t.Context(), sortie.Mission{}, "key")
		if err != nil || draft.Replayed != c.want || draft.DraftID != "draft_1" {
			t.Errorf("%s: got draft %q, replayed %v, error %v; want draft_1, replayed %v", name, draft.DraftID, draft.Replayed, err, c.want)
		}
	}
}

const emptyList = `{"ok":true,"drafts":[],"summary":{"returnedDrafts":0,"nextCursor":null,"generatedAt":"2026-02-02T03:10:00.000Z"}}`

func unavailable(retryAfter string) http.HandlerFunc {
	return answerWith(503, `{"ok":false,"error":{"code":"service_unavailable","message":"later","requestId":"req_1"}}`, "Retry-After", retryAfter)
}

func TestClientSignsWhatItSends(t *testing.T) {
	t.Parallel()
	now := time.Unix(1770000000, 0)
	url, _ := fakeService(t, func(w http.ResponseWriter, r *http.Request) {
		signed := sortie.Request{
			Method: r.Method, URL: "http://" + r.Host + r.RequestURI, IdempotencyKey: r.Header.Get(sortie.HeaderIdempotencyKey),
			Wallet: r.Header.Get(sortie.HeaderWallet), Timestamp: r.Header.Get(sortie.HeaderTimestamp),
		}
		signature, _ := sortie.ParseBytes(r.Header.Get(sortie.HeaderSignature))
		signer, err := sortie.RecoverAddress(signed.Digest(), signature)
		if err != nil || signer.String() != signed.Wallet || signed.Timestamp != "1770000000" || r.RequestURI != "/api/external/missions?cursor=a_b-c&limit=7&status=published" {
			t.Errorf("%s %s at %s: got signer %v, %v; want %s", r.Method, r.RequestURI, signed.Timestamp, signer, err, signed.Wallet)
		}
		answerWith(200, emptyList)(w, r)
	})
	client := newClient(t, url, sortie.WithClock(func() time.Time { return now }))
	if _, err := client.Drafts(context.Background(), sortie.ListQuery{Status: sortie.ListPublished, Limit: 7, Cursor: "a_b-c"}); err != nil {
		t.Fatal(err)
	}
}

func TestClientRetriesTemporaryFailures(t *testing.T) {
	t.Parallel()
	drop := func(w http.ResponseWriter, _ *http.Request) {
		connection, _, _ := w.(http.Hijacker).Hijack()
		_ = connection.Close()
	}
	for name, failure := range map[string]http.HandlerFunc{
		"unavailable": unavailable("0"), "limited": answerWith(429, `{"ok":false,"error":{"code":"rate_limited","message":"slow down"}}`, "Retry-After", "0"), "lost": drop,
	} {
		url, requests := fakeService(t, failure, failure, answerWith(200, emptyList))
		if _, err := newClient(t, url).Drafts(t.Context(), sortie.ListQuery{}); err != nil || requests.Load() != 3 {
			t.Errorf("%s: got %v after %d requests, want success after 3", name, err, requests.Load())
		}
	}
	url, requests := fakeService(t, unavailable("0"))
	_, err := newClient(t, url).Drafts(t.Context(), sortie.ListQuery{})
	if sortie.ErrorCode(err) != sortie.CodeServiceUnavailable || requests.Load() != 3 {
		t.Errorf("list drafts: got %v after %d requests, want service_unavailable after 3", err, requests.Load())
	}
}

func TestClientStopsRetryingWhenCancelled(t *testing.T) {
	t.Parallel()
	url, requests := fakeService(t, unavailable("3600"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := newClient(t, url, sortie.BeforeEachWait(cancel)).Drafts(ctx, sortie.ListQuery{})
	if sortie.ErrorCode(err) != sortie.CodeServiceUnavailable || requests.Load() != 1 {
		t.Errorf("list drafts: got %v after %d requests, want service_unavailable after 1", err, requests.Load())
	}
}

func TestClientReturnsServiceErrors(t *testing.T) {
	t.Parallel()
	url, requests := fakeService(t, answerWith(409, `{"ok":false,"error":{"code":"idempotency_conflict","message":"other mission","details":{"draftId":"draft_x","fields":["title"]},"requestId":"req_7"}}`))
	_, err := newClient(t, url).CreateDraft(t.Context(), sortie.Mission{Title: "abc"}, "k")
	var coded *sortie.Error
	if !errors.As(err, &coded) || coded.Code != sortie.CodeIdempotencyConflict || coded.RequestID != "req_7" || fmt.Sprint(coded.Details["fields"]) != "[title]" || requests.Load() != 1 {
		t.Errorf("create draft: got %+v after %d requests, want idempotency_conflict of req_7 after 1", coded, requests.Load())
	}
}

func TestClientRefusesInvalidAnswers(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"a page":                  answerWith(404, "<html>nothing here</html>"),
		"a proxy":                 answerWith(502, "<html>bad gateway</html>"),
		"a redirect":              answerWith(302, "", "Location", "https://elsewhere.example/"),
		"half a JSON":             answerWith(200, `{"ok":true,"drafts":[`),
		"an endless answer":       func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 33<<20)) },
		"a repeated member":       answerWith(200, `{"ok":true,"drafts":[{"fundingQuote":{"chainId":1,"chainId":2}}]}`),
		"an error without a code": answerWith(400, `{"error":{"message":"?"}}`),
	} {
		url, _ := fakeService(t, handler)
		if _, err := newClient(t, url, sortie.WithAttempts(1)).Drafts(t.Context(), sortie.ListQuery{}); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestAllDraftsReadsEveryPage(t *testing.T) {
	t.Parallel()
	page := func(cursor string) http.HandlerFunc {
		return answerWith(200, strings.Replace(emptyList, `"nextCursor":null`, `"nextCursor":`+cursor, 1))
	}
	url, requests := fakeService(t, page(`"one"`), page(`"two"`), page("null"))
	for _, err := range newClient(t, url).AllDrafts(t.Context(), sortie.ListQuery{}) {
		t.Fatalf("AllDrafts yielded a draft or failed: %v", err)
	}
	if requests.Load() != 3 {
		t.Errorf("got %d requests, want 3", requests.Load())
	}
}

func TestNewClientWantsABareURL(t *testing.T) {
	t.Parallel()
	key := mustKey(t, loadVectors(t).Keys.Creator.PrivateKey)
	for _, url := range []string{"", "api.example.com", "ftp://a.example", "https://", "https://user:secret@a.example", "https://a.example?x=1", "https://a.example#x", "://"} {
		if _, err := sortie.NewClient(url, key); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("NewClient(%q): got error %v, want one without the password", url, err)
		}
	}
	if _, err := sortie.NewClient("https://a.example", nil); err == nil {
		t.Error("NewClient accepted a nil signer")
	}
}
