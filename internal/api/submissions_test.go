package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
	"github.com/sortie-labs/sortie/internal/onchain"
)

const (
	feedPath        = "/api/missions"
	submissionsPath = "/api/submissions"
	queuePath       = "/api/operator/submissions"
	rotatePath      = "/api/operator/link-keys/rotate"
)

var (
	contributor = mustKey("0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba")
	another     = mustKey("0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e") // another contributor
)

// wideMission takes 100 photos of each contributor.
const wideMission = `{"title":"Photo of the main entrance","mediaType":"photo","reward":{"token":"USDC","amount":2.5},"targetCount":100,"maxSubmissionsPerContributor":100}`

// publish creates a mission of the creator and publishes it.
func (s *testService) publish(key, body string) sortie.DraftCreated {
	s.t.Helper()
	draft := s.create(key, body)
	s.chain.mine(fundingOf(draft))
	s.chain.mine()
	s.chain.finalize()
	if a := s.decide(reviewer, draft.DraftID, "approve", ""); a.StatusCode != http.StatusOK {
		s.t.Fatalf("publish: got %d %s, want 200", a.StatusCode, a.body)
	}
	return draft
}

// shot is a file with its declaration.
type shot struct {
	data []byte
	sortie.Declaration
}

// shoot returns a photo that is similar to no other.
func (s *testService) shoot(seed int) shot {
	return s.fileOf(specimen.JPEG(specimen.Picture(320, 240, seed)))
}

func (s *testService) fileOf(data []byte) shot {
	hash := sha256.Sum256(data)
	return shot{data, sortie.Declaration{
		Location:   sortie.Location{Lat: "52.516275", Lng: "13.377704", AccuracyMeters: "8.5"},
		CapturedAt: sortie.FormatTime(s.clock.Now()), ContentType: "image/jpeg", SizeBytes: int64(len(data)), SHA256: hex.EncodeToString(hash[:]),
	}}
}

func (f shot) String() string {
	encoded, _ := json.Marshal(f.Declaration)
	return string(encoded)
}

// declare declares a file of the contributor.
func (s *testService) declare(missionID, key string, file shot) sortie.SubmissionDeclared {
	s.t.Helper()
	a := s.declareBy(contributor, missionID, key, file.String())
	if a.StatusCode != http.StatusCreated {
		s.t.Fatalf("declare: got %d %s, want 201", a.StatusCode, a.body)
	}
	return decode[sortie.SubmissionDeclared](s.t, a)
}

func (s *testService) declareBy(signer sortie.Signer, missionID, key, body string) answer {
	s.t.Helper()
	return s.send(testRequest{method: http.MethodPost, target: feedPath + "/" + missionID + "/submissions", key: key, body: body, signer: signer})
}

// target returns the path and query of a link.
func (s *testService) target(link string) string {
	s.t.Helper()
	target, found := strings.CutPrefix(link, s.URL)
	if !found {
		s.t.Fatalf("link %s does not begin with %s", link, s.URL)
	}
	return target
}

func (s *testService) put(link string, data []byte) answer {
	s.t.Helper()
	return s.send(testRequest{method: http.MethodPut, target: s.target(link), body: string(data), unsigned: true, header: http.Header{"Content-Type": {"image/jpeg"}}})
}

// submit declares a file of the contributor, uploads it and runs its checks.
func (s *testService) submit(missionID, key string, file shot) sortie.Submission {
	s.t.Helper()
	declared := s.declare(missionID, key, file)
	if a := s.put(declared.Upload.PutURL, file.data); a.StatusCode != http.StatusOK {
		s.t.Fatalf("upload: got %d %s, want 200", a.StatusCode, a.body)
	}
	s.chain.check()
	return s.submission(declared.SubmissionID)
}

// submission reads a submission as its contributor.
func (s *testService) submission(id string) sortie.Submission {
	s.t.Helper()
	a := s.send(testRequest{target: submissionsPath + "/" + id, signer: contributor})
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("read submission: got %d %s, want 200", a.StatusCode, a.body)
	}
	return decode[sortie.SubmissionDetail](s.t, a).Submission
}

func (s *testService) deliverables(id, query string) sortie.Deliverables {
	s.t.Helper()
	a := s.send(testRequest{target: listPath + "/" + id + "/deliverables" + query})
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("deliverables: got %d %s, want 200", a.StatusCode, a.body)
	}
	return decode[sortie.Deliverables](s.t, a)
}

// reviewed reads a submission as an operator.
func (s *testService) reviewed(id string) sortie.ReviewedSubmission {
	s.t.Helper()
	a := s.send(testRequest{target: queuePath + "/" + id, signer: reviewer})
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("read submission: got %d %s, want 200", a.StatusCode, a.body)
	}
	return decode[sortie.ReviewedSubmissionDetail](s.t, a).Submission
}

func (s *testService) judge(signer sortie.Signer, id, verb, body string) answer {
	s.t.Helper()
	return s.send(testRequest{method: http.MethodPost, target: queuePath + "/" + id + "/" + verb, body: body, signer: signer})
}

// follow sends a GET to a link.
func (s *testService) follow(link string, header http.Header) answer {
	s.t.Helper()
	return s.send(testRequest{target: s.target(link), unsigned: true, header: header})
}

// due runs everything that is due by time.
func (s *testService) due() {
	s.t.Helper()
	ctx := context.Background()
	if err := errors.Join(s.ledger.DueByTime(ctx), s.ledger.SignReceipts(ctx), s.ledger.Settle(ctx)); err != nil {
		s.t.Fatal(err)
	}
}

// A submission from the feed to its receipt and to the creator's download.
func TestASubmissionFromFeedToReceipt(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		draft := s.publish("k1", goodMission)

		feed := s.send(testRequest{target: feedPath, unsigned: true})
		missions := decode[sortie.MissionFeed](t, feed).Missions
		if len(missions) != 1 || missions[0].MissionID != draft.MissionID || missions[0].SlotsLeft != 4 || !missions[0].Open {
			t.Fatalf("feed: got %s, want the mission with 4 slots left", feed.body)
		}
		if got := feed.Header.Get("Cache-Control"); got != "public, max-age=5" {
			t.Errorf("the feed's Cache-Control is %q", got)
		}

		file := s.shoot(1)
		first := s.declareBy(contributor, draft.MissionID, "photo-1", file.String())
		mustBe(t, "declare", first, http.StatusCreated)
		declared := decode[sortie.SubmissionDeclared](t, first)
		if got := first.Header.Get("Location"); got != submissionsPath+"/"+declared.SubmissionID {
			t.Errorf("Location %s", got)
		}
		replayed := s.declareBy(contributor, draft.MissionID, "photo-1", file.String())
		if replayed.StatusCode != http.StatusOK || replayed.Header.Get("Idempotent-Replayed") != "true" || !bytes.Equal(replayed.body, first.body) {
			t.Errorf("declared again: got %d %s, want 200", replayed.StatusCode, replayed.body)
		}
		mission := decode[sortie.OpenMissionDetail](t, s.send(testRequest{target: feedPath + "/" + draft.MissionID, unsigned: true})).Mission
		if mission.SlotsLeft != 3 {
			t.Errorf("%d slots left of 4 with one reserved", mission.SlotsLeft)
		}

		uploaded := s.put(declared.Upload.PutURL, file.data)
		mustBe(t, "upload", uploaded, http.StatusOK)
		if status := decode[sortie.SubmissionDetail](t, uploaded).Submission.Status; status != sortie.SubmissionPending {
			t.Errorf("uploaded: %s", status)
		}
		s.chain.check()
		s.due()
		own := s.submission(declared.SubmissionID)
		if own.Status != sortie.SubmissionAccepted || own.Payout.Status != sortie.PayoutQueued || own.Receipt == nil || own.VerifiedAt == nil {
			t.Fatalf("own submission: got %+v, want it accepted with a receipt and a queued payout", own)
		}

		page := s.deliverables(draft.DraftID, "")
		if len(page.Submissions) != 1 || page.Summary.AcceptedSubmissions != 1 || page.Submissions[0].SubmissionID != own.SubmissionID {
			t.Fatalf("deliverables: got %+v, want the one submission", page)
		}
		delivered := page.Submissions[0]
		got := s.follow(delivered.MediaURL, nil)
		mustBe(t, "the file", got, http.StatusOK)
		if hash := sha256.Sum256(got.body); delivered.Media.Hash != "sha256:"+hex.EncodeToString(hash[:]) {
			t.Errorf("the link's bytes are not those of %s", delivered.Media.Hash)
		}
		mustBe(t, "the thumbnail", s.follow(*delivered.ThumbnailURL, nil), http.StatusOK)
		if page := decode[sortie.SubmissionPage](t, s.send(testRequest{target: submissionsPath, signer: contributor})); len(page.Submissions) != 1 {
			t.Errorf("own submissions: got %+v, want one", page)
		}
	})
}

// Links begin with the public URL that the request was signed for.
func TestLinksBeginWithThePublicURL(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	draft := s.publish("k1", goodMission)
	s.submit(draft.MissionID, "photo-1", s.shoot(1))
	for _, link := range []string{s.deliverables(draft.DraftID, "").Submissions[0].MediaURL, s.declare(s.publish("k2", goodMission).MissionID, "photo-2", s.shoot(2)).Upload.TusURL} {
		if !strings.HasPrefix(link, s.URL+"/api/") {
			t.Errorf("link: got %s, want it under %s/api/", link, s.URL)
		}
	}
}

func TestDeclarationsThatFindNoSlot(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	one := s.publish("k1", strings.Replace(goodMission, `"targetCount":4`, `"targetCount":1`, 1))
	draft := s.create("k2", goodMission)
	first := s.declare(one.MissionID, "photo-1", s.shoot(1))
	for name, row := range map[string]struct {
		a    answer
		code sortie.Code
	}{
		"full":               {s.declareBy(another, one.MissionID, "photo-1", s.shoot(2).String()), sortie.CodeMissionFull},
		"of one contributor": {s.declareBy(contributor, s.twice(), "photo-3", s.shoot(3).String()), sortie.CodeContributorLimit},
		"another file":       {s.declareBy(contributor, one.MissionID, "photo-1", s.shoot(4).String()), sortie.CodeIdempotencyConflict},
		"not published":      {s.declareBy(contributor, draft.MissionID, "photo-5", s.shoot(5).String()), sortie.CodeNotFound},
		"not a mission":      {s.declareBy(contributor, "x", "photo-6", s.shoot(6).String()), sortie.CodeNotFound},
	} {
		if row.a.code() != row.code || row.a.StatusCode != row.code.HTTPStatus() {
			t.Errorf("%s: %d %s, want %s", name, row.a.StatusCode, row.a.body, row.code)
		}
	}
	s.clock.advance(31 * 24 * 3600 * 1e9)
	if a := s.declareBy(another, one.MissionID, "photo-7", s.shoot(7).String()); a.code() != sortie.CodeMissionClosed {
		t.Errorf("over: got %d %s, want mission_closed", a.StatusCode, a.body)
	}
	if a := s.put(first.Upload.PutURL, s.shoot(1).data); a.code() != sortie.CodeMediaURLExpired {
		t.Errorf("upload after the reservation: got %d %s, want media_url_expired", a.StatusCode, a.body)
	}
}

// twice returns a mission of four slots with a submission of the contributor.
func (s *testService) twice() string {
	s.t.Helper()
	draft := s.publish("twice", goodMission)
	s.declare(draft.MissionID, "twice", s.shoot(100))
	return draft.MissionID
}

func TestBadDeclarations(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	missionID := s.publish("k1", goodMission).MissionID
	good := s.shoot(1).String()
	with := func(old, replacement string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%s is not in %s", old, good)
		}
		return strings.Replace(good, old, replacement, 1)
	}
	size := fmt.Sprintf(`"sizeBytes":%d`, len(s.shoot(1).data))
	for name, row := range map[string]struct {
		body string
		code sortie.Code
	}{
		"size 0":                 {with(size, `"sizeBytes":0`), sortie.CodeValidationFailed},
		"size above the limit":   {with(size, `"sizeBytes":536870913`), sortie.CodePayloadTooLarge},
		"a negative size":        {with(size, `"sizeBytes":-1`), sortie.CodeValidationFailed},
		"a size of 2^64":         {with(size, `"sizeBytes":18446744073709551616`), ""},
		"a fraction of a byte":   {with(size, `"sizeBytes":1.5`), sortie.CodeValidationFailed},
		"content type SVG":       {with("image/jpeg", "image/svg+xml"), sortie.CodeUnsupportedMediaType},
		"content type HTML":      {with("image/jpeg", "text/html"), sortie.CodeUnsupportedMediaType},
		"content type HEIC":      {with("image/jpeg", "image/heic"), sortie.CodeUnsupportedMediaType},
		"a video":                {with("image/jpeg", "video/mp4"), sortie.CodeValidationFailed},
		"not a hash":             {with(`"sha256":"`, `"sha256":"x`), sortie.CodeValidationFailed},
		"beyond the pole":        {with("52.516275", "90.000001"), sortie.CodeValidationFailed},
		"no accuracy":            {with("8.5", "0"), sortie.CodeValidationFailed},
		"a time without a zone":  {with(`Z"`, `"`), sortie.CodeValidationFailed},
		"an unknown member":      {with("{", `{"note":"x",`), sortie.CodeValidationFailed},
		"a member twice":         {with("{", `{"sizeBytes":1,`), sortie.CodeInvalidJSON},
		"not an object":          {"[]", sortie.CodeInvalidJSON},
		"empty body":             {"", sortie.CodeInvalidJSON},
		"number 1e400":           {with("52.516275", "1e400"), ""},
		"a body of 17 KiB":       {with("{", "{"+strings.Repeat(" ", 17<<10)), sortie.CodePayloadTooLarge},
		"without a type":         {with(`"contentType":"image/jpeg",`, ""), sortie.CodeValidationFailed},
		"a location that is not": {with(`{"lat"`, `{"lat":null,"latitude"`), ""},
	} {
		a := s.declareBy(contributor, missionID, "k", row.body)
		if a.StatusCode < 400 || a.StatusCode >= 500 || row.code != "" && a.code() != row.code {
			t.Errorf("%s: %d %s, want %s", name, a.StatusCode, a.body, row.code)
		}
		checkError(t, a)
	}
	for name, key := range map[string]string{"no idempotency key": "", "idempotency key of 256 characters": strings.Repeat("k", 256)} {
		if a := s.declareBy(contributor, missionID, key, good); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: got %d %s, want 400", name, a.StatusCode, a.body)
		}
	}
	if page := decode[sortie.SubmissionPage](t, s.send(testRequest{target: submissionsPath, signer: contributor})); len(page.Submissions) != 0 {
		t.Errorf("submissions: got %+v, want none", page)
	}
}

// Two contributors can use the same idempotency key.
func TestDeclarationsOfTwoUnderOneKey(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		missionID := s.publish("k1", goodMission).MissionID
		one, other := s.declareBy(contributor, missionID, "k", s.shoot(1).String()), s.declareBy(another, missionID, "k", s.shoot(2).String())
		mustBe(t, "one", one, http.StatusCreated)
		mustBe(t, "the other", other, http.StatusCreated)
		id := decode[sortie.SubmissionDeclared](t, one).SubmissionID
		for name, r := range map[string]testRequest{
			"read":     {target: submissionsPath + "/" + id, signer: another},
			"withdraw": {method: http.MethodPost, target: submissionsPath + "/" + id + "/withdraw", signer: another},
		} {
			if a := s.send(r); a.code() != sortie.CodeNotFound {
				t.Errorf("%s of another contributor: got %d %s, want not_found", name, a.StatusCode, a.body)
			}
		}
	})
}

// publishedBy returns the id of a published mission of another creator.
func (s *testService) publishedBy(signer sortie.Signer) string {
	s.t.Helper()
	draft := decode[sortie.DraftCreated](s.t, s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "theirs", body: goodMission, signer: signer}))
	s.chain.mine(fundingOf(draft))
	s.chain.mine()
	s.chain.finalize()
	mustSucceed(s.t, s.decide(reviewer, draft.DraftID, "approve", ""))
	return draft.DraftID
}

func mustSucceed(t testing.TB, a answer) {
	t.Helper()
	if a.StatusCode != http.StatusOK {
		t.Fatalf("got %d %s, want 200", a.StatusCode, a.body)
	}
}

// The events of a payment and of the completion of a mission have the documented form. The
// completion has the sums, and is not reported before the closing is final.
func TestTheEventOfACompleteMission(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	draft := s.publish("k1", strings.ReplaceAll(wideMission, ":100", ":3"))
	paid, deferred := s.submit(draft.MissionID, "photo-1", s.shoot(1)), s.submit(draft.MissionID, "photo-2", s.shoot(2))
	s.due()
	key, reward := sortie.MissionKey(draft.MissionID), draft.FundingQuote.RewardPerSubmissionBaseUnits
	amount, _ := new(big.Int).SetString(reward, 10)
	payment := func(slot uint64, id string, kind onchain.EventKind) onchain.Event {
		return onchain.Event{
			Transaction: sortie.Hash{1, byte(slot)}, Factory: testDomain.Factory, Kind: kind, MissionKey: key,
			Payment: &onchain.Payment{SubmissionKey: sortie.SubmissionKey(id), Recipient: contributor.Address(), Slot: slot, Amount: amount},
		}
	}
	closing := onchain.Event{
		Transaction: sortie.Hash{2}, Factory: testDomain.Factory, Kind: onchain.EventMissionClosed, MissionKey: key,
		Closed: &onchain.MissionClosed{Refund: amount, Reason: 2},
	}
	s.chain.mine(payment(0, paid.SubmissionID, onchain.EventSubmissionPaid), payment(1, deferred.SubmissionID, onchain.EventPayoutDeferred))
	s.chain.mine(closing)
	last := func() sortie.Event {
		t.Helper()
		s.due()
		events := decode[sortie.EventPage](t, s.send(testRequest{target: eventsPath})).Events
		return events[len(events)-1]
	}
	if got := last(); got.Type != sortie.EventPayoutSent {
		t.Errorf("before the blocks are final the last event is %s %s, want %s", got.Type, got.Data, sortie.EventPayoutSent)
	}
	s.chain.finalize()
	if got := last(); got.Type != sortie.EventPayoutDeferred {
		t.Errorf("when the payments are final the last event is %s %s, want %s", got.Type, got.Data, sortie.EventPayoutDeferred)
	}
	want := fmt.Sprintf(`{"draftId":%q,"missionId":%q,"acceptedSubmissions":2,"paidSubmissions":1,"deferredSubmissions":1,"unpaidSubmissions":0,`+
		`"token":"USDC","fundedBaseUnits":"%d","paidBaseUnits":"%s","deferredBaseUnits":"%s","refundBaseUnits":"%s","refundDeferred":false,`+
		`"transactionHash":"%s","blockNumber":%d}`, draft.DraftID, draft.MissionID, 3*amount.Int64(), reward, reward, reward, closing.Transaction, s.chain.position.Tip.Number)
	if got := last(); got.Type != sortie.EventMissionCompleted || string(got.Data) != want {
		t.Errorf("the last event is %s %s, want %s %s", got.Type, got.Data, sortie.EventMissionCompleted, want)
	}
	if got := s.submission(paid.SubmissionID).Payout; got.Status != sortie.PayoutPaid || got.Reason != "" {
		t.Errorf("the payout is %+v, want it paid and nothing to do", got)
	}
	if got := s.submission(deferred.SubmissionID).Payout; got.Status != sortie.PayoutDeferred || !strings.Contains(got.Reason, "sortie claim") {
		t.Errorf("the payout is %+v, want it deferred and what to do", got)
	}
}

// Operators can filter by the draft id and by the mission id.
func TestTheQueueOfAMission(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{curate: true})
	draft := s.publish("k1", wideMission)
	s.submit(draft.MissionID, "photo-1", s.shoot(1))
	for _, id := range []string{draft.MissionID, draft.DraftID} {
		a := s.send(testRequest{target: queuePath + "?missionId=" + id, signer: reviewer})
		if a.StatusCode != http.StatusOK || len(decode[sortie.ReviewedSubmissionPage](t, a).Submissions) != 1 {
			t.Errorf("queue of mission %s: got %d %s, want 200 and one submission", id, a.StatusCode, a.body)
		}
	}
	mustBe(t, "another", s.send(testRequest{target: queuePath + "?missionId=" + neighbour(draft.DraftID), signer: reviewer}), http.StatusNotFound)
}
