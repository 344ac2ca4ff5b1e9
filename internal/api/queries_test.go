package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

func TestBadParametersOfDeliverables(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	path := listPath + "/" + s.publishedBy(stranger) + "/deliverables"
	var rows []badRequest
	for name, query := range map[string]string{
		"ttl 0":                       "mediaUrlTtlSeconds=0",
		"ttl -1":                      "mediaUrlTtlSeconds=-1",
		"ttl 1.5":                     "mediaUrlTtlSeconds=1.5",
		"ttl 1e2":                     "mediaUrlTtlSeconds=1e2",
		"ttl text":                    "mediaUrlTtlSeconds=long",
		"ttl 5m":                      "mediaUrlTtlSeconds=5m",
		"ttl empty":                   "mediaUrlTtlSeconds=",
		"ttl 01":                      "mediaUrlTtlSeconds=01",
		"ttl +1":                      "mediaUrlTtlSeconds=%2B1",
		"ttl with a blank":            "mediaUrlTtlSeconds=%201",
		"ttl in other digits":         "mediaUrlTtlSeconds=" + url.QueryEscape("１０"),
		"two ttls":                    "mediaUrlTtlSeconds=1&mediaUrlTtlSeconds=1",
		"ttl[]":                       "mediaUrlTtlSeconds[]=1",
		"another spelling":            "mediaURLTTLSeconds=1",
		"a filter that there is none": "status=accepted",
	} {
		rows = append(rows, badRequest{name: name, text: s.sign(s.unsigned(http.MethodGet, path+"?"+query), stranger).String(), status: http.StatusBadRequest, code: sortie.CodeInvalidParameter})
	}
	s.refuseAll(t, rows)
}

// A value above the limit counts as the limit.
func TestGreatParametersOfDeliverables(t *testing.T) {
	t.Parallel()
	s, draft, _ := delivered(t, serviceOptions{})
	for query, life := range map[string]time.Duration{
		"": 5 * time.Minute, "?mediaUrlTtlSeconds=1": time.Second, "?mediaUrlTtlSeconds=900": 15 * time.Minute, "?mediaUrlTtlSeconds=901": 15 * time.Minute,
		"?mediaUrlTtlSeconds=9223372036854775808": 15 * time.Minute, "?mediaUrlTtlSeconds=" + strings.Repeat("9", 100): 15 * time.Minute,
		"?limit=101": 5 * time.Minute, "?limit=1&mediaUrlTtlSeconds=60": time.Minute,
	} {
		a := s.roundTrip(s.build(testRequest{target: listPath + "/" + draft.MissionID + "/deliverables" + query})) // OpenAPI's integers end at 2^63
		page := decode[sortie.Deliverables](t, a)
		expires, err := time.Parse(time.RFC3339, page.Submissions[0].MediaURLExpiresAt)
		if left := expires.Sub(s.clock.Now()); err != nil || left > life || left < life-time.Second {
			t.Errorf("%q: %s left, want %s (%v)", query, left, life, err)
		}
	}
}

func TestBadParametersOfTheFeed(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	var rows []badRequest
	for name, query := range map[string]string{
		"one number":               "near=52.5",
		"three numbers":            "near=52.5,13.4,1",
		"no numbers":               "near=,",
		"words":                    "near=here,there",
		"NaN":                      "near=NaN,0",
		"infinity":                 "near=Inf,0",
		"an exponent":              "near=5e1,0",
		"hex":                      "near=0x10,0",
		"a plus":                   "near=%2B1,0",
		"a blank":                  "near=1,%200",
		"no digit before":          "near=.5,0",
		"no digit after the point": "near=5.,0",
		"two points":               "near=5..5,0",
		"a minus alone":            "near=-,0",
		"beyond a pole":            "near=90.000001,0",
		"beyond the date":          "near=0,-180.000001",
		"1000 digits":              "near=0." + strings.Repeat("1", 1000) + ",0",
		"other digits":             "near=" + url.QueryEscape("５２,１３"),
		"SQL":                      "near=0,0'%20OR%20'1'='1",
		"two points at once":       "near=0,0&near=1,1",
		"empty":                    "near=",
		"a type that is none":      "mediaType=audio",
		"a type in capitals":       "mediaType=PHOTO",
		"two types":                "mediaType=photo&mediaType=video",
		"a radius":                 "near=0,0&radius=5",
		"limit 0":                  "limit=0",
		"limit text":               "limit=many",
		"bad escape":               "near=%zz",
	} {
		rows = append(rows, badRequest{name: name, text: s.unsigned(http.MethodGet, feedPath+"?"+query).String(), status: http.StatusBadRequest, code: sortie.CodeInvalidParameter})
	}
	for name, cursor := range map[string]string{"cursor of garbage": "zzzz", "cursor that is an id": "sub_0123456789abcdefghjkmnpqrs", "cursor of 10 KB": strings.Repeat("A", 10_000)} {
		rows = append(rows, badRequest{name: name, text: s.unsigned(http.MethodGet, feedPath+"?cursor="+cursor).String(), status: http.StatusBadRequest, code: sortie.CodeInvalidCursor})
	}
	rows = append(rows,
		badRequest{name: "a mission that is none", text: s.unsigned(http.MethodGet, feedPath+"/x").String(), status: http.StatusNotFound, code: sortie.CodeNotFound},
		badRequest{name: "mission id of 500 letters", text: s.unsigned(http.MethodGet, feedPath+"/"+strings.Repeat("a", 500)).String(), status: http.StatusNotFound, code: sortie.CodeNotFound},
		badRequest{name: "a parameter of a mission", text: s.unsigned(http.MethodGet, feedPath+"/x?near=0,0").String(), status: http.StatusBadRequest, code: sortie.CodeInvalidParameter},
	)
	s.refuseAll(t, rows)
}

func TestParseDegrees(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "1": 1_000_000, "52.516275": 52_516_275, "-13.5": -13_500_000, "52.51627599999999": 52_516_275, "90": 90_000_000,
		"-90.000000": -90_000_000, "0.000001": 1, "007": 7_000_000, "90.0000009": 90_000_000,
	} {
		if got, ok := parseDegrees(text, 90); !ok || got != want {
			t.Errorf("%s: %d %t, want %d", text, got, ok, want)
		}
	}
}

func TestTheFeedNearAPoint(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		place := func(key, lat, lng, mediaType string) string {
			return s.publish(key, fmt.Sprintf(`{"title":"Photo of the main entrance","mediaType":%q,"reward":{"token":"USDC","amount":2.5},"targetCount":4,"location":{"lat":%s,"lng":%s}}`, mediaType, lat, lng)).MissionID
		}
		gate, tower := place("gate", "52.516275", "13.377704", "photo"), place("tower", "52.520815", "13.409419", "photo")
		film := place("film", "52.517", "13.378", "video")
		bridge := place("bridge", "48.858", "2.2945", "photo")
		anywhere := s.publish("anywhere", goodMission).MissionID
		walk := func(query string, limit int) (ids []string) {
			cursor := ""
			for range 10 {
				feed := decode[sortie.MissionFeed](t, s.send(testRequest{target: fmt.Sprintf("%s?limit=%d%s%s", feedPath, limit, query, cursor), unsigned: true}))
				for _, mission := range feed.Missions {
					ids = append(ids, mission.MissionID)
					if isNear := strings.Contains(query, "near") && mission.MissionID != anywhere; isNear != (mission.DistanceMeters != nil) {
						t.Errorf("%s: distance %v", query, mission.DistanceMeters)
					}
				}
				if feed.Summary.NextCursor == nil {
					return ids
				}
				cursor = "&cursor=" + *feed.Summary.NextCursor
			}
			t.Fatal("the feed does not end")
			return nil
		}
		for query, want := range map[string][]string{
			"":                                      {anywhere, bridge, film, tower, gate},
			"&mediaType=video":                      {film},
			"&near=52.5163,13.3777":                 {gate, film, tower, anywhere},
			"&near=52.5163,13.3777&mediaType=photo": {gate, tower, anywhere},
			"&near=52.5163,13.3777&mediaType=video": {film},
			"&near=48.8580000001,2.2945000000000000001": {bridge, anywhere},
			"&near=0,0": {anywhere},
		} {
			for _, limit := range []int{100, 1, 2} {
				if got := walk(query, limit); !slices.Equal(got, want) {
					t.Errorf("%q in pages of %d: %v, want %v", query, limit, got, want)
				}
			}
		}
		cursor := decode[sortie.MissionFeed](t, s.send(testRequest{target: feedPath + "?limit=1", unsigned: true})).Summary.NextCursor
		if a := s.send(testRequest{target: feedPath + "?near=52.5,13.4&cursor=" + *cursor, unsigned: true}); a.code() != sortie.CodeInvalidCursor {
			t.Errorf("a cursor of another feed: got %d %s, want invalid_cursor", a.StatusCode, a.body)
		}
	})
}

func TestTheQueueOfSubmissions(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database, curate: true})
		one, two := s.publish("k1", wideMission).MissionID, s.publish("k2", wideMission).MissionID
		var flagged []string
		for i := range 4 {
			flagged = append(flagged, s.submit([]string{one, two}[i%2], fmt.Sprint("photo-", i), s.shoot(i)).SubmissionID)
		}
		pending := s.declare(one, "photo-9", s.shoot(9)).SubmissionID
		list := func(query string) (ids []string) {
			a := s.send(testRequest{target: queuePath + query, signer: reviewer})
			mustBe(t, query, a, http.StatusOK)
			for _, submission := range decode[sortie.ReviewedSubmissionPage](t, a).Submissions {
				ids = append(ids, submission.SubmissionID)
			}
			return ids
		}
		for query, want := range map[string][]string{
			"": flagged, "?status=flagged": flagged, "?missionId=" + one: {flagged[0], flagged[2]}, "?status=pending": {pending},
			"?status=pending&missionId=" + two: nil, "?status=accepted": nil, "?status=rejected": nil, "?limit=2": flagged[:2],
		} {
			if got := list(query); !slices.Equal(got, want) {
				t.Errorf("%q: %v, want %v", query, got, want)
			}
		}
		mustBe(t, "accept", s.judge(reviewer, flagged[0], "accept", ""), http.StatusOK)
		mustBe(t, "accept again", s.judge(reviewer, flagged[0], "accept", ""), http.StatusOK)
		mustBe(t, "reject without a reason", s.judge(reviewer, flagged[1], "reject", `{"reason":" "}`), http.StatusUnprocessableEntity)
		mustBe(t, "reject", s.judge(reviewer, flagged[1], "reject", goodReason), http.StatusOK)
		s.due()
		if a := s.judge(colleague, flagged[0], "reject", goodReason); a.code() != sortie.CodeWrongState {
			t.Errorf("reject what is final: got %d %s, want wrong_state", a.StatusCode, a.body)
		}
		if got := list("?status=curation_accepted"); !slices.Equal(got, flagged[:1]) {
			t.Errorf("accepted: %v", got)
		}
		for name, query := range map[string]string{
			"unknown status": "status=open", "status in capitals": "status=FLAGGED", "two statuses": "status=flagged&status=pending", "status empty": "status=",
			"status with SQL": "status=flagged'--", "status with NUL": "status=flagged%00", "an empty mission": "missionId=",
		} {
			if a := s.send(testRequest{target: queuePath + "?" + query, signer: reviewer}); a.code() != sortie.CodeInvalidParameter {
				t.Errorf("%s: got %d %s, want invalid_parameter", name, a.StatusCode, a.body)
			}
		}
		for _, id := range []string{"x", "draft_0123456789abcdefghjkmnpqrs", neighbour(one)} {
			a := s.roundTrip(s.build(testRequest{target: queuePath + "?missionId=" + id, signer: reviewer}))
			if a.StatusCode >= 500 {
				t.Errorf("mission %s: %d %s", id, a.StatusCode, a.body)
			}
		}
	})
}

// A cursor is valid for the deliverables of its own mission only.
func TestCursorsOfDeliverables(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	one, two := s.publish("k1", wideMission), s.publish("k2", wideMission)
	for i := range 3 {
		s.submit(one.MissionID, fmt.Sprint("one-", i), s.shoot(i))
		s.submit(two.MissionID, fmt.Sprint("two-", i), s.shoot(10+i))
	}
	cursor := *s.deliverables(one.DraftID, "?limit=1").Summary.NextCursor
	if next := s.deliverables(one.MissionID, "?limit=2&cursor="+cursor); len(next.Submissions) != 2 || next.Summary.NextCursor != nil || next.Summary.AcceptedSubmissions != 3 {
		t.Errorf("second page: got %+v, want the last 2 of 3 submissions", next.Summary)
	}
	flipped := []byte(cursor)
	flipped[len(flipped)/2] ^= 1
	for name, target := range map[string]string{
		"cursor of another mission": listPath + "/" + two.DraftID + "/deliverables?cursor=" + cursor,
		"changed cursor":            listPath + "/" + one.DraftID + "/deliverables?cursor=" + url.QueryEscape(string(flipped)),
		"cursor of garbage":         listPath + "/" + one.DraftID + "/deliverables?cursor=zzzz",
		"of deliverables":           submissionsPath + "?cursor=" + cursor,
	} {
		if a := s.send(testRequest{target: target}); a.code() != sortie.CodeInvalidCursor {
			t.Errorf("%s: got %d %s, want invalid_cursor", name, a.StatusCode, a.body)
		}
	}
	if a := s.send(testRequest{target: listPath + "/" + one.DraftID + "/deliverables?cursor=" + cursor, signer: stranger}); a.code() != sortie.CodeNotFound {
		t.Errorf("a stranger with the cursor: got %d %s, want not_found", a.StatusCode, a.body)
	}
	if a := s.send(testRequest{target: listPath + "/" + s.create("k3", goodMission).DraftID + "/deliverables"}); a.code() != sortie.CodeMissionNotPublished {
		t.Errorf("not published: got %d %s, want mission_not_published", a.StatusCode, a.body)
	}
}
