package api

import (
	"encoding/json"
	"net/http"
	"regexp"
	"testing"
)

// What differs from one run to the next, and what stands for it.
var accidents = []struct {
	pattern *regexp.Regexp
	word    string
}{
	{regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(`draft_[0-9a-z]{26}`), "DRAFT"},
	{regexp.MustCompile(`photo-of-the-main-entrance-[0-9a-z]{8}`), "MISSION"},
	{regexp.MustCompile(`evt_[0-9a-z]{26}`), "EVENT"},
	{regexp.MustCompile(`incident_[0-9a-z]{26}`), "INCIDENT"},
	{regexp.MustCompile(`req_[0-9a-f]{24}`), "REQUEST"},
	{regexp.MustCompile(`0x[0-9a-f]{64}`), "HASH"},
	{regexp.MustCompile(`"AQAAAA[0-9A-Za-z_-]{28}"`), `"CURSOR"`},
	{regexp.MustCompile(`"(blockNumber|confirmations)":[1-9][0-9]*`), `"$1":1`},
	{regexp.MustCompile(`chain (31337|84532)`), "chain N"},
}

func withoutAccidents(t *testing.T, answer []byte) string {
	t.Helper()
	var value any // encoded again, so that the order of members is no accident either
	if err := json.Unmarshal(answer, &value); err != nil {
		t.Fatalf("%s: %v", answer, err)
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

// The examples of following and reviewing are what the service answers, to the letter.
func TestFollowingExamplesAreRealAnswers(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	same := func(name string, a answer) {
		t.Helper()
		if shown, said := withoutAccidents(t, exampleJSON(t, name)), withoutAccidents(t, a.body); shown != said {
			t.Errorf("example %s:\nshown %s\nsaid  %s", name, shown, said)
		}
	}
	reason := string(exampleJSON(t, "Reason"))
	s.chain.mine()
	draft := s.create("k1", string(exampleJSON(t, "Mission")))
	target := listPath + "/" + draft.DraftID
	same("DoctorUnfunded", s.send(request{target: target + "/doctor"}))
	s.chain.mine(fundingOf(draft))
	same("FundingCheck", s.send(request{method: http.MethodPost, target: target + "/confirm-funding"}))
	same("Events", s.send(request{target: eventsPath}))
	s.chain.mine()
	same("DoctorWaiting", s.send(request{target: target + "/doctor"}))
	same("Reviews", s.send(request{target: reviewsPath, signer: reviewer}))
	same("Review", s.send(request{target: reviewsPath + "/" + draft.MissionID, signer: reviewer}))
	same("WalletNotAllowed", s.decide(creator, draft.DraftID, "reject", reason))
	same("InvalidReason", s.decide(reviewer, draft.DraftID, "reject", `{"reason":""}`))
	same("Rejected", s.decide(reviewer, draft.DraftID, "reject", reason))
	same("WrongState", s.decide(colleague, draft.DraftID, "approve", ""))
	same("Audit", s.send(request{target: auditPath, signer: reviewer}))
	same("Approved", s.decide(reviewer, s.createInReview("k2").DraftID, "approve", ""))
	same("Cleared", s.send(request{method: http.MethodPost, target: incidentsPath + "/" + s.halt() + "/clear", body: reason, signer: reviewer}))
}
