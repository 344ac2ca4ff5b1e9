package api

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// delivered returns a service with one accepted submission.
func delivered(t *testing.T, options serviceOptions) (*testService, sortie.DraftCreated, sortie.Deliverable) {
	t.Helper()
	s := newService(t, options)
	draft := s.publish("k1", wideMission)
	s.submit(draft.MissionID, "photo-1", s.shoot(1))
	page := s.deliverables(draft.DraftID, "")
	if len(page.Submissions) != 1 {
		t.Fatalf("deliverables: got %+v, want one submission", page)
	}
	return s, draft, page.Submissions[0]
}

func TestMediaAnswers(t *testing.T) {
	t.Parallel()
	s, _, deliverable := delivered(t, serviceOptions{})
	whole := s.follow(deliverable.MediaURL, nil)
	hash := strings.TrimPrefix(deliverable.Media.Hash, "sha256:")
	for name, want := range map[string]string{
		"Content-Type": deliverable.Media.ContentType, "ETag": `"` + hash + `"`, "Accept-Ranges": "bytes", "Cache-Control": "private, max-age=299",
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'", "Content-Encoding": "",
		"Content-Disposition": `inline; filename="` + deliverable.SubmissionID + `.jpg"`, "Content-Length": fmt.Sprint(len(whole.body)),
	} {
		// Links expire at whole seconds, so up to one of the 300 seconds may be gone.
		if got := whole.Header.Get(name); got != want && !(name == "Cache-Control" && got == "private, max-age=300") {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	small := s.follow(*deliverable.ThumbnailURL, nil)
	if got := small.Header.Get("Content-Disposition"); got != `inline; filename="`+deliverable.SubmissionID+`-thumbnail.jpg"` {
		t.Errorf("the thumbnail's name: %s", got)
	}
	size := len(whole.body)
	tag := whole.Header.Get("ETag")
	for name, row := range map[string]struct {
		header       http.Header
		status       int
		body         []byte
		contentRange string
	}{
		"a range":        {http.Header{"Range": {"bytes=10-19"}}, 206, whole.body[10:20], fmt.Sprintf("bytes 10-19/%d", size)},
		"the end":        {http.Header{"Range": {"bytes=-7"}}, 206, whole.body[size-7:], fmt.Sprintf("bytes %d-%d/%d", size-7, size-1, size)},
		"resumed":        {http.Header{"Range": {"bytes=100-"}, "If-Range": {tag}}, 206, whole.body[100:], fmt.Sprintf("bytes 100-%d/%d", size-1, size)},
		"another file":   {http.Header{"Range": {"bytes=100-"}, "If-Range": {`"other"`}}, 200, whole.body, ""},
		"several ranges": {http.Header{"Range": {"bytes=0-1,5-6"}}, 200, whole.body, ""},
		"after the end":  {http.Header{"Range": {fmt.Sprintf("bytes=%d-", size)}}, 416, nil, fmt.Sprintf("bytes */%d", size)},
		"known":          {http.Header{"If-None-Match": {tag}}, 304, []byte{}, ""},
		"unwanted":       {http.Header{"If-Match": {`"other"`}}, 412, []byte{}, ""},
		"gzip":           {http.Header{"Accept-Encoding": {"gzip"}}, 200, whole.body, ""},
	} {
		a := s.follow(deliverable.MediaURL, row.header)
		if a.StatusCode != row.status || a.Header.Get("Content-Range") != row.contentRange || row.body != nil && !bytes.Equal(a.body, row.body) {
			t.Errorf("%s: %d, %q, %d bytes", name, a.StatusCode, a.Header.Get("Content-Range"), len(a.body))
		}
		if a.StatusCode == http.StatusRequestedRangeNotSatisfiable {
			checkError(t, a)
		} else if a.Header.Get("ETag") != tag {
			t.Errorf("%s: ETag %s", name, a.Header.Get("ETag"))
		}
	}
	head := s.send(testRequest{method: http.MethodHead, target: s.target(deliverable.MediaURL), unsigned: true})
	if head.StatusCode != http.StatusOK || head.ContentLength != int64(size) || len(head.body) != 0 || head.Header.Get("ETag") != tag {
		t.Errorf("HEAD: got %d %v, want 200", head.StatusCode, head.Header)
	}
}

// A creator's link is valid only while the submission is accepted, an operator's link while it can
// be reviewed.
func TestLiveLinksDieAtOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s, draft, accepted := delivered(t, serviceOptions{database: database, hold: time.Hour})
		seen := s.reviewed(accepted.SubmissionID)
		mustBe(t, "the operator's link", s.follow(*seen.MediaURL, nil), http.StatusOK)
		mustBe(t, "flag", s.judge(reviewer, accepted.SubmissionID, "flag", goodReason), http.StatusOK)
		for _, link := range []string{accepted.MediaURL, *accepted.ThumbnailURL} {
			for _, header := range []http.Header{nil, {"Range": {"bytes=0-0"}}, {"If-None-Match": {"*"}}} {
				if a := s.follow(link, header); a.StatusCode != http.StatusNotFound || a.code() != sortie.CodeNotFound {
					t.Errorf("flagged: got %d %s, want 404 not_found", a.StatusCode, a.body)
				}
			}
		}
		if page := s.deliverables(draft.DraftID, ""); len(page.Submissions) != 0 || page.Summary.AcceptedSubmissions != 0 {
			t.Errorf("deliverables after the rejection: got %+v, want none", page)
		}
		mustBe(t, "the operator's link of a flagged one", s.follow(*seen.MediaURL, nil), http.StatusOK)
		mustBe(t, "accept", s.judge(reviewer, accepted.SubmissionID, "accept", ""), http.StatusOK)
		mustBe(t, "accepted again", s.follow(accepted.MediaURL, nil), http.StatusOK)
		mustBe(t, "reject", s.judge(reviewer, accepted.SubmissionID, "reject", goodReason), http.StatusOK)
		mustBe(t, "rejected", s.follow(accepted.MediaURL, nil), http.StatusNotFound)
		mustBe(t, "the operator's link of a rejected one", s.follow(*seen.MediaURL, nil), http.StatusNotFound)
	})
}

func TestLinksOfWithdrawnSubmissions(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{curate: true})
	draft := s.publish("k1", goodMission)
	own := s.submit(draft.MissionID, "photo-1", s.shoot(1))
	if own.Status != sortie.SubmissionFlagged {
		t.Fatalf("own submission: got %+v, want it flagged", own)
	}
	link := *s.reviewed(own.SubmissionID).MediaURL
	mustBe(t, "flagged", s.follow(link, nil), http.StatusOK)
	withdraw := testRequest{method: http.MethodPost, target: submissionsPath + "/" + own.SubmissionID + "/withdraw", signer: contributor}
	mustBe(t, "withdraw", s.send(withdraw), http.StatusOK)
	mustBe(t, "withdraw again", s.send(withdraw), http.StatusOK)
	mustBe(t, "withdrawn", s.follow(link, nil), http.StatusNotFound)
}

func TestLinksOfOtherUsesAndTimes(t *testing.T) {
	t.Parallel()
	s, draft, deliverable := delivered(t, serviceOptions{})
	other := s.submit(draft.MissionID, "photo-2", s.shoot(2))
	review := *s.reviewed(deliverable.SubmissionID).MediaURL
	declared := s.declare(s.publish("k2", goodMission).MissionID, "photo-3", s.shoot(3))
	query := func(link string) string { _, query, _ := strings.Cut(link, "?"); return query }
	media := "/api/external/media/" + deliverable.SubmissionID
	for name, target := range map[string]string{
		"an original's for the thumbnail":  media + "/thumbnail?" + query(deliverable.MediaURL),
		"a thumbnail's for the original":   media + "/original?" + query(*deliverable.ThumbnailURL),
		"an operator's for the creator":    media + "/original?" + query(review),
		"a creator's for the operator":     "/api/operator/media/" + deliverable.SubmissionID + "/original?" + query(deliverable.MediaURL),
		"another submission's":             "/api/external/media/" + other.SubmissionID + "/original?" + query(deliverable.MediaURL),
		"an upload's for its media":        "/api/external/media/" + declared.SubmissionID + "/original?" + query(declared.Upload.PutURL),
		"an upload's for the operator":     "/api/operator/media/" + declared.SubmissionID + "/original?" + query(declared.Upload.TusURL),
		"no query":                         media + "/original",
		"two links":                        media + "/original?" + query(deliverable.MediaURL) + "&" + query(deliverable.MediaURL),
		"a parameter more":                 media + "/original?" + query(deliverable.MediaURL) + "&download=1",
		"a parameter more, before":         media + "/original?download=1&" + query(deliverable.MediaURL),
		"another order":                    media + "/original?" + strings.Join(strings.Split(query(deliverable.MediaURL), "&kid"), "&kid%20"),
		"a line end in the time":           media + "/original?" + strings.Replace(query(deliverable.MediaURL), "&kid", "%0a&kid", 1),
		"an id that is none":               "/api/external/media/x/original?" + query(deliverable.MediaURL),
		"an id of 500 letters":             "/api/external/media/" + strings.Repeat("a", 500) + "/original?" + query(deliverable.MediaURL),
		"a query of 8 KB":                  media + "/original?" + query(deliverable.MediaURL) + strings.Repeat("a", 8<<10),
		"the link in a fragment of itself": media + "/original?" + query(deliverable.MediaURL) + "%23",
	} {
		a := s.roundTrip(s.build(testRequest{target: target, unsigned: true}))
		if a.StatusCode != http.StatusForbidden || a.code() != sortie.CodeMediaURLInvalid {
			t.Errorf("%s: got %d %s, want 403 media_url_invalid", name, a.StatusCode, a.body)
		}
		checkError(t, a)
	}
	for name, target := range map[string]string{
		"another variant": media + "/full?" + query(deliverable.MediaURL), "in capitals": media + "/ORIGINAL?" + query(deliverable.MediaURL),
		"a trailing slash": media + "/original/?" + query(deliverable.MediaURL), "an escaped path": media + "/origin%61l?" + query(deliverable.MediaURL),
	} {
		if a := s.roundTrip(s.build(testRequest{target: target, unsigned: true})); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got %d %s, want 404", name, a.StatusCode, a.body)
		}
	}
	s.clock.advance(5*time.Minute + time.Second)
	if a := s.follow(deliverable.MediaURL, nil); a.StatusCode != http.StatusGone || a.code() != sortie.CodeMediaURLExpired {
		t.Errorf("expired: got %d %s, want 410 media_url_expired", a.StatusCode, a.body)
	}
}

func TestRotatedKeysEndAllLinks(t *testing.T) {
	t.Parallel()
	s, draft, deliverable := delivered(t, serviceOptions{})
	file := s.shoot(2)
	declared := decode[sortie.SubmissionDeclared](t, s.declareBy(another, draft.MissionID, "k", file.String()))
	mustBe(t, "without a reason", s.send(testRequest{method: http.MethodPost, target: rotatePath, body: "{}", signer: reviewer}), http.StatusUnprocessableEntity)
	mustBe(t, "not yet", s.follow(deliverable.MediaURL, nil), http.StatusOK)
	mustBe(t, "rotate", s.send(testRequest{method: http.MethodPost, target: rotatePath, body: goodReason, signer: reviewer}), http.StatusOK)
	mustBe(t, "the old link", s.follow(deliverable.MediaURL, nil), http.StatusForbidden)
	mustBe(t, "the old upload", s.put(declared.Upload.PutURL, file.data), http.StatusForbidden)
	mustBe(t, "a new link", s.follow(s.deliverables(draft.DraftID, "").Submissions[0].MediaURL, nil), http.StatusOK)
	again := decode[sortie.SubmissionDeclared](t, s.declareBy(another, draft.MissionID, "k", file.String()))
	mustBe(t, "a new upload", s.put(again.Upload.PutURL, file.data), http.StatusOK)
}

// Of a million altered links none is accepted. All are checked by the use case, and some of each
// kind over HTTP.
func TestAMillionMutationsOfALink(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: checks a million altered links")
	}
	s, _, deliverable := delivered(t, serviceOptions{})
	target := s.target(deliverable.MediaURL)
	const mutations, throughTheDoor = 1_000_000, 2_000
	random := rand.New(rand.NewPCG(1, 2))
	ctx := context.Background()
	valid := splitLink(target)
	if media, err := s.app.OpenMedia(ctx, valid.id, valid.variant, valid.query); err != nil {
		t.Fatalf("the link itself: %v", err)
	} else {
		_ = media.Close()
	}
	for i := range mutations {
		changed := mutate(random, valid)
		if changed == valid {
			continue
		}
		media, err := s.app.OpenMedia(ctx, changed.id, changed.variant, changed.query)
		if err == nil {
			_ = media.Close()
			t.Fatalf("link %+v: got the file, want a refusal", changed)
		}
		if i%(mutations/throughTheDoor) != 0 || strings.ContainsFunc(changed.id+changed.variant+changed.query, notInTargets) {
			continue
		}
		a := s.roundTrip(s.build(testRequest{target: "/api/external/media/" + changed.id + "/" + changed.variant + "?" + changed.query, unsigned: true}))
		if a.StatusCode != http.StatusForbidden && a.StatusCode != http.StatusNotFound && a.StatusCode != http.StatusMethodNotAllowed && a.StatusCode != http.StatusGone {
			t.Fatalf("link %+v: got %d %s, want 403, 404, 405 or 410", changed, a.StatusCode, a.body)
		}
	}
	mustBe(t, "the link itself", s.follow(deliverable.MediaURL, nil), http.StatusOK)
}

// notInTargets reports characters that HTTP clients escape.
func notInTargets(c rune) bool {
	return c <= ' ' || c > '~' || strings.ContainsRune("#%\"<>^`{}|\\", c)
}

// mediaLink holds the parts of a link.
type mediaLink struct{ id, variant, query string }

func splitLink(target string) mediaLink {
	path, query, _ := strings.Cut(target, "?")
	steps := strings.Split(path, "/")
	return mediaLink{steps[len(steps)-2], steps[len(steps)-1], query}
}

// mutate changes a link in one to three positions: bits, characters, their number and order, whole
// parts.
func mutate(random *rand.Rand, link mediaLink) mediaLink {
	for range 1 + random.IntN(3) {
		switch random.IntN(10) {
		case 0:
			link.id = mutateText(random, link.id)
		case 1:
			link.variant = []string{"thumbnail", "original", "Original", "", "review-original", "upload-put"}[random.IntN(6)]
		case 2: // parts in another order, twice, or not at all
			parts := strings.Split(link.query, "&")
			random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			link.query = strings.Join(parts[random.IntN(2):], "&")
		case 3:
			link.query += "&" + link.query
		case 4: // a later time
			exp, rest, _ := strings.Cut(strings.TrimPrefix(link.query, "exp="), "&")
			link.query = fmt.Sprintf("exp=%s%d&%s", exp[:max(0, len(exp)-3)], random.IntN(1000), rest)
		default:
			link.query = mutateText(random, link.query)
		}
	}
	return link
}

func mutateText(random *rand.Rand, text string) string {
	if text == "" {
		return "x"
	}
	at := random.IntN(len(text))
	switch random.IntN(5) {
	case 0: // a bit
		changed := []byte(text)
		changed[at] ^= 1 << random.IntN(8)
		return string(changed)
	case 1: // another character of those that links are made of
		const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=&"
		return text[:at] + string(alphabet[random.IntN(len(alphabet))]) + text[at+1:]
	case 2:
		return text[:at] + text[at+1:]
	case 3:
		return text[:at] + text[at:at+1] + text[at:]
	default: // two neighbours change places
		at = min(at, len(text)-2)
		if at < 0 {
			return text + "x"
		}
		return text[:at] + text[at+1:at+2] + text[at:at+1] + text[at+2:]
	}
}

// An address that guesses links is limited like one that guesses signatures. Its valid links still
// work.
func TestForgedLinksAreLimited(t *testing.T) {
	t.Parallel()
	s, _, deliverable := delivered(t, serviceOptions{limits: &Limits{AddressFailures: 3, AddressRequests: 1000}})
	forged := testRequest{target: s.target(deliverable.MediaURL) + "x", unsigned: true}
	for range 3 {
		mustBe(t, "forged", s.roundTrip(s.build(forged)), http.StatusForbidden)
	}
	limited(t, s.roundTrip(s.build(forged)), "failed-authentication", 3, 20)
	if a := s.follow(deliverable.MediaURL, nil); a.StatusCode != http.StatusOK {
		t.Errorf("a valid link: got %d, want 200", a.StatusCode)
	}
}

// Requests with a valid link do not count against the address: a page has many images.
func TestGoodLinksAreNotLimited(t *testing.T) {
	t.Parallel()
	s, _, deliverable := delivered(t, serviceOptions{limits: &Limits{AddressRequests: 20}})
	for range 50 {
		mustBe(t, "a picture", s.follow(*deliverable.ThumbnailURL, nil), http.StatusOK)
	}
	for range 20 { // the feed does count
		s.send(testRequest{target: feedPath, unsigned: true})
	}
	limited(t, s.send(testRequest{target: feedPath, unsigned: true}), "address", 20, 3)
}

// A file that is missing or truncated on disk is never sent as complete.
func TestFilesThatAreLostOrCut(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"lost":  os.Remove,
		"cut":   func(path string) error { return os.Truncate(path, 100) },
		"empty": func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := t.TempDir()
			s, _, deliverable := delivered(t, serviceOptions{files: files})
			digits := strings.TrimPrefix(deliverable.Media.Hash, "sha256:")
			if err := spoil(filepath.Join(files, "media", "sha256", digits[:2], digits)); err != nil {
				t.Fatal(err)
			}
			a := s.follow(deliverable.MediaURL, nil)
			if a.StatusCode != http.StatusNotFound {
				t.Errorf("%d, %d bytes", a.StatusCode, len(a.body))
			}
			checkError(t, a)
			mustBe(t, "the thumbnail", s.follow(*deliverable.ThumbnailURL, nil), http.StatusOK)
		})
	}
}

func TestEntityTags(t *testing.T) {
	t.Parallel()
	var hash sortie.Hash
	for i := range hash {
		hash[i] = byte(i)
	}
	if got := entityTag(hash); got != `"`+hex.EncodeToString(hash[:])+`"` {
		t.Error(got)
	}
}
