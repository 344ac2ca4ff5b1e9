package api

import (
	"bytes"
	"encoding/json"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// accidents are values that differ from run to run, with their replacements.
var accidents = []struct {
	pattern *regexp.Regexp
	word    string
}{
	{regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+Z?`), "TIME"},
	{regexp.MustCompile(`draft_[0-9a-z]{26}`), "DRAFT"},
	{regexp.MustCompile(`photo-of-the-main-entrance-[0-9a-z]{8}`), "MISSION"},
	{regexp.MustCompile(`evt_[0-9a-z]{26}`), "EVENT"},
	{regexp.MustCompile(`incident_[0-9a-z]{26}`), "INCIDENT"},
	{regexp.MustCompile(`req_[0-9a-f]{24}`), "REQUEST"},
	{regexp.MustCompile(`sub_[0-9a-z]{26}`), "SUBMISSION"},
	{regexp.MustCompile(`https?://[^/"]+/api/`), "BASE/api/"},
	{regexp.MustCompile(`exp=[0-9]+(&|\\u0026)kid=[0-9A-Za-z_-]+(&|\\u0026)sig=[0-9A-Za-z_-]{43}`), "LINK"},
	{regexp.MustCompile(`0x[0-9a-f]{130}`), "SIGNATURE"},
	{regexp.MustCompile(`0x[0-9a-f]{64}`), "HASH"},
	{regexp.MustCompile(`[0-9a-f]{64}`), "HASH"},
	{regexp.MustCompile(`"AQAAAA[0-9A-Za-z_-]{28}"`), `"CURSOR"`},
	{regexp.MustCompile(`"(blockNumber|confirmations)":[1-9][0-9]*`), `"$1":1`},
	{regexp.MustCompile(`chain (31337|84532)`), "chain N"},
	{regexp.MustCompile(`"chainId":(31337|84532)`), `"chainId":"N"`},
}

func withoutAccidents(t *testing.T, answer []byte) string {
	t.Helper()
	var value any // encoded again, so that the order of members is no accident either
	if err := json.Unmarshal(answer, &value); err != nil {
		t.Fatalf("decode %s: %v", answer, err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	for _, accident := range accidents {
		text = accident.pattern.ReplaceAll(text, []byte(accident.word))
	}
	return string(text)
}

// sameAs compares an answer with an example of openapi.yaml.
func sameAs(t *testing.T, name string, a answer) {
	t.Helper()
	if shown, said := withoutAccidents(t, exampleJSON(t, name)), withoutAccidents(t, a.body); shown != said {
		t.Errorf("example %s:\ndocumented %s\nanswered   %s", name, shown, said)
	}
}

// The examples of reading and reviewing missions in openapi.yaml are real answers.
func TestFollowingExamplesAreRealAnswers(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	same := func(name string, a answer) {
		t.Helper()
		sameAs(t, name, a)
	}
	reason := string(exampleJSON(t, "Reason"))
	s.chain.mine()
	draft := s.create("k1", string(exampleJSON(t, "Mission")))
	target := listPath + "/" + draft.DraftID
	same("DoctorUnfunded", s.send(testRequest{target: target + "/doctor"}))
	s.chain.mine(fundingOf(draft))
	same("FundingCheck", s.send(testRequest{method: http.MethodPost, target: target + "/confirm-funding"}))
	same("Events", s.send(testRequest{target: eventsPath}))
	s.chain.mine()
	same("DoctorWaiting", s.send(testRequest{target: target + "/doctor"}))
	same("Reviews", s.send(testRequest{target: reviewsPath, signer: reviewer}))
	same("Review", s.send(testRequest{target: reviewsPath + "/" + draft.MissionID, signer: reviewer}))
	same("WalletNotAllowed", s.decide(creator, draft.DraftID, "reject", reason))
	same("InvalidReason", s.decide(reviewer, draft.DraftID, "reject", `{"reason":""}`))
	same("Rejected", s.decide(reviewer, draft.DraftID, "reject", reason))
	same("WrongState", s.decide(colleague, draft.DraftID, "approve", ""))
	same("Audit", s.send(testRequest{target: auditPath, signer: reviewer}))
	same("Approved", s.decide(reviewer, s.createInReview("k2").DraftID, "approve", ""))
	same("Cleared", s.send(testRequest{method: http.MethodPost, target: incidentsPath + "/" + s.halt() + "/clear", body: reason, signer: reviewer}))
}

// The examples of submissions in openapi.yaml are real answers, from the feed to the receipt.
func TestSubmissionExamplesAreRealAnswers(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{hold: 10 * time.Minute})
	same := func(name string, a answer) answer {
		t.Helper()
		sameAs(t, name, a)
		return a
	}
	draft := s.create("k1", string(exampleJSON(t, "Mission")))
	same("MissionNotPublished", s.send(testRequest{target: listPath + "/" + draft.DraftID + "/deliverables"}))
	mission := s.publish("k1", string(exampleJSON(t, "Mission"))).MissionID
	same("MissionFeed", s.send(testRequest{target: feedPath, unsigned: true}))
	same("OpenMission", s.send(testRequest{target: feedPath + "/" + mission, unsigned: true}))

	file := s.shoot(1)
	if shown, meant := withoutAccidents(t, exampleJSON(t, "Declaration")), withoutAccidents(t, []byte(file.String())); shown != meant {
		t.Errorf("example Declaration:\ndocumented %s\nwant       %s", shown, meant)
	}
	same("InvalidDeclaration", s.declareBy(contributor, mission, "photo", `{"sizeBytes":0}`))
	declared := decode[sortie.SubmissionDeclared](t, same("Declared", s.declareBy(contributor, mission, "photo", file.String())))
	same("LinkInvalid", s.put(declared.Upload.PutURL[:len(declared.Upload.PutURL)-1]+"*", file.data))
	same("Uploaded", s.put(declared.Upload.PutURL, file.data))
	s.chain.check()
	same("ReviewedSubmission", s.send(testRequest{target: queuePath + "/" + declared.SubmissionID, signer: reviewer}))
	same("Deliverables", s.send(testRequest{target: listPath + "/" + mission + "/deliverables"}))
	s.clock.advance(11 * time.Minute)
	s.due()
	same("Submission", s.send(testRequest{target: submissionsPath + "/" + declared.SubmissionID, signer: contributor}))

	wrong := decode[sortie.SubmissionDeclared](t, s.declareBy(another, mission, "photo", s.shoot(2).String()))
	same("WrongHash", s.put(wrong.Upload.PutURL, bytes.Repeat([]byte{0}, len(s.shoot(2).data))))
	same("Submissions", s.send(testRequest{target: submissionsPath, signer: another}))
	withdrawn := decode[sortie.SubmissionDeclared](t, s.declareBy(another, mission, "photo-2", s.shoot(2).String()))
	same("Withdrawn", s.send(testRequest{method: http.MethodPost, target: submissionsPath + "/" + withdrawn.SubmissionID + "/withdraw", signer: another}))
	full := s.publish("k2", strings.Replace(goodMission, `"targetCount":4`, `"targetCount":1`, 1)).MissionID
	s.declare(full, "last", s.shoot(3))
	same("MissionFull", s.declareBy(another, full, "photo-3", s.shoot(4).String()))
}

// The examples of refused acceptances in openapi.yaml are real answers.
func TestAcceptanceExamplesAreRealAnswers(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{curate: true, perHour: big.NewInt(1_000_000)})
	mission := s.publish("k1", string(exampleJSON(t, "Mission"))).MissionID
	submit := func(signer *sortie.Key, number int) string {
		t.Helper()
		file := s.shoot(number)
		declared := decode[sortie.SubmissionDeclared](t, s.declareBy(signer, mission, "photo", file.String()))
		if a := s.put(declared.Upload.PutURL, file.data); a.StatusCode != http.StatusOK {
			t.Fatalf("upload: got %d %s, want 200", a.StatusCode, a.body)
		}
		s.chain.check()
		return declared.SubmissionID
	}
	accept := func(signer *sortie.Key, id string, status int) answer {
		t.Helper()
		a := s.send(testRequest{method: http.MethodPost, target: queuePath + "/" + id + "/accept", signer: signer})
		if a.StatusCode != status {
			t.Errorf("accept: %d %s, want %d", a.StatusCode, a.body, status)
		}
		return a
	}
	own := submit(reviewer, 1)
	sameAs(t, "OwnSubmission", accept(reviewer, own, http.StatusForbidden))
	others := submit(contributor, 2)
	sameAs(t, "SecondOperatorRequired", accept(reviewer, others, http.StatusConflict))
	seen := decode[sortie.ReviewedSubmissionDetail](t, s.send(testRequest{target: queuePath + "/" + others, signer: colleague})).Submission
	if seen.EndorsedBy == nil || *seen.EndorsedBy != reviewer.Address().String() || seen.Status != sortie.SubmissionFlagged {
		t.Errorf("endorsed by %v, %s; want %s and %s", seen.EndorsedBy, seen.Status, reviewer.Address(), sortie.SubmissionFlagged)
	}
	accept(colleague, others, http.StatusOK)
}
