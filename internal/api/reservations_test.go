package api

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

// freshKey returns a key that is different for each number.
func freshKey(t testing.TB, number int) *sortie.Key {
	t.Helper()
	var secret [32]byte
	secret[0] = 0x11
	binary.BigEndian.PutUint32(secret[28:], uint32(number))
	return mustKey(fmt.Sprintf("0x%x", secret))
}

// declareFrom declares a file of a wallet from an address.
func (s *testService) declareFrom(address string, signer sortie.Signer, missionID string) answer {
	s.t.Helper()
	return s.send(testRequest{method: http.MethodPost, target: feedPath + "/" + missionID + "/submissions", key: "one", body: s.shoot(1).String(), signer: signer,
		header: http.Header{"X-Forwarded-For": {address}}})
}

// One address with 50 new wallets can neither reserve the whole mission nor hide it from the feed.
func TestFreeReservationsAreBounded(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database, config: behindProxy(0), reservations: app.DefaultReservationLimits()})
		missionID := s.publish("k1", `{"title":"Photo of the main entrance","reward":{"token":"USDC","amount":2.5},"targetCount":50}`).MissionID
		statuses := make(map[int]int)
		var refused answer
		for i := range 50 {
			a := s.declareFrom("203.0.113.1", freshKey(t, i), missionID)
			if statuses[a.StatusCode]++; a.StatusCode != http.StatusCreated {
				refused = a
			}
		}
		if statuses[http.StatusCreated] != 16 || statuses[http.StatusTooManyRequests] != 34 || refused.code() != sortie.CodeRateLimited || refused.Header.Get("Retry-After") == "" {
			t.Errorf("50 wallets of one address: got %v and %s, want 16 times 201 and 34 times 429 with Retry-After", statuses, refused.body)
		}
		clear(statuses)
		for i := range 20 {
			a := s.declareFrom(fmt.Sprintf("203.0.113.%d", 10+i), freshKey(t, 100+i), missionID)
			if statuses[a.StatusCode]++; a.StatusCode != http.StatusCreated {
				refused = a
			}
		}
		seconds := fmt.Sprint((12 * time.Minute).Seconds()) // ten for the file and two to store it
		if statuses[http.StatusCreated] != 9 || statuses[http.StatusConflict] != 11 || refused.code() != sortie.CodeMissionFull ||
			refused.Header.Get("Retry-After") != seconds || refused.details()["nextSlotAt"] == nil {
			t.Errorf("20 wallets of 20 addresses: got %v and %v %s, want 9 times 201 and 11 times 409 with Retry-After: %s", statuses, refused.Header, refused.body, seconds)
		}
		feed := decode[sortie.MissionFeed](t, s.send(testRequest{target: feedPath, unsigned: true}))
		if len(feed.Missions) != 1 || feed.Missions[0].SlotsLeft != 25 || feed.Missions[0].SlotsReserved != 25 {
			t.Errorf("the feed has %+v, want the mission with 25 slots left and 25 reserved", feed.Missions)
		}
		s.clock.advance(12 * time.Minute)
		s.due()
		honest := s.declareFrom("198.51.100.7", contributor, missionID)
		mustBe(t, "an honest newcomer after twelve minutes", honest, http.StatusCreated)
		file := s.shoot(1)
		declared := decode[sortie.SubmissionDeclared](t, honest)
		mustBe(t, "its upload", s.put(declared.Upload.PutURL, file.data), http.StatusOK)
	})
}

// The end of a reservation is the same in the declaration, the submission and the tus headers.
func TestTheEndOfAReservationIsReported(t *testing.T) {
	t.Parallel()
	s, file, declared := awaiting(t, serviceOptions{})
	check := func(when string, want time.Time) {
		t.Helper()
		own := s.submission(declared.SubmissionID).SlotReservedUntil
		if own == nil || *own != sortie.FormatTime(want) {
			t.Errorf("%s: the submission says %v, want %s", when, own, sortie.FormatTime(want))
		}
		if got := s.tusRequest(http.MethodHead, declared, nil, "").Header.Get("Upload-Expires"); got != want.UTC().Format(http.TimeFormat) {
			t.Errorf("%s: Upload-Expires is %q, want %q", when, got, want.UTC().Format(http.TimeFormat))
		}
		again := s.declare200("photo-1", file)
		if again.SlotReservedUntil != sortie.FormatTime(want) || again.Upload == nil || again.Upload.ExpiresAt != sortie.FormatTime(want) {
			t.Errorf("%s: the declaration again says %+v, want %s", when, again, sortie.FormatTime(want))
		}
	}
	began := s.clock.Now().Truncate(time.Second)
	check("declared", began.Add(app.ReservationTime))
	s.clock.advance(9 * time.Minute)
	sent := 1000
	mustBe(t, "a part", s.tusRequest(http.MethodPatch, declared, at(0), string(file.data[:sent])), http.StatusNoContent)
	check("after nine minutes", began.Add(9*time.Minute+app.ReservationTime))
	s.clock.advance(9 * time.Minute) // more than the first links were said to be good for
	mustBe(t, "the rest", s.tusRequest(http.MethodPatch, declared, http.Header{"Upload-Offset": {strconv.Itoa(sent)}}, string(file.data[sent:])), http.StatusNoContent)
	if own := s.submission(declared.SubmissionID).SlotReservedUntil; own != nil {
		t.Errorf("an uploaded submission has slotReservedUntil %s, want null", *own)
	}
}

// declare200 sends a declaration of the contributor again.
func (s *testService) declare200(key string, file shot) sortie.SubmissionDeclared {
	s.t.Helper()
	feed := decode[sortie.MissionFeed](s.t, s.send(testRequest{target: feedPath, unsigned: true}))
	a := s.declareBy(contributor, feed.Missions[0].MissionID, key, file.String())
	mustBe(s.t.(*testing.T), "the declaration again", a, http.StatusOK)
	return decode[sortie.SubmissionDeclared](s.t, a)
}
