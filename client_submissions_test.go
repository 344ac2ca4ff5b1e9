package sortie_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// Every method sends the expected request, signed unless it is public, and decodes its answer.
func TestSubmissionRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer, sent, want string
		call               func(*sortie.Client) (any, error)
	}{
		"feed": {
			`{"ok":true,"missions":[{"missionId":"m-1","slotsLeft":3,"distanceMeters":null}]}`, "unsigned GET /api/missions", "m-1 3",
			func(c *sortie.Client) (any, error) {
				feed, err := c.Feed(t.Context(), sortie.FeedQuery{})
				return fmt.Sprint(feed.Missions[0].MissionID, " ", feed.Missions[0].SlotsLeft), err
			},
		},
		"feed near a point": {
			`{"ok":true,"missions":[{"distanceMeters":120}]}`, "unsigned GET /api/missions?cursor=c1&limit=5&mediaType=video&near=48.858370%2C-2.5", "120",
			func(c *sortie.Client) (any, error) {
				feed, err := c.Feed(t.Context(), sortie.FeedQuery{
					Near: &sortie.Point{Lat: "48.858370", Lng: "-2.5"}, MediaType: sortie.MediaVideo, Limit: 5, Cursor: "c1",
				})
				return *feed.Missions[0].DistanceMeters, err
			},
		},
		"open mission": {
			`{"ok":true,"mission":{"missionId":"m-1","open":true}}`, "unsigned GET /api/missions/m-1", "true",
			func(c *sortie.Client) (any, error) {
				mission, err := c.OpenMission(t.Context(), "m-1")
				return mission.Open, err
			},
		},
		"declare": {
			`{"ok":true,"submissionId":"sub_1","status":"pending","upload":{"tusUrl":"http://x/tus"}}`,
			`key k-1 POST /api/missions/m-1/submissions {"location":{"lat":1.50,"lng":-2,"accuracyMeters":5},"capturedAt":"2026-02-02T03:10:00Z","contentType":"image/jpeg","sizeBytes":7,"sha256":"ab"}`,
			"sub_1 http://x/tus",
			func(c *sortie.Client) (any, error) {
				declared, err := c.Declare(t.Context(), "m-1", sortie.Declaration{
					Location: sortie.Location{Lat: "1.50", Lng: "-2", AccuracyMeters: "5"}, CapturedAt: "2026-02-02T03:10:00Z",
					ContentType: "image/jpeg", SizeBytes: 7, SHA256: "ab",
				}, "k-1")
				return declared.SubmissionID + " " + declared.Upload.TusURL, err
			},
		},
		"declare a file that is uploaded": {
			`{"ok":true,"submissionId":"sub_1","status":"accepted","upload":null}`,
			`key k POST /api/missions/a%2Fb/submissions {"location":{"lat":0,"lng":0,"accuracyMeters":1},"capturedAt":"","contentType":"","sizeBytes":0,"sha256":""}`, "true",
			func(c *sortie.Client) (any, error) {
				declared, err := c.Declare(t.Context(), "a/b", sortie.Declaration{Location: sortie.Location{Lat: "0", Lng: "0", AccuracyMeters: "1"}}, "k")
				return declared.Upload == nil, err
			},
		},
		"my submissions": {
			`{"ok":true,"submissions":[{"submissionId":"sub_1"}]}`, "GET /api/submissions?limit=2", "sub_1",
			func(c *sortie.Client) (any, error) {
				page, err := c.MySubmissions(t.Context(), sortie.PageQuery{Limit: 2})
				return page.Submissions[0].SubmissionID, err
			},
		},
		"my submission": {
			`{"ok":true,"submission":{"status":"accepted","score":97,"receipt":{"missionKey":"0x` + strings.Repeat("ab", 32) + `","payments":[{"slot":3,"recipient":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"}],"signature":"0x01"}}}`,
			"GET /api/submissions/sub_1", "accepted 97 3",
			func(c *sortie.Client) (any, error) {
				mine, err := c.MySubmission(t.Context(), "sub_1")
				return fmt.Sprint(mine.Status, " ", *mine.Score, " ", mine.Receipt.Payments[0].Slot), err
			},
		},
		"withdraw": {
			`{"ok":true,"submission":{"status":"withdrawn"}}`, "POST /api/submissions/sub_1/withdraw", "withdrawn",
			func(c *sortie.Client) (any, error) {
				mine, err := c.Withdraw(t.Context(), "sub_1")
				return mine.Status, err
			},
		},
		"deliverables": {
			`{"ok":true,"mission":{"title":"T"},"summary":{"acceptedSubmissions":9,"nextCursor":"c2"},"submissions":[{"submissionId":"sub_1","thumbnailUrl":null}]}`,
			"GET /api/external/missions/draft_a/deliverables?cursor=c1&limit=7&mediaUrlTtlSeconds=900", "T 9 c2 sub_1",
			func(c *sortie.Client) (any, error) {
				page, err := c.Deliverables(t.Context(), "draft_a", sortie.DeliverablesQuery{Limit: 7, Cursor: "c1", LinkTTL: 15 * time.Minute})
				return fmt.Sprint(page.Mission.Title, " ", page.Summary.AcceptedSubmissions, " ", *page.Summary.NextCursor, " ", page.Submissions[0].SubmissionID), err
			},
		},
		"operator's submissions": {
			`{"ok":true,"submissions":[{"submissionId":"sub_1","contributor":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"}]}`,
			"GET /api/operator/submissions?missionId=m-1&status=flagged", "sub_1 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
			func(c *sortie.Client) (any, error) {
				page, err := c.Submissions(t.Context(), sortie.QueueQuery{Status: sortie.SubmissionFlagged, MissionID: "m-1"})
				return fmt.Sprint(page.Submissions[0].SubmissionID, " ", page.Submissions[0].Contributor), err
			},
		},
		"operator's submission": {
			`{"ok":true,"submission":{"title":"T"}}`, "GET /api/operator/submissions/sub_1", "T",
			func(c *sortie.Client) (any, error) {
				submission, err := c.Submission(t.Context(), "sub_1")
				return submission.Title, err
			},
		},
		"accept": {
			`{"ok":true,"submission":{"status":"curation_accepted"}}`, "POST /api/operator/submissions/sub_1/accept", "curation_accepted",
			func(c *sortie.Client) (any, error) {
				submission, err := c.AcceptSubmission(t.Context(), "sub_1", "")
				return submission.Status, err
			},
		},
		"reject": {
			`{"ok":true,"submission":{"status":"rejected"}}`, `POST /api/operator/submissions/sub_1/reject {"reason":"blurred"}`, "rejected",
			func(c *sortie.Client) (any, error) {
				submission, err := c.RejectSubmission(t.Context(), "sub_1", "blurred")
				return submission.Status, err
			},
		},
		"flag": {
			`{"ok":true,"submission":{"status":"flagged"}}`, `POST /api/operator/submissions/sub_1/flag {"reason":"look"}`, "flagged",
			func(c *sortie.Client) (any, error) {
				submission, err := c.FlagSubmission(t.Context(), "sub_1", "look")
				return submission.Status, err
			},
		},
		"rotate": {
			`{"ok":true}`, `POST /api/operator/link-keys/rotate {"reason":"leaked"}`, "<nil>",
			func(c *sortie.Client) (any, error) { return nil, c.RotateLinkKeys(t.Context(), "leaked") },
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

func TestPublicClient(t *testing.T) {
	t.Parallel()
	url, requests := fakeService(t, answerWith(200, `{"ok":true,"missions":[],"mission":{"missionId":"m-1"}}`))
	client, err := sortie.NewPublicClient(url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Feed(t.Context(), sortie.FeedQuery{}); err != nil {
		t.Error(err)
	}
	if mission, err := client.OpenMission(t.Context(), "m-1"); err != nil || mission.MissionID != "m-1" {
		t.Errorf("OpenMission: got %q, %v; want m-1", mission.MissionID, err)
	}
	if _, err := client.MySubmissions(t.Context(), sortie.PageQuery{}); err == nil || !strings.Contains(err.Error(), "signer") {
		t.Errorf("signed request without a signer: got %v, want an error about the signer", err)
	}
	if !client.Wallet().IsZero() || requests.Load() != 2 {
		t.Errorf("got wallet %s and %d requests, want none and 2", client.Wallet(), requests.Load())
	}
}

func TestAllSubmissionsReadEveryPage(t *testing.T) {
	t.Parallel()
	page := func(next, id string) string {
		return `{"ok":true,"missions":[{"missionId":"` + id + `"}],"submissions":[{"submissionId":"` + id + `"}],"summary":{"nextCursor":` + next + `}}`
	}
	for name, walk := range map[string]func(*sortie.Client) []string{
		"feed": func(c *sortie.Client) (ids []string) {
			for mission, err := range c.AllFeed(t.Context(), sortie.FeedQuery{}) {
				ids = append(ids, mission.MissionID+errorText(err))
			}
			return ids
		},
		"mine": func(c *sortie.Client) (ids []string) {
			for submission, err := range c.AllMySubmissions(t.Context(), sortie.PageQuery{}) {
				ids = append(ids, submission.SubmissionID+errorText(err))
			}
			return ids
		},
		"queue": func(c *sortie.Client) (ids []string) {
			for submission, err := range c.AllSubmissions(t.Context(), sortie.QueueQuery{}) {
				ids = append(ids, submission.SubmissionID+errorText(err))
			}
			return ids
		},
		"deliverables": func(c *sortie.Client) (ids []string) {
			for deliverable, err := range c.AllDeliverables(t.Context(), "draft_a", sortie.DeliverablesQuery{}) {
				ids = append(ids, deliverable.SubmissionID+errorText(err))
			}
			return ids
		},
	} {
		url, requests := fakeService(t, answerWith(200, page(`"a"`, "1")), answerWith(200, page(`"b"`, "2")), answerWith(200, page("null", "3")))
		if got := fmt.Sprint(walk(newClient(t, url))); got != "[1 2 3]" || requests.Load() != 3 {
			t.Errorf("%s: got %s in %d requests, want [1 2 3] in 3", name, got, requests.Load())
		}
		url, _ = fakeService(t, answerWith(200, page(`"a"`, "1")), answerWith(400, `{"ok":false,"error":{"code":"invalid_cursor","message":"no"}}`))
		if got := fmt.Sprint(walk(newClient(t, url))); got != "[1 invalid_cursor]" {
			t.Errorf("%s with a failing page: got %s, want [1 invalid_cursor]", name, got)
		}
	}
}

func errorText(err error) string { return string(sortie.ErrorCode(err)) }

func TestMediaSHA256(t *testing.T) {
	t.Parallel()
	good := sortie.Media{Hash: "sha256:" + strings.Repeat("0a", 32)}
	if sum, err := good.SHA256(); err != nil || sum[31] != 0x0a {
		t.Errorf("SHA256 of %s: got %x, %v; want the last byte 0a", good.Hash, sum, err)
	}
	for _, hash := range []string{"", "sha256:", strings.Repeat("0a", 32), "sha256:" + strings.Repeat("0a", 31), "sha256:" + strings.Repeat("zz", 32), "md5:" + strings.Repeat("0a", 32)} {
		if sum, err := (sortie.Media{Hash: hash}).SHA256(); err == nil {
			t.Errorf("SHA256 of %q: got %x, want an error", hash, sum)
		}
	}
}
