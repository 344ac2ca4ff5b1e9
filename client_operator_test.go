package sortie_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
)

// recorded answers every request with one body and stores a description of the request: "key" with
// its idempotency key, "unsigned" without a signature, method, URI and body. It checks signatures.
func recorded(t *testing.T, answer string, got *string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		signed := sortie.Request{
			Method: r.Method, URL: "http://" + r.Host + r.RequestURI, Wallet: r.Header.Get(sortie.HeaderWallet), Timestamp: r.Header.Get(sortie.HeaderTimestamp),
			IdempotencyKey: r.Header.Get(sortie.HeaderIdempotencyKey),
		}
		contentType := ""
		if len(body) > 0 {
			sum := sha256.Sum256(body)
			signed.BodySHA256, contentType = hex.EncodeToString(sum[:]), "application/json"
		}
		prefix := ""
		if signed.IdempotencyKey != "" {
			prefix = "key " + signed.IdempotencyKey + " "
		}
		signature, _ := sortie.ParseBytes(r.Header.Get(sortie.HeaderSignature))
		if signed.Wallet == "" && len(signature) == 0 {
			prefix += "unsigned "
		} else if signer, err := sortie.RecoverAddress(signed.Digest(), signature); err != nil || signer.String() != signed.Wallet {
			t.Errorf("%s %s: got signer %v, %v; want %s", r.Method, r.RequestURI, signer, err, signed.Wallet)
		}
		if r.Header.Get("Content-Type") != contentType {
			t.Errorf("%s %s: got Content-Type %q, want %q", r.Method, r.RequestURI, r.Header.Get("Content-Type"), contentType)
		}
		*got = strings.TrimSpace(prefix + r.Method + " " + r.RequestURI + " " + string(body))
		answerWith(http.StatusOK, answer)(w, r)
	}
}

// Every method sends the expected signed request and decodes its answer.
func TestOperatorAndEventRequests(t *testing.T) {
	t.Parallel()
	hash := sortie.MissionKey("x")
	for name, c := range map[string]struct {
		answer, sent, want string
		call               func(*sortie.Client) (any, error)
	}{
		"doctor": {
			`{"ok":true,"health":"waiting","summary":"s","waitingOn":"chain","blockers":[],"actions":[],"funding":{"seen":true,"blockNumber":7,"required":2}}`,
			"GET /api/external/missions/draft_a/doctor", "waiting chain 7 2",
			func(c *sortie.Client) (any, error) {
				d, err := c.Doctor(t.Context(), "draft_a")
				return fmt.Sprint(d.Health, " ", d.WaitingOn, " ", *d.Funding.BlockNumber, " ", d.Funding.Required), err
			},
		},
		"an id that must be escaped": {
			`{}`, "GET /api/external/missions/a%2F..%2Fb%3Fc/doctor", "", func(c *sortie.Client) (any, error) {
				d, err := c.Doctor(t.Context(), "a/../b?c")
				return d.Health, err
			},
		},
		"confirm funding": {
			`{"ok":true,"draftId":"draft_a","fundingStatus":"funded"}`, "POST /api/external/missions/draft_a/confirm-funding", "funded",
			func(c *sortie.Client) (any, error) {
				check, err := c.ConfirmFunding(t.Context(), "draft_a", sortie.Hash{})
				return check.FundingStatus, err
			},
		},
		"confirm funding with a hint": {
			`{}`, `POST /api/external/missions/draft_a/confirm-funding {"transactionHash":"` + hash.String() + `"}`, "",
			func(c *sortie.Client) (any, error) {
				check, err := c.ConfirmFunding(t.Context(), "draft_a", hash)
				return check.FundingStatus, err
			},
		},
		"events": {
			`{"ok":true,"events":[],"summary":{"returnedEvents":0,"nextCursor":"c2"}}`, "GET /api/external/events?cursor=c1&limit=5", "c2",
			func(c *sortie.Client) (any, error) {
				page, err := c.Events(t.Context(), sortie.PageQuery{Limit: 5, Cursor: "c1"})
				return page.Summary.NextCursor, err
			},
		},
		"reviews": {
			`{"ok":true,"reviews":[{"draftId":"draft_a"}]}`, "GET /api/operator/reviews", "draft_a",
			func(c *sortie.Client) (any, error) {
				page, err := c.Reviews(t.Context(), sortie.PageQuery{})
				return page.Reviews[0].DraftID, err
			},
		},
		"review": {
			`{"ok":true,"review":{"draftId":"draft_a"}}`, "GET /api/operator/reviews/draft_a", "draft_a",
			func(c *sortie.Client) (any, error) {
				review, err := c.Review(t.Context(), "draft_a")
				return review.DraftID, err
			},
		},
		"approve": {
			`{"ok":true,"review":{"reviewStatus":"approved"}}`, "POST /api/operator/missions/draft_a/approve", "approved",
			func(c *sortie.Client) (any, error) {
				review, err := c.Approve(t.Context(), "draft_a", "")
				return review.ReviewStatus, err
			},
		},
		"approve with a reason": {
			`{"ok":true,"review":{}}`, `POST /api/operator/missions/draft_a/approve {"reason":"fine"}`, "",
			func(c *sortie.Client) (any, error) {
				review, err := c.Approve(t.Context(), "draft_a", "fine")
				return review.ReviewStatus, err
			},
		},
		"reject": {
			`{"ok":true,"review":{"reviewStatus":"rejected"}}`, `POST /api/operator/missions/draft_a/reject {"reason":"\"no\""}`, "rejected",
			func(c *sortie.Client) (any, error) {
				review, err := c.Reject(t.Context(), "draft_a", `"no"`)
				return review.ReviewStatus, err
			},
		},
		"audit": {
			`{"ok":true,"entries":[{"id":9}]}`, "GET /api/operator/audit?limit=1", "9",
			func(c *sortie.Client) (any, error) {
				page, err := c.Audit(t.Context(), sortie.PageQuery{Limit: 1})
				return page.Entries[0].ID, err
			},
		},
		"chain": {
			`{"ok":true,"chainId":31337,"position":{"tip":12}}`, "GET /api/operator/chain", "31337 12",
			func(c *sortie.Client) (any, error) {
				overview, err := c.Chain(t.Context())
				return fmt.Sprint(overview.ChainID, " ", overview.Position.Tip), err
			},
		},
		"reconcile": {
			`{"ok":true}`, "POST /api/operator/chain/reconcile", "<nil>",
			func(c *sortie.Client) (any, error) { return nil, c.Reconcile(t.Context()) },
		},
		"clear": {
			`{"ok":true,"id":"inc_1","halted":true}`, `POST /api/operator/incidents/inc_1/clear {"reason":"looked"}`, "inc_1 true",
			func(c *sortie.Client) (any, error) {
				cleared, err := c.ClearIncident(t.Context(), "inc_1", "looked")
				return fmt.Sprint(cleared.ID, " ", cleared.Halted), err
			},
		},
	} {
		var sent string
		url, _ := fakeService(t, recorded(t, c.answer, &sent))
		got, err := c.call(newClient(t, url))
		if err != nil || fmt.Sprint(got) != c.want || sent != c.sent {
			t.Errorf("%s: sent %s, got %v %v; want %s, %s", name, sent, got, err, c.sent, c.want)
		}
	}
}

func TestOperatorErrorsAreTyped(t *testing.T) {
	t.Parallel()
	url, _ := fakeService(t, answerWith(403, `{"ok":false,"error":{"code":"wallet_not_allowed","message":"not an operator"}}`))
	client := newClient(t, url)
	for name, call := range map[string]func() error{
		"reviews":   func() error { _, err := client.Reviews(t.Context(), sortie.PageQuery{}); return err },
		"review":    func() error { _, err := client.Review(t.Context(), "x"); return err },
		"approve":   func() error { _, err := client.Approve(t.Context(), "x", ""); return err },
		"reject":    func() error { _, err := client.Reject(t.Context(), "x", "y"); return err },
		"audit":     func() error { _, err := client.Audit(t.Context(), sortie.PageQuery{}); return err },
		"chain":     func() error { _, err := client.Chain(t.Context()); return err },
		"reconcile": func() error { return client.Reconcile(t.Context()) },
		"clear":     func() error { _, err := client.ClearIncident(t.Context(), "x", "y"); return err },
	} {
		if err := call(); sortie.ErrorCode(err) != sortie.CodeWalletNotAllowed {
			t.Errorf("%s: got %v, want wallet_not_allowed", name, err)
		}
	}
}

// Events have a cursor on every page, so AllEvents ends at an empty page. AllReviews ends at a page
// without a cursor.
func TestAllEventsAndAllReviewsReadEveryPage(t *testing.T) {
	t.Parallel()
	page := func(next string, ids ...string) http.HandlerFunc {
		var events []string
		for _, id := range ids {
			events = append(events, `{"id":"`+id+`"}`)
		}
		return answerWith(200, `{"ok":true,"events":[`+strings.Join(events, ",")+`],"reviews":[{"draftId":"`+strings.Join(ids, `"},{"draftId":"`)+`"}],"summary":{"nextCursor":`+next+`}}`)
	}
	url, requests := fakeService(t, page(`"a"`, "1", "2"), page(`"b"`, "3"), page(`"b"`))
	var got []string
	for event, err := range newClient(t, url).AllEvents(t.Context(), sortie.PageQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, event.ID)
	}
	if strings.Join(got, " ") != "1 2 3" || requests.Load() != 3 {
		t.Errorf("AllEvents: got %v in %d requests, want 1 2 3 in 3", got, requests.Load())
	}
	url, requests = fakeService(t, page(`"a"`, "1", "2"), page("null", "3"))
	got = nil
	for review, err := range newClient(t, url).AllReviews(t.Context(), sortie.PageQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, review.DraftID)
	}
	if strings.Join(got, " ") != "1 2 3" || requests.Load() != 2 {
		t.Errorf("AllReviews: got %v in %d requests, want 1 2 3 in 2", got, requests.Load())
	}
	url, _ = fakeService(t, page(`"a"`, "1"), answerWith(400, `{"ok":false,"error":{"code":"invalid_cursor","message":"no"}}`))
	var last error
	for _, last = range newClient(t, url).AllEvents(t.Context(), sortie.PageQuery{}) {
	}
	if sortie.ErrorCode(last) != sortie.CodeInvalidCursor {
		t.Errorf("AllEvents with a failing page: got %v, want invalid_cursor", last)
	}
}
