package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// declareFrom declares a file from a network.
func (s *testMedia) declareFrom(network netip.Prefix, wallet sortie.Address, draft store.Draft, key string, file []byte) (sortie.SubmissionDeclared, error) {
	answer, _, err := s.app.Declare(context.Background(), testBase, wallet, network, draft.MissionID, key, declaration(file, s.clock()))
	return answer, err
}

// address is one of many networks.
func address(number int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(number >> 8), byte(number)}), 32)
}

func boundReservations(config *Config) { config.Reservations = DefaultReservationLimits() }

// reservedUntil is the end of a reservation as its contributor sees it.
func (s *testMedia) reservedUntil(id string) time.Time {
	s.t.Helper()
	shown := s.submission(id).SlotReservedUntil
	if shown == nil {
		s.t.Fatalf("submission %s has no slotReservedUntil, want one", id)
		return time.Time{}
	}
	until, err := time.Parse(time.RFC3339, *shown)
	s.must(err)
	return until
}

// A slot is reserved for ten minutes without a byte, longer while bytes arrive, and for an hour at
// most.
func TestReservationsAreProlongedWhileBytesArrive(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		file, began := photo(1), s.clock()
		declared, err := s.declare(bob, s.publish("k", 1, ""), "one", file)
		s.must(err)
		wantEnd := func(when string, want time.Time) {
			t.Helper()
			if got := s.reservedUntil(declared.SubmissionID); !got.Equal(want) {
				t.Errorf("%s: reserved until %s, want %s", when, got.Format(time.RFC3339), want.Format(time.RFC3339))
			}
		}
		sent := 0
		send := func(count int) {
			t.Helper()
			upload := s.open(declared)
			defer upload.Close()
			_, err := upload.Append(ctx, bytes.NewReader(file[sent:sent+count]))
			s.must(err)
			sent += count
		}
		wantEnd("at first", began.Add(ReservationTime))
		if declared.SlotReservedUntil != declared.Upload.ExpiresAt || declared.SlotReservedUntil != sortie.FormatTime(began.Add(ReservationTime)) {
			t.Errorf("declared until %s with links until %s, want %s", declared.SlotReservedUntil, declared.Upload.ExpiresAt, began.Add(ReservationTime))
		}
		s.pass(time.Minute)
		send(10)
		wantEnd("within the first step", began.Add(ReservationTime))
		for minutes := 8; minutes <= 56; minutes += 8 {
			s.pass(began.Add(time.Duration(minutes) * time.Minute).Sub(s.clock()))
			send(10)
			wantEnd(fmt.Sprintf("after %d minutes", minutes), began.Add(min(time.Duration(minutes)*time.Minute+ReservationTime, MaxReservationTime)))
			before := s.stored(declared.SubmissionID).Version
			for range 5 {
				send(1)
			}
			if after := s.stored(declared.SubmissionID).Version; after != before {
				t.Errorf("after %d minutes five more bytes were %d writes, want 0", minutes, after-before)
			}
		}
		s.due()
		s.wantStatus(declared.SubmissionID, sortie.SubmissionPending)
		s.pass(began.Add(MaxReservationTime).Sub(s.clock()))
		_, err = s.tryOpen(declared)
		wantCode(t, err, sortie.CodeMediaURLExpired)
		s.pass(takeInTime)
		s.due()
		if got := s.wantStatus(declared.SubmissionID, sortie.SubmissionRejected).SlotReservedUntil; got != nil {
			t.Errorf("an expired submission shows slotReservedUntil %s, want null", *got)
		}
	})
}

// New wallets may hold a part of a mission, and one address a part of that. The mission stays in
// the feed, and a wallet with a final acceptance gets a slot.
func TestFreshWalletsDoNotTakeAMissionAway(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, boundReservations)
		ctx := context.Background()
		s.withHistory("history", bob)
		draft := s.publish("k", 50, "")
		reserve := func(network func(int) netip.Prefix, first int) (got int, refusal *sortie.Error) {
			for i := range 50 {
				_, err := s.declareFrom(network(i), contributor(first+i), draft, "one", photo(1))
				if err == nil {
					got++
				} else if !errors.As(err, &refusal) {
					t.Fatalf("declare: got %v, want a refusal with a code", err)
				}
			}
			return got, refusal
		}
		got, refusal := reserve(func(int) netip.Prefix { return testNetwork }, 1000)
		if got != 16 || refusal == nil || refusal.Code != sortie.CodeRateLimited || refusal.Details["retryAfterSeconds"] == nil {
			t.Errorf("50 fresh wallets of one address got %d slots and %v; want 16 and %s with a time", got, refusal, sortie.CodeRateLimited)
		}
		got, refusal = reserve(address, 2000)
		if got != 25-16 || refusal == nil || refusal.Code != sortie.CodeMissionFull {
			t.Fatalf("50 fresh wallets of 50 addresses got %d more slots and %v; want %d and %s", got, refusal, 25-16, sortie.CodeMissionFull)
		}
		free := s.clock().Add(ReservationTime + takeInTime)
		for detail, want := range map[string]any{
			"nextSlotAt": sortie.FormatTime(free), "retryAfterSeconds": int((ReservationTime + takeInTime).Seconds()), "slotsLeft": 25, "slotsReserved": 25,
		} {
			if got := refusal.Details[detail]; got != want {
				t.Errorf("details.%s is %v, want %v", detail, got, want)
			}
		}
		feed, err := s.app.Feed(ctx, FeedQuery{})
		s.must(err)
		if len(feed.Missions) != 1 || feed.Missions[0].SlotsLeft != 25 || feed.Missions[0].SlotsReserved != 25 || !feed.Missions[0].Open {
			t.Errorf("the feed has %+v, want the mission with 25 slots left and 25 reserved", feed.Missions)
		}
		known, err := s.declareFrom(testNetwork, bob, draft, "known", photo(2))
		s.must(err)
		s.upload(known, photo(2))
		s.pass(ReservationTime + takeInTime)
		s.due()
		if slots := s.slots(draft); slots.Reserved != 1 {
			t.Errorf("%d slots are reserved after the reservations ended, want 1: the uploaded file's", slots.Reserved)
		}
		if _, err := s.declareFrom(address(77), contributor(3000), draft, "one", photo(3)); err != nil {
			t.Errorf("an honest newcomer afterwards: got %v, want a slot", err)
		}
		if _, err := s.declareFrom(testNetwork, contributor(3001), draft, "one", photo(3)); err != nil {
			t.Errorf("after twelve minutes the address may reserve again: got %v, want a slot", err)
		}
	})
}

// Newcomers can contribute to small missions, at least one at a time.
func TestNewcomersDoSmallMissions(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), boundReservations)
	for target := 1; target <= 3; target++ {
		draft := s.publish(fmt.Sprint(target), target, "")
		for i := range target {
			id := s.submitQuickly(contributor(10*target+i), draft, "one")
			s.wantStatus(id, sortie.SubmissionAccepted)
		}
	}
}

// A mission whose slots are all reserved stays in the feed, with the time when a slot may be free.
func TestReservedMissionsStayInTheFeed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		draft := s.publish("k", 1, `,"location":{"lat":48.8584,"lng":2.2945}`)
		declared, err := s.declare(bob, draft, "one", photo(1))
		s.must(err)
		check := func(when string, want int, wantNext *string) {
			t.Helper()
			for name, query := range map[string]FeedQuery{"newest first": {}, "photos": {MediaType: sortie.MediaPhoto}, "nearest first": {Near: &MicroDegrees{Lat: 48_858_400, Lng: 2_294_500}}} {
				feed, err := s.app.Feed(ctx, query)
				s.must(err)
				if len(feed.Missions) != want {
					t.Errorf("%s, %s: %d missions, want %d", when, name, len(feed.Missions), want)
					continue
				}
				for _, mission := range feed.Missions {
					next, wanted := "null", "null"
					if mission.NextSlotAt != nil {
						next = *mission.NextSlotAt
					}
					if wantNext != nil {
						wanted = *wantNext
					}
					if mission.Open || mission.SlotsLeft != 0 || mission.SlotsReserved != 1 || next != wanted {
						t.Errorf("%s, %s: open %t, %d left, %d reserved, next %s; want false, 0, 1, %s", when, name, mission.Open, mission.SlotsLeft, mission.SlotsReserved, next, wanted)
					}
				}
			}
		}
		next := sortie.FormatTime(s.clock().Add(ReservationTime + takeInTime))
		check("reserved", 1, &next)
		file := photo(1)
		s.upload(declared, file)
		check("uploaded", 1, nil)
		s.must(s.app.CheckSubmission(ctx, declared.SubmissionID))
		s.wantStatus(declared.SubmissionID, sortie.SubmissionAccepted)
		check("full of accepted work", 0, nil)
	})
}

// The declared sizes of missing files are bounded in sum: for one wallet, and for all.
func TestReservedBytesAreBounded(t *testing.T) {
	t.Parallel()
	file := photo(1)
	size := int64(len(file))
	s := openTestMedia(t, sqliteDatabase(t), func(config *Config) {
		config.Reservations = ReservationLimits{WalletBytes: 2*size + 1, TotalBytes: 3*size + 1}
	})
	draft := s.publish("k", 10, `,"maxSubmissionsPerContributor":5`)
	var held []sortie.SubmissionDeclared
	for _, key := range []string{"one", "two"} {
		declared, err := s.declare(bob, draft, key, file)
		s.must(err)
		held = append(held, declared)
	}
	_, err := s.declare(bob, draft, "three", file)
	wantCode(t, err, sortie.CodeContributorLimit)
	_, err = s.declare(contributor(1), draft, "one", file)
	s.must(err)
	_, err = s.declare(contributor(2), draft, "one", file)
	wantCode(t, err, sortie.CodeServiceUnavailable)
	s.upload(held[0], file)
	_, err = s.declare(contributor(2), draft, "one", file)
	s.must(err)
}

// An IPv6 customer with many /64 networks is bounded by the /48.
func TestReservationsOfAnIPv6Site(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), func(config *Config) { config.Reservations = ReservationLimits{PerAddress: 2} })
	draft := s.publish("k", 100, "")
	got := 0
	for i := range 20 {
		address := netip.MustParseAddr(fmt.Sprintf("2001:db8:7:%x::1", i))
		network, err := address.Prefix(64)
		s.must(err)
		if _, err := s.declareFrom(network, contributor(i), draft, "one", photo(1)); err == nil {
			got++
		} else {
			wantCode(t, err, sortie.CodeRateLimited)
		}
	}
	if got != 2*siteShare {
		t.Errorf("20 networks of one site got %d reservations, want %d", got, 2*siteShare)
	}
}

// A slow prolongation of a reservation does not stop the body, which would count as stalled.
func TestASlowDatabaseDoesNotHoldUpABody(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	file := photo(1)
	declared, err := s.declare(bob, s.publish("k", 1, ""), "one", file)
	s.must(err)
	s.pass(5 * time.Minute)
	upload := s.open(declared)
	defer upload.Close()

	held, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.db.Tx(context.Background(), func(*store.Tx) error { close(held); <-release; return nil })
	}()
	<-held
	readOn := make(chan struct{})
	body := io.MultiReader(bytes.NewReader(file[:10]), readerFunc(func([]byte) (int, error) { close(readOn); return 0, io.EOF }))
	appended := make(chan error, 1)
	go func() { _, err := upload.Append(context.Background(), body); appended <- err }()
	select {
	case <-readOn:
	case err := <-appended:
		t.Errorf("the upload ended with %v before its body was read to the end", err)
	case <-time.After(time.Minute):
		t.Error("the body is not read on while the database is busy, want it read")
	}
	close(release)
	s.must(<-ended)
	s.must(<-appended)
	if got, want := s.reservedUntil(declared.SubmissionID), s.clock().Add(ReservationTime); !got.Equal(want) {
		t.Errorf("reserved until %s, want %s", got, want)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
